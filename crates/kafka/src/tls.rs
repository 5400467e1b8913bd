//! TLS: whom to trust, and what to show.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::options::BrokerTls;

/// A file for TLS, or the system's certificates, can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsFileError {
    /// It can't be read.
    #[error("{path} can't be read", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It has no certificate in the form PEM.
    #[error("{path} has no PEM certificate that can be read", path = path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// It has no private key in the form PEM.
    #[error("{path} has no PEM private key that can be read", path = path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The certificate and the key are no pair.
    #[error("{path} and its key can't be used together", path = path.display())]
    Pair {
        /// The certificate's file.
        path: PathBuf,
        /// The cause.
        source: rustls::Error,
    },
    /// The system has no certificates of authorities.
    #[error("the system has no CA certificates that can be read; name a file with kafka_ca")]
    NoSystemRoots,
}

/// The files of one moment.
#[derive(Clone, PartialEq, Eq)]
struct TlsFiles {
    ca: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// The TLS of a client. Files are read before each connection, and what they say is used once it changes.
pub(crate) struct TlsSource {
    tls: BrokerTls,
    system: Option<RootCertStore>,
    current: Mutex<(TlsFiles, Arc<ClientConfig>)>,
}

impl std::fmt::Debug for TlsSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TlsSource").field(&self.tls).finish()
    }
}

impl TlsSource {
    /// Reads the files, or the system's certificates, which are read this once. Blocks for some milliseconds.
    ///
    /// # Errors
    /// [`TlsFileError`] where one can't be used.
    pub(crate) fn new(tls: BrokerTls) -> Result<Self, TlsFileError> {
        let system = if tls.ca.is_none() { Some(system_roots()?) } else { None };
        let files = TlsFiles::read(&tls)?;
        let config = Arc::new(files.config(&tls, system.as_ref())?);
        Ok(Self { tls, system, current: Mutex::new((files, config)) })
    }

    /// The configuration of the next connection. Blocks for the time of reading the files.
    ///
    /// Files that can't be used are told in the log, and the last good ones stay in use: while files are exchanged
    /// one after the other, a certificate has not its key yet.
    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        let mut current = self.current.lock().expect("nothing panics while it is held");
        match self.changed(&current.0) {
            Ok(None) => {}
            Ok(Some(changed)) => {
                tracing::info!("the files of the TLS to Kafka have changed and are used from now on");
                *current = changed;
            }
            Err(error) => {
                tracing::warn!(%error, "files of the TLS to Kafka can't be used; the former ones are");
            }
        }
        Arc::clone(&current.1)
    }

    fn changed(&self, known: &TlsFiles) -> Result<Option<(TlsFiles, Arc<ClientConfig>)>, TlsFileError> {
        let files = TlsFiles::read(&self.tls)?;
        if files == *known {
            return Ok(None);
        }
        let config = Arc::new(files.config(&self.tls, self.system.as_ref())?);
        Ok(Some((files, config)))
    }
}

impl TlsFiles {
    fn read(tls: &BrokerTls) -> Result<Self, TlsFileError> {
        let ca = tls.ca.as_deref().map(read).transpose()?;
        let identity = match &tls.identity {
            Some(identity) => Some((read(&identity.certificate)?, read(&identity.key)?)),
            None => None,
        };
        Ok(Self { ca, identity })
    }

    fn config(&self, tls: &BrokerTls, system: Option<&RootCertStore>) -> Result<ClientConfig, TlsFileError> {
        let roots = match (&self.ca, &tls.ca) {
            (Some(pem), Some(path)) => roots(pem, path)?,
            _ => system.cloned().ok_or(TlsFileError::NoSystemRoots)?,
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has the ciphers of TLS 1.2 and 1.3")
            .with_root_certificates(roots);
        let (Some((certificate, key)), Some(identity)) = (&self.identity, &tls.identity) else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates(certificate, &identity.certificate)?;
        let no_key = |_| TlsFileError::NoKey { path: identity.key.clone() };
        let key = PrivateKeyDer::from_pem_slice(key).map_err(no_key)?;
        let pair = |source| TlsFileError::Pair { path: identity.certificate.clone(), source };
        builder.with_client_auth_cert(chain, key).map_err(pair)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsFileError> {
    fs::read(path).map_err(|source| TlsFileError::Unreadable { path: path.to_owned(), source })
}

fn certificates(pem: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let none = || TlsFileError::NoCertificate { path: path.to_owned() };
    let all = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().map_err(|_| none())?;
    if all.is_empty() { Err(none()) } else { Ok(all) }
}

fn roots(pem: &[u8], path: &Path) -> Result<RootCertStore, TlsFileError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem, path)? {
        let unusable = |_| TlsFileError::NoCertificate { path: path.to_owned() };
        roots.add(certificate).map_err(unusable)?;
    }
    Ok(roots)
}

/// The certificates of the system; a few that can't be read do not matter.
fn system_roots() -> Result<RootCertStore, TlsFileError> {
    let mut roots = RootCertStore::empty();
    let (_added, _unusable) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TlsFileError::NoSystemRoots) } else { Ok(roots) }
}

#[cfg(test)]
#[path = "tls_test.rs"]
mod tls_test;
