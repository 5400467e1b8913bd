//! Failures of TLS in words that say which file is wrong.

use std::path::{Path, PathBuf};

/// The files that were named for the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Files<'f> {
    /// `--ca`.
    pub(super) ca: &'f Option<PathBuf>,
    /// `--cert`.
    pub(super) cert: &'f Option<PathBuf>,
    /// `--key`.
    pub(super) key: &'f Option<PathBuf>,
}

/// The failure, with the file that it is about; what is not known is told as the library says it.
pub(super) fn tls_words(library: &str, files: &Files<'_>) -> String {
    let name = |file: &Option<PathBuf>| file.as_deref().unwrap_or(Path::new("")).display().to_string();
    if library.contains("UnknownIssuer") {
        return match files.ca {
            Some(ca) => format!("no certificate in --ca {} signs the instance's certificate", ca.display()),
            None => {
                "none of the system's authorities signs the instance's certificate; --ca names others".into()
            }
        };
    }
    if library.contains("KeyMismatch") {
        return format!("--key {} is not the key of --cert {}", name(files.key), name(files.cert));
    }
    if library.contains("CertificateRequired") {
        return "the instance wants a certificate: name one with --cert and --key".into();
    }
    library.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(library: &str, ca: Option<&str>) -> String {
        let files = [ca, Some("a.pem"), Some("b.key")].map(|file| file.map(PathBuf::from));
        tls_words(library, &Files { ca: &files[0], cert: &files[1], key: &files[2] })
    }

    #[test]
    fn the_file_that_is_wrong_is_named() {
        let unknown = "invalid peer certificate: UnknownIssuer";
        assert!(told(unknown, None).contains("--ca names others"));
        assert_eq!(
            told(unknown, Some("x.pem")),
            "no certificate in --ca x.pem signs the instance's certificate"
        );
        assert_eq!(
            told("keys may not be consistent: KeyMismatch", None),
            "--key b.key is not the key of --cert a.pem"
        );
        assert_eq!(told("certificate expired", None), "certificate expired");
    }
}
