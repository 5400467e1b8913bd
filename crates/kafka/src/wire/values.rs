//! The types of single values and lists.

use std::fmt;

use bytes::Bytes;

use super::{
    CodecError, Decode, Encode, WireField, WireReader, WireStruct, WireType, WireVersion, WireWriter,
};

/// Sixteen bytes that name something, such as a topic; all zero: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The id of nothing.
    pub const ZERO: Self = Self([0; 16]);
}

/// Bytes that mean something to others.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Blob(pub Bytes);

/// Shows how much there is, and no byte of it: it may be a password.
impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.0.len())
    }
}

/// Batches of records, one behind the other.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct RecordBytes(pub Bytes);

/// Shows how much there is, and no byte of it.
impl fmt::Debug for RecordBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordBytes({} bytes)", self.0.len())
    }
}

/// Numbers of a fixed size, first byte first.
macro_rules! numbers {
    ($($type:ty, $name:literal;)+) => {$(
        impl WireType for $type {
            fn schema_name() -> String {
                $name.to_owned()
            }

            fn least(_: WireVersion) -> usize {
                size_of::<Self>()
            }

            fn initial() -> Self {
                0
            }
        }

        impl Decode for $type {
            fn decode(reader: &mut WireReader<'_>, _: WireVersion) -> Result<Self, CodecError> {
                reader.chunk().map(Self::from_be_bytes)
            }
        }

        impl Encode for $type {
            fn encode(&self, writer: &mut WireWriter, _: WireVersion) -> Result<(), CodecError> {
                writer.raw(&self.to_be_bytes());
                Ok(())
            }
        }
    )+};
}

numbers! {
    i8, "int8";
    i16, "int16";
    i32, "int32";
    i64, "int64";
    u16, "uint16";
}

impl WireType for bool {
    fn schema_name() -> String {
        "bool".to_owned()
    }

    fn least(_: WireVersion) -> usize {
        1
    }

    fn initial() -> Self {
        false
    }
}

impl Decode for bool {
    /// As in Kafka's own clients, anything but 0 is true.
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError> {
        i8::decode(reader, version).map(|byte| byte != 0)
    }
}

impl Encode for bool {
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError> {
        i8::from(*self).encode(writer, version)
    }
}

impl WireType for Uuid {
    fn schema_name() -> String {
        "uuid".to_owned()
    }

    fn least(_: WireVersion) -> usize {
        16
    }

    fn initial() -> Self {
        Self::ZERO
    }
}

impl Decode for Uuid {
    fn decode(reader: &mut WireReader<'_>, _: WireVersion) -> Result<Self, CodecError> {
        reader.chunk().map(Self)
    }
}

impl Encode for Uuid {
    fn encode(&self, writer: &mut WireWriter, _: WireVersion) -> Result<(), CodecError> {
        writer.raw(&self.0);
        Ok(())
    }
}

impl WireType for String {
    fn schema_name() -> String {
        "string".to_owned()
    }

    fn least(version: WireVersion) -> usize {
        if version.flexible { 1 } else { size_of::<i16>() }
    }

    fn initial() -> Self {
        Self::new()
    }
}

impl WireType for Blob {
    fn schema_name() -> String {
        "bytes".to_owned()
    }

    fn least(version: WireVersion) -> usize {
        if version.flexible { 1 } else { size_of::<i32>() }
    }

    fn initial() -> Self {
        Self::default()
    }
}

impl WireType for RecordBytes {
    fn schema_name() -> String {
        "records".to_owned()
    }

    fn least(version: WireVersion) -> usize {
        Blob::least(version)
    }

    fn initial() -> Self {
        Self::default()
    }
}

impl<T: WireType> WireType for Vec<T> {
    fn schema_name() -> String {
        format!("[]{}", T::schema_name())
    }

    fn least(version: WireVersion) -> usize {
        if version.flexible { 1 } else { size_of::<i32>() }
    }

    fn initial() -> Self {
        Self::new()
    }

    fn fields() -> &'static [WireField] {
        T::fields()
    }
}

/// A value that may be null.
impl<T: WireType> WireType for Option<T> {
    fn schema_name() -> String {
        T::schema_name()
    }

    fn least(version: WireVersion) -> usize {
        T::least_or_null(version)
    }

    fn initial() -> Self {
        Some(T::initial())
    }

    fn is_null(&self) -> bool {
        self.is_none()
    }

    fn fields() -> &'static [WireField] {
        T::fields()
    }
}

impl Decode for Option<String> {
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError> {
        reader.text(version)
    }
}

impl Decode for String {
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError> {
        reader.text(version)?.ok_or(CodecError::Null)
    }
}

impl Encode for Option<String> {
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError> {
        writer.text(self.as_deref(), version)
    }
}

impl Encode for String {
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError> {
        writer.text(Some(self), version)
    }
}

impl Decode for Option<Blob> {
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError> {
        reader.blob(version)
    }
}

impl Decode for Blob {
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError> {
        reader.blob(version)?.ok_or(CodecError::Null)
    }
}

impl Encode for Option<Blob> {
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError> {
        writer.blob(self.as_ref().map(|blob| &*blob.0), version)
    }
}

impl Encode for Blob {
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError> {
        writer.blob(Some(&self.0), version)
    }
}

impl Decode for Option<RecordBytes> {
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError> {
        Ok(reader.blob(version)?.map(|blob| RecordBytes(blob.0)))
    }
}

impl Encode for Option<RecordBytes> {
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError> {
        writer.blob(self.as_ref().map(|records| &*records.0), version)
    }
}

/// As in Kafka's own clients, any negative byte is a null, and any other one stands before a value.
impl<T: Decode + WireStruct> Decode for Option<T> {
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError> {
        if i8::decode(reader, version)? < 0 { Ok(None) } else { T::decode(reader, version).map(Some) }
    }
}

impl<T: Encode + WireStruct> Encode for Option<T> {
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError> {
        match self {
            None => (-1_i8).encode(writer, version),
            Some(value) => {
                1_i8.encode(writer, version)?;
                value.encode(writer, version)
            }
        }
    }
}

impl<T: Decode> Decode for Option<Vec<T>> {
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError> {
        reader.list(version)
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(reader: &mut WireReader<'_>, version: WireVersion) -> Result<Self, CodecError> {
        reader.list(version)?.ok_or(CodecError::Null)
    }
}

impl<T: Encode> Encode for Option<Vec<T>> {
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError> {
        writer.list(self.as_deref(), version)
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, writer: &mut WireWriter, version: WireVersion) -> Result<(), CodecError> {
        writer.list(Some(self), version)
    }
}
