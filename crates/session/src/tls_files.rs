//! TLS towards instances with certificates that are replaced while the process runs.

use std::fmt;
use std::path::{Path, PathBuf};

use tonic::Status;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// The files of TLS towards instances, in PEM. They are read at each call, as those of tokens are, so that what is replaced there
/// counts for the next call; calls and streams that are under way keep the connection that they have.
///
/// While the files can't be read or do not fit together, as in the middle of being replaced, the connections that there are go
/// on being used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientTlsFiles {
    ca: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
    domain: Option<String>,
}

impl ClientTlsFiles {
    /// Trusts the certificates in this file.
    pub fn trusting(ca: impl Into<PathBuf>) -> Self {
        Self { ca: Some(ca.into()), ..Self::default() }
    }

    /// Trusts the certificates that are enabled in this build, as
    /// [`ClientTlsConfig::with_enabled_roots`] does.
    #[must_use]
    pub fn trusting_enabled_roots() -> Self {
        Self::default()
    }

    /// Shows the certificate in the one file, whose key is in the other one.
    #[must_use]
    pub fn showing(self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { identity: Some((certificate.into(), key.into())), ..self }
    }

    /// Expects certificates of instances for this name. Without it they have to be for the address that is called.
    #[must_use]
    pub fn expecting(self, name: impl Into<String>) -> Self {
        Self { domain: Some(name.into()), ..self }
    }

    /// # Errors
    ///
    /// A file can't be read.
    pub(crate) fn read(&self) -> Result<TlsPem, Status> {
        let ca = self.ca.as_deref().map(read).transpose()?;
        let identity = match &self.identity {
            Some((certificate, key)) => Some((read(certificate)?, read(key)?)),
            None => None,
        };
        Ok(TlsPem { ca, identity, domain: self.domain.clone() })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Status> {
    std::fs::read(path)
        .map_err(|error| Status::unavailable(format!("the file {} can't be read: {error}", path.display())))
}

/// The content of such files.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TlsPem {
    ca: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
    domain: Option<String>,
}

impl TlsPem {
    pub(crate) fn config(&self) -> ClientTlsConfig {
        let mut config = match &self.ca {
            Some(ca) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca)),
            None => ClientTlsConfig::new().with_enabled_roots(),
        };
        if let Some((certificate, key)) = &self.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        match &self.domain {
            Some(name) => config.domain_name(name),
            None => config,
        }
    }
}

impl fmt::Debug for TlsPem {
    /// Shows no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsPem").field("domain", &self.domain).finish_non_exhaustive()
    }
}
