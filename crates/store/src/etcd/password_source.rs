//! The source of the password.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::options::{EtcdOptions, Password};
use crate::error::Error;

/// The longest file of a password, in bytes: etcd hashes 72 bytes at most, so that more is another file by mistake.
const LONGEST_PASSWORD: u64 = 16 * 1024;

/// The source of a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PasswordSource {
    /// The options.
    Given(Password),
    /// A file that has nothing else, read at each log-in.
    File(PathBuf),
}

impl PasswordSource {
    /// The source that valid options name; `None` where there is no password.
    pub(super) fn of(options: &EtcdOptions) -> Option<Self> {
        let given = options.password.clone().map(Self::Given);
        given.or_else(|| options.password_file.clone().map(Self::File))
    }

    /// The password as it is now.
    ///
    /// # Errors
    /// [`Error::Denied`] with the file that can't be read: as with a wrong password, no call can be made.
    ///
    /// Cancel safe: it changes nothing.
    pub(super) async fn read(&self) -> Result<Password, Error> {
        let path = match self {
            Self::Given(password) => return Ok(password.clone()),
            Self::File(path) => path.clone(),
        };
        let read = {
            let path = path.clone();
            tokio::task::spawn_blocking(move || read_file(&path)).await.map_err(io::Error::other)
        };
        read.flatten().map_err(|source| {
            Error::Denied(format!("the password file {} can't be read: {source}", path.display()))
        })
    }
}

fn read_file(path: &Path) -> io::Result<Password> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(LONGEST_PASSWORD + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_PASSWORD {
        return Err(io::Error::other(format!("it has more than {LONGEST_PASSWORD} bytes")));
    }
    let password = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Password(password.strip_suffix('\r').unwrap_or(password).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(path: &Path) -> Result<String, String> {
        let read = PasswordSource::File(path.to_owned()).read().await;
        read.map(|password| password.0).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_password_file_is_read_anew_each_time_without_its_last_line_break() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        for (written, password) in
            [("one", "one"), ("two\n", "two"), ("three\r\n", "three"), ("four \n\n", "four \n")]
        {
            std::fs::write(&path, written).unwrap();
            assert_eq!(read(&path).await.unwrap(), password);
        }
    }

    #[tokio::test]
    async fn a_password_file_that_can_not_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let error = read(&path).await.unwrap_err();
        assert!(error.contains(&format!("the password file {} can't be read", path.display())), "{error}");
        std::fs::write(&path, "x".repeat(16 * 1024 + 1)).unwrap();
        let error = read(&path).await.unwrap_err();
        assert!(error.contains("it has more than 16384 bytes"), "{error}");
        assert!(!error.contains("xx"), "{error}");
    }
}
