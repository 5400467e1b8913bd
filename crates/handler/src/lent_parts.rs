//! The parts of a record as a source lends them.

use bytes::{Bytes, BytesMut};

use crate::headers::{RecordHeader, pack, packed_length};

/// Key, value and headers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LentParts<'a, H> {
    /// `None` = null.
    pub(crate) key: Option<&'a [u8]>,
    /// `None` = null.
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: H,
}

impl<'a, H: Iterator<Item = RecordHeader<'a>> + Clone> LentParts<'a, H> {
    /// The bytes of key and value.
    pub(crate) fn before_headers(&self) -> usize {
        [self.key, self.value].map(|part| part.map_or(0, <[u8]>::len)).iter().sum()
    }

    /// The bytes of all of them.
    fn length(&self) -> usize {
        self.before_headers() + packed_length(self.headers.clone())
    }

    /// A copy of all of them, one after the other.
    pub(crate) fn copied(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(self.length());
        bytes.extend_from_slice(self.key.unwrap_or_default());
        bytes.extend_from_slice(self.value.unwrap_or_default());
        pack(&mut bytes, self.headers.clone());
        bytes.freeze()
    }
}
