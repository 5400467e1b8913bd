//! Reads what consumers wrote down.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;

/// The entries of a journal, in their order. A killed process may have left half a line at the end, whose entry
/// counts as not written; where there is no file, nothing was written.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let entries = whole.lines().map(serde_json::from_str);
    entries.collect::<Result<_, _>>().with_context(|| format!("{} makes no sense", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_at_the_end_is_no_entry_and_one_in_between_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        assert!(read::<Vec<u8>>(&path).unwrap().is_empty());
        fs::write(&path, "[1]\n[2]\n[3").unwrap();
        assert_eq!(read::<Vec<u8>>(&path).unwrap(), [[1], [2]]);
        fs::write(&path, "[1]\n[2\n[3]\n").unwrap();
        assert!(read::<Vec<u8>>(&path).is_err());
    }
}
