//! Writing the tagged fields of a struct.

use super::{CodecError, Encode, WireField, WireVersion, WireWriter};

/// The tagged fields of one struct: those that differ from their default.
#[derive(Debug, Default)]
pub(crate) struct TagWriter {
    /// By tag.
    fields: Vec<(u32, WireWriter)>,
}

impl TagWriter {
    /// Takes a field in, where it has a tag and something to say.
    pub(crate) fn add<T: Encode + PartialEq>(
        &mut self,
        field: &WireField,
        value: &T,
        initial: &T,
        version: WireVersion,
    ) -> Result<(), CodecError> {
        let Some(tag) = field.tag.filter(|_| field.is_in(version) && value != initial) else { return Ok(()) };
        let mut writer = WireWriter::default();
        value.encode(&mut writer, version)?;
        self.fields.push((tag, writer));
        Ok(())
    }

    /// Writes what was taken in.
    pub(crate) fn finish(mut self, writer: &mut WireWriter) -> Result<(), CodecError> {
        self.fields.sort_by_key(|(tag, _)| *tag);
        let length = |length: usize| u32::try_from(length).map_err(|_| CodecError::TooLong);
        writer.unsigned_varint(length(self.fields.len())?);
        for (tag, field) in self.fields {
            writer.unsigned_varint(tag);
            writer.unsigned_varint(length(field.bytes().len())?);
            writer.raw(field.bytes());
        }
        Ok(())
    }
}
