//! The checksum of what is kept on a disk.

/// FNV-1a (Fowler, Noll, Vo), which finds what was cut or hit; nobody forges snapshots here.
pub(crate) fn checksum<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let bytes = parts.into_iter().flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
