//! The cluster's members, one of which is in use.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::options::{EtcdOptions, EtcdTls};
use crate::error::Error;

/// A stream's share of a connection: a watch that catches up is not slowed by the default of 64 KiB.
const STREAM_WINDOW: u32 = 1 << 20;

/// A connection carries all streams and calls at once; one of them must not use it up.
const CONNECTION_WINDOW: u32 = 4 << 20;

/// One channel per member. A balanced channel would keep sending to dead members.
#[derive(Debug)]
pub(super) struct EtcdEndpoints {
    channels: Vec<Channel>,
    pinned: AtomicUsize,
}

/// The member in use, as of now.
#[derive(Debug, Clone)]
pub(super) struct Pinned {
    index: usize,
    pub(super) channel: Channel,
}

impl EtcdEndpoints {
    /// Channels that connect when they are first used.
    pub(super) fn new(options: &EtcdOptions) -> Result<Self, Error> {
        let tls = options.tls.as_ref().map(tls_config).transpose()?;
        let channel = |url: &String| channel(url, options, tls.clone());
        let channels = options.endpoints.iter().map(channel).collect::<Result<_, _>>()?;
        Ok(Self { channels, pinned: AtomicUsize::new(0) })
    }

    pub(super) const fn len(&self) -> usize {
        self.channels.len()
    }

    pub(super) fn pinned(&self) -> Pinned {
        let index = self.pinned.load(Ordering::Relaxed);
        Pinned { index, channel: self.channels[index].clone() }
    }

    /// Moves on from a member that failed; whoever notices second has no effect.
    pub(super) fn move_on_from(&self, failed: &Pinned) {
        let next = (failed.index + 1) % self.channels.len();
        let moved = self.pinned.compare_exchange(failed.index, next, Ordering::Relaxed, Ordering::Relaxed);
        if moved.is_ok() && next != failed.index {
            tracing::debug!(from = failed.index, to = next, "moved to another etcd endpoint");
        }
    }
}

fn channel(url: &str, options: &EtcdOptions, tls: Option<ClientTlsConfig>) -> Result<Channel, Error> {
    let invalid = |error: tonic::transport::Error| Error::Invalid(format!("endpoint {url}: {error}"));
    let mut endpoint = Endpoint::from_shared(url.to_owned())
        .map_err(invalid)?
        .connect_timeout(options.connect_timeout)
        .http2_keep_alive_interval(options.ping_interval)
        .keep_alive_timeout(options.ping_timeout)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls).map_err(invalid)?;
    }
    Ok(endpoint.connect_lazy())
}

fn tls_config(tls: &EtcdTls) -> Result<ClientTlsConfig, Error> {
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(&tls.ca)?));
    if let (Some(certificate), Some(key)) = (&tls.certificate, &tls.key) {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    if let Some(name) = &tls.server_name {
        config = config.domain_name(name);
    }
    Ok(config)
}

fn read(file: &Path) -> Result<Vec<u8>, Error> {
    fs::read(file).map_err(|error| Error::Invalid(format!("tls: {} can't be read: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn members_take_turns_and_a_late_complaint_changes_nothing() {
        let endpoints = EtcdEndpoints::new(&EtcdOptions::new(["http://a", "http://b", "http://c"])).unwrap();
        let first = endpoints.pinned();
        endpoints.move_on_from(&first);
        endpoints.move_on_from(&first);
        assert_eq!(endpoints.pinned().index, 1);
        endpoints.move_on_from(&endpoints.pinned());
        endpoints.move_on_from(&endpoints.pinned());
        assert_eq!(endpoints.pinned().index, 0);
    }
}
