//! Files that flags name: read, and PEM files looked at before a library refuses them without a name.

use std::fs;
use std::path::Path;

use crate::command_error::CommandError;

/// Reads a file with at least one certificate. `flag` names the file in the failure.
///
/// # Errors
/// [`CommandError::Unreadable`].
pub(crate) fn certificates(flag: &'static str, path: &Path) -> Result<Vec<u8>, CommandError> {
    holding("CERTIFICATE-----", "it holds no certificate in PEM form", flag, path)
}

/// As [`certificates`], for a file with a private key.
///
/// # Errors
/// [`CommandError::Unreadable`].
pub(crate) fn private_key(flag: &'static str, path: &Path) -> Result<Vec<u8>, CommandError> {
    holding("PRIVATE KEY-----", "it holds no private key in PEM form", flag, path)
}

/// Reads a file of text.
///
/// # Errors
/// [`CommandError::Unreadable`].
pub(crate) fn text_file(flag: &'static str, path: &Path) -> Result<String, CommandError> {
    fs::read_to_string(path).map_err(|source| CommandError::Unreadable {
        flag,
        path: path.to_owned(),
        source,
    })
}

fn holding(label: &str, lacks: &str, flag: &'static str, path: &Path) -> Result<Vec<u8>, CommandError> {
    let unreadable = |source| CommandError::Unreadable { flag, path: path.to_owned(), source };
    let bytes = fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8_lossy(&bytes);
    if text.lines().any(|line| line.starts_with("-----BEGIN ") && line.trim_end().ends_with(label)) {
        return Ok(bytes);
    }
    Err(unreadable(std::io::Error::other(lacks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_what_it_is_for_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "-----BEGIN EC PRIVATE KEY-----\n").unwrap();
        assert!(private_key("--key", file.path()).is_ok());
        let report = certificates("--ca", file.path()).unwrap_err().report();
        assert!(report.starts_with("error: can't read --ca /"), "{report}");
        assert!(report.ends_with(": it holds no certificate in PEM form"), "{report}");
    }
}
