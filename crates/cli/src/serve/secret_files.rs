//! Files that hold secrets: looked at once, when an instance starts.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::command_error::CommandError;
use crate::config::ServeConfig;

/// The permission of everybody on a machine to read a file.
const READ_BY_ALL: u32 = 0o004;

/// Refuses the file of a password that can't be opened or has nothing, so that a start does not fail with a login
/// long after. `setting` names it; nothing is looked at where it is not set.
///
/// # Errors
/// [`CommandError::Unreadable`].
pub(super) fn check_password(setting: &'static str, path: Option<&Path>) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    let refused = |source| CommandError::Unreadable { flag: setting, path: path.to_owned(), source };
    let file = File::open(path).and_then(|file| file.metadata()).map_err(refused)?;
    if !file.is_file() {
        return Err(refused(io::Error::other("it is no regular file, and is read again at each login")));
    }
    if file.len() == 0 { Err(refused(io::Error::other("it is empty"))) } else { Ok(()) }
}

/// Warns once of each file with a secret that everybody on the machine may read.
pub(super) fn warn_of_exposed(config: &ServeConfig) {
    for (setting, path) in secret_files(config) {
        if path.is_some_and(|path| fs::metadata(path).is_ok_and(|file| is_exposed(&file))) {
            let path = path.map(|path| path.display().to_string());
            tracing::warn!(setting, path, "everybody on this machine may read a file with a secret");
        }
    }
}

fn is_exposed(file: &Metadata) -> bool {
    file.permissions().mode() & READ_BY_ALL != 0
}

fn secret_files(config: &ServeConfig) -> [(&'static str, Option<&Path>); 5] {
    [
        ("tls_key", config.tls_key.as_deref()),
        ("etcd_password_file", config.etcd_password_file.as_deref()),
        ("etcd_key", config.etcd_key.as_deref()),
        ("kafka_password_file", config.kafka_password_file.as_deref()),
        ("kafka_key", config.kafka_key.as_deref()),
    ]
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::fs::Permissions;

    use super::*;

    fn refusal(path: &Path) -> String {
        let error = check_password("etcd_password_file", Some(path)).unwrap_err();
        format!("{error}: {}", error.source().unwrap())
    }

    #[test]
    fn a_password_file_that_can_not_be_used_is_refused_with_its_setting_and_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let named = format!("can't read etcd_password_file {}", path.display());
        assert!(refusal(&path).starts_with(&named), "{}", refusal(&path));
        fs::write(&path, "").unwrap();
        assert_eq!(refusal(&path), format!("{named}: it is empty"));
        fs::write(&path, "secret\n").unwrap();
        check_password("etcd_password_file", Some(&path)).unwrap();
        assert!(refusal(folder.path()).contains("it is no regular file"));
        check_password("etcd_password_file", None).unwrap();
    }

    #[test]
    fn a_file_that_everybody_may_read_is_exposed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        fs::write(&path, "secret").unwrap();
        for (mode, exposed) in [(0o600, false), (0o640, false), (0o644, true), (0o604, true)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_exposed(&fs::metadata(&path).unwrap()), exposed, "{mode:o}");
        }
    }
}
