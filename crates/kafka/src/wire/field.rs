//! One field of a message's table.

use super::{CodecError, Decode, Encode, WireReader, WireType, WireVersion, WireWriter};

/// A field as its table has it.
#[derive(Debug, Clone, Copy)]
pub struct WireField {
    /// Its name in Rust; in Kafka's schemas the same in camel case.
    pub name: &'static str,
    /// The name of its type in Kafka's schemas.
    pub schema_name: fn() -> String,
    /// The first version that has it.
    pub since: i16,
    /// The last version that has it; `None`: every later one.
    pub until: Option<i16>,
    /// The first version in which it may be null; `None`: never.
    pub nullable: Option<i16>,
    /// Its tag, where it is a tagged field.
    pub tag: Option<u32>,
    /// True if a version that does not have it may leave it out, whatever it says.
    pub ignorable: bool,
    /// Its default, as it stands in the table; `None`: that of its type.
    pub default: Option<&'static str>,
    /// The fields of its type, where that is a struct or a list of structs.
    pub fields: fn() -> &'static [Self],
}

impl WireField {
    /// True if `version` has the field.
    #[must_use]
    pub fn is_in(&self, version: WireVersion) -> bool {
        self.since <= version.number && self.until.is_none_or(|until| version.number <= until)
    }

    /// True if it may be null in `version`.
    #[must_use]
    pub fn may_be_null(&self, version: WireVersion) -> bool {
        self.nullable.is_some_and(|first| first <= version.number)
    }

    /// True if it stands among the other fields of the struct in `version`, and not behind them with a tag.
    fn is_in_place(&self, version: WireVersion) -> bool {
        self.tag.is_none() && self.is_in(version)
    }

    /// Refuses a null where none may be.
    fn check<T: WireType>(&self, value: &T, version: WireVersion) -> Result<(), CodecError> {
        if value.is_null() && !self.may_be_null(version) { Err(CodecError::Null) } else { Ok(()) }
    }
}

/// The least bytes that a field takes in its place.
pub(crate) fn least_of<T: WireType>(field: &WireField, version: WireVersion) -> usize {
    if field.is_in_place(version) { T::least(version) } else { 0 }
}

/// Reads a field that stands in its place; others stay as they are.
pub(crate) fn read_field<T: Decode>(
    field: &WireField,
    value: &mut T,
    reader: &mut WireReader<'_>,
    version: WireVersion,
) -> Result<(), CodecError> {
    if field.is_in_place(version) {
        *value = T::decode(reader, version)?;
        field.check(value, version)?;
    }
    Ok(())
}

/// Writes a field that stands in its place. A field that the version does not have must have its default, or what it
/// says would be lost without a word; of a field that is ignorable nothing is lost that matters.
pub(crate) fn write_field<T: Encode + PartialEq>(
    field: &WireField,
    value: &T,
    initial: &T,
    writer: &mut WireWriter,
    version: WireVersion,
) -> Result<(), CodecError> {
    if field.is_in_place(version) {
        field.check(value, version)?;
        value.encode(writer, version)
    } else if field.is_in(version) || field.ignorable || value == initial {
        Ok(())
    } else {
        Err(CodecError::NotInVersion { field: field.name, version: version.number })
    }
}
