//! From a table to a struct that is read and written.

/// Declares one struct of a message as a table.
///
/// `request` structs are written, and read by tests alone; `response` structs the other way round. Each field is
/// `name: Type = default, since VERSION until VERSION, nullable VERSION, tag NUMBER, ignorable true;`, where only the type and `since`
/// must be there. `ignorable true` lets a version leave out what it can't say, as Kafka's own clients do. A struct whose
/// name in Kafka's schemas is another one, or not unique, says `is "Name"`. Types with a null are an `Option`. Everything else follows: reader, writer, least size, and
/// [`WireField`](super::WireField)s for the comparison with Kafka's schemas.
macro_rules! wire_struct {
    (
        $(#[$meta:meta])*
        $direction:ident struct $name:ident $(is $schema:literal)? {
            $(
                $(#[$doc:meta])*
                $field:ident: $type:ty $(= $default:expr)?, since $since:literal $(until $until:literal)?
                $(, nullable $nullable:literal)? $(, tag $tag:literal)? $(, ignorable $ignorable:literal)?;
            )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $( $(#[$doc])* pub $field: $type, )+
        }

        impl $name {
            /// The table, field by field.
            pub const FIELDS: &'static [$crate::wire::WireField] = &[
                $( $crate::wire::WireField {
                    name: stringify!($field),
                    schema_name: <$type as $crate::wire::WireType>::schema_name,
                    since: $since,
                    until: $crate::wire::wire_struct!(@optional $($until)?),
                    nullable: $crate::wire::wire_struct!(@optional $($nullable)?),
                    tag: $crate::wire::wire_struct!(@optional $($tag)?),
                    ignorable: $crate::wire::wire_struct!(@flag $($ignorable)?),
                    default: $crate::wire::wire_struct!(@text $($default)?),
                    fields: <$type as $crate::wire::WireType>::fields,
                }, )+
            ];
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $crate::wire::wire_struct!(@default $type $(, $default)?), )+ }
            }
        }

        impl $crate::wire::WireType for $name {
            fn schema_name() -> String {
                $crate::wire::wire_struct!(@name $name $($schema)?).to_owned()
            }

            fn least(version: $crate::wire::WireVersion) -> usize {
                let mut fields = Self::FIELDS.iter();
                let mut next = || fields.next().expect("each field stands in the table");
                usize::from(version.flexible) $( + $crate::wire::least_of::<$type>(next(), version) )+
            }

            /// A null is one byte.
            fn least_or_null(_: $crate::wire::WireVersion) -> usize {
                1
            }

            fn initial() -> Self {
                Self::default()
            }

            fn fields() -> &'static [$crate::wire::WireField] {
                Self::FIELDS
            }
        }

        impl $crate::wire::WireStruct for $name {}

        $crate::wire::wire_struct! { @read $direction $name { $( $field, )+ } }
        $crate::wire::wire_struct! { @write $direction $name { $( $field, )+ } }

        #[cfg(any(test, feature = "testing"))]
        impl $crate::wire::Sample for $name {
            fn sample(source: &mut $crate::wire::SampleSource, version: $crate::wire::WireVersion) -> Self {
                let (mut value, mut fields) = (Self::default(), Self::FIELDS.iter());
                let mut next = || fields.next().expect("each field stands in the table");
                $( $crate::wire::sample_field(next(), &mut value.$field, source, version); )+
                value
            }
        }
    };

    (@optional) => { None };
    (@optional $value:literal) => { Some($value) };
    (@flag) => { false };
    (@flag $value:literal) => { $value };
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $schema:literal) => { $schema };
    (@text) => { None };
    (@text $default:expr) => { Some(stringify!($default)) };
    (@default $type:ty) => { <$type as $crate::wire::WireType>::initial() };
    (@default $type:ty, $default:expr) => { $default };

    (@read response $($rest:tt)+) => { $crate::wire::wire_struct! { @reader $($rest)+ } };
    (@read request $($rest:tt)+) => {
        #[cfg(any(test, feature = "testing"))]
        $crate::wire::wire_struct! { @reader $($rest)+ }
    };
    (@write request $($rest:tt)+) => { $crate::wire::wire_struct! { @writer $($rest)+ } };
    (@write response $($rest:tt)+) => {
        #[cfg(any(test, feature = "testing"))]
        $crate::wire::wire_struct! { @writer $($rest)+ }
    };

    (@reader $name:ident { $( $field:ident, )+ }) => {
        impl $crate::wire::Decode for $name {
            fn decode(
                reader: &mut $crate::wire::WireReader<'_>,
                version: $crate::wire::WireVersion,
            ) -> Result<Self, $crate::wire::CodecError> {
                let (mut value, mut fields) = (Self::default(), Self::FIELDS.iter());
                let mut next = || fields.next().expect("each field stands in the table");
                $( $crate::wire::read_field(next(), &mut value.$field, reader, version)?; )+
                if version.flexible {
                    reader.tags(|tag, part| {
                        let mut fields = Self::FIELDS.iter();
                        let mut next = || fields.next().expect("each field stands in the table");
                        $(
                            let field = next();
                            if field.tag == Some(tag) && field.is_in(version) {
                                value.$field = $crate::wire::Decode::decode(part, version)?;
                                return Ok(true);
                            }
                        )+
                        Ok(false)
                    })?;
                }
                Ok(value)
            }
        }
    };

    (@writer $name:ident { $( $field:ident, )+ }) => {
        impl $crate::wire::Encode for $name {
            fn encode(
                &self,
                writer: &mut $crate::wire::WireWriter,
                version: $crate::wire::WireVersion,
            ) -> Result<(), $crate::wire::CodecError> {
                let (initial, mut tags) = (Self::default(), $crate::wire::TagWriter::default());
                let mut fields = Self::FIELDS.iter();
                let mut next = || fields.next().expect("each field stands in the table");
                $(
                    let field = next();
                    $crate::wire::write_field(field, &self.$field, &initial.$field, writer, version)?;
                    tags.add(field, &self.$field, &initial.$field, version)?;
                )+
                if version.flexible { tags.finish(writer) } else { Ok(()) }
            }
        }
    };
}

pub(crate) use wire_struct;
