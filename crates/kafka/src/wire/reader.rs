//! Taking a message apart.

use bytes::Bytes;

use super::{Blob, CodecError, Decode, WireType, WireVersion};

/// The rest of a message that is being read.
#[derive(Debug)]
pub struct WireReader<'a> {
    /// The whole buffer, of which read bytes are slices.
    whole: &'a Bytes,
    rest: &'a [u8],
}

impl<'a> WireReader<'a> {
    /// A reader of all of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a Bytes) -> Self {
        Self { whole: bytes, rest: bytes }
    }

    /// The number of bytes that are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.rest.len()
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`CodecError::Rest`] where bytes are left.
    pub const fn finish(self) -> Result<(), CodecError> {
        if self.rest.is_empty() { Ok(()) } else { Err(CodecError::Rest(self.rest.len())) }
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(CodecError::TooShort)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn chunk<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(CodecError::TooShort)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A reader of the next `length` bytes alone.
    pub(crate) fn part(&mut self, length: usize) -> Result<Self, CodecError> {
        Ok(Self { whole: self.whole, rest: self.take(length)? })
    }

    /// An unsigned number of one to five bytes. As in Kafka's own clients, a fifth byte that says that more follow is
    /// an error; so is one with more than the four bits that are left.
    pub(super) fn unsigned_varint(&mut self) -> Result<u32, CodecError> {
        let mut number = 0;
        for shift in [0, 7, 14, 21] {
            let [byte] = self.chunk()?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        let [last] = self.chunk()?;
        if last > 0x0f { Err(CodecError::Varint) } else { Ok(number | u32::from(last) << 28) }
    }

    /// A signed number of one to five bytes; those near zero are short.
    pub(crate) fn varint(&mut self) -> Result<i32, CodecError> {
        let number = self.unsigned_varint()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// A signed number of one to ten bytes; those near zero are short.
    pub(crate) fn varlong(&mut self) -> Result<i64, CodecError> {
        let mut number = 0_u64;
        for shift in (0..63).step_by(7) {
            let [byte] = self.chunk()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed());
            }
        }
        let [last] = self.chunk()?;
        if last > 1 {
            return Err(CodecError::Varint);
        }
        number |= u64::from(last) << 63;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// The key or the value of a record: a slice of the whole. `None` is a length of −1.
    pub(crate) fn record_bytes(&mut self) -> Result<Option<Bytes>, CodecError> {
        match self.varint()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| CodecError::TooShort)?;
                Ok(Some(self.whole.slice_ref(self.take(length)?)))
            }
        }
    }

    /// Passes over the rest.
    pub(crate) const fn skip_all(&mut self) {
        self.rest = &[];
    }

    /// A length; `None` is a null. `short` says that the length has 16 bits in versions that are not flexible.
    fn length(&mut self, version: WireVersion, short: bool) -> Result<Option<usize>, CodecError> {
        let length = if version.flexible {
            i64::from(self.unsigned_varint()?) - 1
        } else if short {
            i16::from_be_bytes(self.chunk()?).into()
        } else {
            i32::from_be_bytes(self.chunk()?).into()
        };
        match length {
            -1 => Ok(None),
            _ => usize::try_from(length).map(Some).map_err(|_| CodecError::TooShort),
        }
    }

    pub(super) fn text(&mut self, version: WireVersion) -> Result<Option<String>, CodecError> {
        let Some(length) = self.length(version, true)? else { return Ok(None) };
        let bytes = self.take(length)?;
        str::from_utf8(bytes).map(|text| Some(text.to_owned())).map_err(|_| CodecError::Text)
    }

    pub(super) fn blob(&mut self, version: WireVersion) -> Result<Option<Blob>, CodecError> {
        let Some(length) = self.length(version, false)? else { return Ok(None) };
        Ok(Some(Blob(self.whole.slice_ref(self.take(length)?))))
    }

    /// A list. One that can't be there takes no memory, and no more is taken than its items need.
    pub(super) fn list<T: Decode>(&mut self, version: WireVersion) -> Result<Option<Vec<T>>, CodecError> {
        let Some(length) = self.length(version, false)? else { return Ok(None) };
        if length > self.rest.len() / <T as WireType>::least(version).max(1) {
            return Err(CodecError::TooShort);
        }
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(T::decode(self, version)?);
        }
        Ok(Some(items))
    }

    /// The tagged fields at the end of a struct. `known` reads those that it knows and returns true; it must use up
    /// all of their bytes. Others are passed over.
    pub(crate) fn tags(
        &mut self,
        mut known: impl FnMut(u32, &mut Self) -> Result<bool, CodecError>,
    ) -> Result<(), CodecError> {
        let (count, mut last) = (self.unsigned_varint()?, None);
        for _ in 0..count {
            let (tag, length) = (self.unsigned_varint()?, self.unsigned_varint()?);
            if last.is_some_and(|last| tag <= last) {
                return Err(CodecError::Tags);
            }
            last = Some(tag);
            let mut part = self.part(usize::try_from(length).map_err(|_| CodecError::TooShort)?)?;
            if known(tag, &mut part)? {
                part.finish()?;
            }
        }
        Ok(())
    }
}
