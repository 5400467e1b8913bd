//! Putting a message together.

use super::{CodecError, Encode, WireVersion};

/// The bytes of a message that is being written.
#[derive(Default)]
pub struct WireWriter(Vec<u8>);

/// Shows how much was written, and no byte of it: it may be a password.
impl std::fmt::Debug for WireWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WireWriter({} bytes)", self.0.len())
    }
}

impl WireWriter {
    /// The bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) const fn bytes(&self) -> &Vec<u8> {
        &self.0
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn unsigned_varint(&mut self, mut number: u32) {
        while number > 0x7f {
            let [low, ..] = number.to_le_bytes();
            self.0.push(low | 0x80);
            number >>= 7;
        }
        let [low, ..] = number.to_le_bytes();
        self.0.push(low);
    }

    /// A signed number of one to five bytes.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn varint(&mut self, number: i32) {
        self.unsigned_varint((number << 1 ^ number >> 31).cast_unsigned());
    }

    /// A length; `None` is a null. `short` as in the reader.
    fn length(&mut self, length: Option<usize>, version: WireVersion, short: bool) -> Result<(), CodecError> {
        let too_long = |_| CodecError::TooLong;
        if version.flexible {
            let length = length.map_or(Ok(0), |length| u32::try_from(length + 1)).map_err(too_long)?;
            self.unsigned_varint(length);
        } else if short {
            let length = length.map_or(Ok(-1), i16::try_from).map_err(too_long)?;
            self.raw(&length.to_be_bytes());
        } else {
            let length = length.map_or(Ok(-1), i32::try_from).map_err(too_long)?;
            self.raw(&length.to_be_bytes());
        }
        Ok(())
    }

    pub(super) fn text(&mut self, text: Option<&str>, version: WireVersion) -> Result<(), CodecError> {
        self.length(text.map(str::len), version, true)?;
        self.raw(text.unwrap_or_default().as_bytes());
        Ok(())
    }

    pub(super) fn blob(&mut self, bytes: Option<&[u8]>, version: WireVersion) -> Result<(), CodecError> {
        self.length(bytes.map(<[u8]>::len), version, false)?;
        self.raw(bytes.unwrap_or_default());
        Ok(())
    }

    pub(super) fn list<T: Encode>(
        &mut self,
        items: Option<&[T]>,
        version: WireVersion,
    ) -> Result<(), CodecError> {
        self.length(items.map(<[T]>::len), version, false)?;
        items.unwrap_or_default().iter().try_for_each(|item| item.encode(self, version))
    }
}
