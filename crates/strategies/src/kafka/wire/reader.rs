//! Taking a message apart.

use super::Malformed;

/// The rest of a message.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed::TooShort)?;
        self.0 = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::TooShort)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn int16(&mut self) -> Result<i16, Malformed> {
        self.chunk().map(i16::from_be_bytes)
    }

    pub(super) fn int32(&mut self) -> Result<i32, Malformed> {
        self.chunk().map(i32::from_be_bytes)
    }

    /// The version, which comes first.
    pub(super) fn version(&mut self) -> Result<u16, Malformed> {
        let version = self.int16()?;
        u16::try_from(version).map_err(|_| Malformed::Version(version))
    }

    pub(super) fn string(&mut self) -> Result<&'a str, Malformed> {
        self.nullable_string()?.ok_or(Malformed::TooShort)
    }

    /// `None` is a length of −1; other negative ones are impossible.
    pub(super) fn nullable_string(&mut self) -> Result<Option<&'a str>, Malformed> {
        let length = i32::from(self.int16()?);
        let bytes = self.nullable(length)?;
        bytes.map(|bytes| str::from_utf8(bytes).map_err(|_| Malformed::Name)).transpose()
    }

    pub(super) fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let length = self.int32()?;
        self.nullable(length)
    }

    fn nullable(&mut self, length: i32) -> Result<Option<&'a [u8]>, Malformed> {
        if length == -1 {
            return Ok(None);
        }
        self.take(usize::try_from(length).map_err(|_| Malformed::TooShort)?).map(Some)
    }

    /// A list of what `item` reads, of which each takes `least` bytes or more. A list that cannot be
    /// there takes no memory.
    pub(super) fn array<T>(
        &mut self,
        least: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let length = usize::try_from(self.int32()?).map_err(|_| Malformed::TooShort)?;
        if length > self.0.len() / least {
            return Err(Malformed::TooShort);
        }
        (0..length).map(|_| item(self)).collect()
    }
}
