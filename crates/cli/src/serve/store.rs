//! The store that an instance runs on.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use kafka_assigner_store::etcd::{EtcdTls, Password};
use kafka_assigner_store::{EtcdOptions, EtcdStore, FileStore, Store};

use super::{compaction, secret_files};
use crate::command_error::CommandError;
use crate::config::ServeConfig;

/// A store that is open.
#[derive(Debug)]
pub(crate) enum OpenedStore {
    /// For one node, in a file.
    File(FileStore),
    /// Shared by instances.
    Etcd(EtcdStore),
}

impl OpenedStore {
    /// Opens what the configuration names.
    ///
    /// # Errors
    /// [`CommandError::Store`], and [`CommandError::Unreadable`] for the file of etcd's password.
    pub(crate) async fn open(config: &ServeConfig) -> Result<Self, CommandError> {
        if let Some(options) = etcd(config) {
            options.validate()?;
            secret_files::check_password("etcd_password_file", config.etcd_password_file.as_deref())?;
            tracing::info!(etcd = ?options.endpoints, "records are kept in etcd");
            return Ok(Self::Etcd(EtcdStore::new(&options)?));
        }
        let path = &config.data;
        tracing::info!(data = %path.display(), "records are kept in this file, for one node only");
        Ok(Self::File(FileStore::open(path).await?))
    }

    /// A handle of it.
    pub(crate) fn handle(&self) -> Arc<dyn Store> {
        match self {
            Self::File(store) => Arc::new(store.clone()),
            Self::Etcd(store) => Arc::new(store.clone()),
        }
    }

    /// Compacts etcd's history until it is dropped, where that was asked for. The file bounds its own history.
    pub(super) async fn compact(&self, config: &ServeConfig) -> Infallible {
        match self {
            Self::Etcd(store) if config.etcd_compaction => {
                compaction::run(store, &config.prefix.to_string()).await
            }
            Self::Etcd(_) | Self::File(_) => pending().await,
        }
    }

    /// Waits until everything is written.
    pub(crate) async fn close(self) {
        match self {
            Self::File(store) => store.close().await,
            Self::Etcd(_) => {}
        }
    }
}

/// The options for etcd, where it is used.
fn etcd(config: &ServeConfig) -> Option<EtcdOptions> {
    if config.etcd.is_empty() {
        return None;
    }
    let mut options = EtcdOptions::new(config.etcd.iter().map(ToString::to_string));
    options.user = config.etcd_user.as_ref().map(ToString::to_string);
    options.password = config.etcd_password.as_ref().map(|secret| Password(secret.reveal().to_owned()));
    options.password_file = config.etcd_password_file.clone();
    options.tls = config.etcd_ca.clone().map(|ca| EtcdTls {
        ca,
        certificate: config.etcd_cert.clone(),
        key: config.etcd_key.clone(),
        server_name: None,
    });
    Some(options)
}
