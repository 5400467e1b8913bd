//! The requests that clients give to routers.

use bytes::Bytes;

/// One try of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    /// A request, which is to be executed once: a request that was not sent is tried again under its number.
    pub(crate) request: u64,
    /// The try; no two share one.
    pub(crate) number: u64,
}

impl Call {
    /// As it goes over the network.
    pub(crate) fn write(self) -> Bytes {
        Bytes::from([self.request.to_be_bytes(), self.number.to_be_bytes()].concat())
    }

    /// As it came over the network.
    pub(crate) fn read(bytes: &Bytes) -> Self {
        let number = |part: &[u8]| u64::from_be_bytes(part.try_into().expect("a half has eight bytes"));
        let (request, number_of_try) = bytes.split_at(size_of::<u64>());
        Self { request: number(request), number: number(number_of_try) }
    }
}
