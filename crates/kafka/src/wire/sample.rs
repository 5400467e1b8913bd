//! Messages by chance, for tests.

use super::{Blob, RecordBytes, Uuid, WireField, WireType, WireVersion};

/// A source of numbers that look random and follow from a seed.
#[derive(Debug, Clone)]
pub struct SampleSource(u64);

impl SampleSource {
    /// The source that follows from `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number (SplitMix64).
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// Some bytes; mostly few, at times more than a length of one byte can say.
    fn bytes(&mut self) -> Vec<u8> {
        let most = if self.below(8) == 0 { 300 } else { 12 };
        (0..self.below(most)).map(|_| self.number().to_le_bytes()[0]).collect()
    }
}

/// A type of which there are values by chance.
pub trait Sample: WireType {
    /// A value that `version` can say.
    fn sample(source: &mut SampleSource, version: WireVersion) -> Self;

    /// The same, or a null where the type has one.
    fn sample_or_null(source: &mut SampleSource, version: WireVersion) -> Self {
        Self::sample(source, version)
    }
}

/// Fills a field that `version` has.
pub(crate) fn sample_field<T: Sample>(
    field: &WireField,
    value: &mut T,
    source: &mut SampleSource,
    version: WireVersion,
) {
    if !field.is_in(version) {
        return;
    }
    *value = if field.may_be_null(version) {
        T::sample_or_null(source, version)
    } else {
        T::sample(source, version)
    };
}

macro_rules! samples {
    ($($type:ty: |$source:ident| $value:expr;)+) => {$(
        impl Sample for $type {
            fn sample($source: &mut SampleSource, _: WireVersion) -> Self {
                $value
            }
        }
    )+};
}

samples! {
    bool: |source| source.below(2) == 1;
    i8: |source| i8::from_le_bytes([source.number().to_le_bytes()[0]]);
    i16: |source| i16::try_from(source.below(1 << 16) as i64 - (1 << 15)).unwrap_or(-1);
    i32: |source| i32::try_from(source.below(1 << 32) as i64 - (1 << 31)).unwrap_or(-1);
    u16: |source| u16::try_from(source.below(1 << 16)).unwrap_or(1);
    i64: |source| source.number().cast_signed();
    Uuid: |source| Uuid((u128::from(source.number()) << 64 | u128::from(source.number())).to_be_bytes());
    String: |source| source.bytes().into_iter().map(char::from).collect();
    Blob: |source| Blob(source.bytes().into());
    RecordBytes: |source| RecordBytes(source.bytes().into());
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(source: &mut SampleSource, version: WireVersion) -> Self {
        (0..source.below(4)).map(|_| T::sample(source, version)).collect()
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(source: &mut SampleSource, version: WireVersion) -> Self {
        Some(T::sample(source, version))
    }

    fn sample_or_null(source: &mut SampleSource, version: WireVersion) -> Self {
        (source.below(3) > 0).then(|| T::sample(source, version))
    }
}
