//! Kafka's wire format: values, tables of messages, frames.
//!
//! Reading takes memory in proportion to the bytes that are there, whatever they say: each length
//! is compared with what is left before anything is allocated, a list of `n` items needs `n` times the least size of
//! one, and lists grow as their items are read.
//!
//! A message is one table (`wire_struct!`): from it come the struct, its reader and writer, its least size, and a
//! description ([`WireField`]) that a test compares with the schemas that Kafka ships.

mod codec_error;
mod field;
mod frame;
mod reader;
#[cfg(any(test, feature = "testing"))]
mod sample;
mod table;
mod tags;
mod values;
mod version;
mod writer;

pub use codec_error::CodecError;
pub use field::WireField;
pub use frame::{ApiRequest, read_answer, request_frame};
#[cfg(any(test, feature = "testing"))]
pub use frame::{RequestHeader, answer_frame, read_request};
pub use reader::WireReader;
#[cfg(any(test, feature = "testing"))]
pub use sample::{Sample, SampleSource};
pub use values::{Blob, RecordBytes, Uuid};
pub use version::{VersionRange, WireVersion};
pub use writer::WireWriter;

pub(crate) use field::{least_of, read_field, write_field};
#[cfg(any(test, feature = "testing"))]
pub(crate) use sample::sample_field;
pub(crate) use table::wire_struct;
pub(crate) use tags::TagWriter;

/// A type of Kafka's schemas.
pub trait WireType: Sized {
    /// The name of the type in the schemas, such as `int32` or `[]string`.
    fn schema_name() -> String;

    /// The least number of bytes that a value takes.
    fn least(version: WireVersion) -> usize;

    /// The least number of bytes that a value takes where it may be null.
    fn least_or_null(version: WireVersion) -> usize {
        Self::least(version)
    }

    /// The value of a field whose table names no default.
    fn initial() -> Self;

    /// True if the value is a null.
    fn is_null(&self) -> bool {
        false
    }

    /// The fields, where the type is a struct or a list of structs.
    fn fields() -> &'static [WireField] {
        &[]
    }
}

/// A struct of a message. A null in its place is a byte, −1; before a value stands another one, 1.
pub trait WireStruct: WireType {}

/// A type that is read.
pub trait Decode: WireType {
    /// Reads one value.
    ///
    /// # Errors
    /// [`CodecError`] where the bytes are none.
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError>;
}

/// A type that is written.
pub trait Encode: WireType {
    /// Writes the value.
    ///
    /// # Errors
    /// [`CodecError`] where the version can't say it. What was written before stays written.
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError>;
}

#[cfg(test)]
#[path = "wire/wire_test.rs"]
mod wire_test;
