//! The versions of etcd that keep the promises of a store.

use crate::error::Error;

/// Refuses a version that may report a wrong progress of a watch.
///
/// Before 3.4.25 and 3.5.8 the answer to a progress request could overtake changes that it claims to cover
/// (etcd issue 15220), and etcd has no other way to tell how far a quiet watch is.
///
/// # Errors
/// [`Error::Unsupported`].
pub(super) fn check(version: &str) -> Result<(), Error> {
    if tells_progress(version) {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "etcd {version} is too old, because it can't tell reliably how far a watch is: 3.4.25, 3.5.8 or newer is needed"
    )))
}

fn tells_progress(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0);
    match (part(), part(), part()) {
        (3, 4, patch) => patch >= 25,
        (3, 5, patch) => patch >= 8,
        (major, minor, _) => (major, minor) > (3, 5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_tell_progress_truly_are_taken() {
        for version in ["3.4.25", "3.5.8", "3.5.21", "3.6.0", "3.7.0-rc.1", "3.7.3", "4.0.0"] {
            assert!(check(version).is_ok(), "{version}");
        }
    }

    #[test]
    fn older_ones_are_refused_with_the_rule() {
        for version in ["3.4.23", "3.5.7", "3.5.0", "3.3.27", "", "unknown"] {
            let refusal = check(version).unwrap_err().to_string();
            assert!(refusal.contains(version) && refusal.contains("3.4.25, 3.5.8 or newer"), "{refusal}");
        }
    }
}
