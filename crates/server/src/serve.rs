//! Serves an instance: gRPC on one listener, HTTP on another.
//!
//! Bind the listeners first (port 0 works: ask them for their addresses), start the instance with a metrics
//! registry, and hand everything over:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use kafka_assigner_server::serve::{Http, Listeners, ServeOptions, serve};
//! use kafka_assigner_server::{Instance, Options};
//! use kafka_assigner_store::MemoryStore;
//! use prometheus_client::registry::Registry;
//! use tokio::net::TcpListener;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let grpc = TcpListener::bind("127.0.0.1:7420").await?;
//! let http = TcpListener::bind("127.0.0.1:7421").await?;
//! let mut registry = Registry::with_prefix("kafka_assigner");
//! let store = Arc::new(MemoryStore::new());
//! let options = Options::new("i-1", "http://127.0.0.1:7420", 7);
//! let instance = Instance::start(store, options, None, &mut registry).await?;
//!
//! let listeners = Listeners { grpc, http: Some(Http { listener: http, registry }) };
//! let shutdown = CancellationToken::new(); // cancel it on SIGTERM
//! serve(instance, listeners, ServeOptions::default(), shutdown).await?;
//! # Ok(())
//! # }
//! ```

mod grpc;
mod http;
mod readiness;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::convert::FAREWELL;
use crate::instance::Instance;
use grpc::Grpc;

/// How long open connections have once every stream has ended: the answers to their last calls are under way.
const CUT_AFTER: Duration = Duration::from_secs(1);

/// The sockets on which an instance listens.
#[derive(Debug)]
pub struct Listeners {
    /// For consumers and operators.
    pub grpc: TcpListener,
    /// For probes and metrics; `None`: there are neither.
    pub http: Option<Http>,
}

/// The listener for probes and metrics. It has no TLS.
#[derive(Debug)]
pub struct Http {
    /// The address on which it listens.
    pub listener: TcpListener,
    /// The metrics that `/metrics` shows: the registry that the instance was started with.
    pub registry: Registry,
}

/// The settings by which an instance is served.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// The certificates of gRPC; `None`: in the clear.
    pub tls: Option<Tls>,
    /// True if it may listen beyond this machine without TLS.
    pub insecure: bool,
}

/// The certificates of an instance, each as PEM.
#[derive(Clone)]
pub struct Tls {
    /// Its certificate chain.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
    /// The CA that must have signed the certificates of clients; `None`: clients need none.
    pub client_ca: Option<Vec<u8>>,
}

impl fmt::Debug for Tls {
    /// Shows no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("mutual", &self.client_ca.is_some()).finish_non_exhaustive()
    }
}

/// The reason why an instance is not served, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// gRPC would be open to other machines, in the clear.
    #[error(
        "refused to listen on {address} without TLS: give --tls-cert and --tls-key, or --insecure where the \
         network is trusted"
    )]
    InTheClear {
        /// Where it would listen.
        address: SocketAddr,
    },
    /// HTTP would be open to other machines; it has no TLS.
    #[error(
        "refused to serve HTTP on {address}, since it has no TLS: choose a loopback address, or give --insecure \
         where the network is trusted"
    )]
    HttpInTheClear {
        /// Where it would listen.
        address: SocketAddr,
    },
    /// A listener can't be used.
    #[error("the listener can't be used")]
    Listener(#[source] io::Error),
    /// The certificates can't be used.
    #[error("the certificates for TLS can't be used")]
    Tls(#[source] tonic::transport::Error),
    /// gRPC broke down.
    #[error("gRPC can't be served")]
    Grpc(#[source] tonic::transport::Error),
    /// HTTP broke down.
    #[error("HTTP can't be served")]
    Http(#[source] io::Error),
}

/// Serves `instance` until `shutdown`; then streams are told to go elsewhere, leaderships are released, connections
/// are closed, and it returns after at most some twelve seconds.
///
/// Not cancel safe: dropping it closes the listeners and leaves the instance running.
///
/// # Errors
/// [`Error`], by variant. The instance is stopped then.
pub async fn serve(
    instance: Instance,
    listeners: Listeners,
    options: ServeOptions,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let served = run(&instance, listeners, &options, &shutdown).await;
    // Nothing is left to do after a clean end; after a failure nobody can reach it any more.
    instance.stop(Duration::ZERO).await;
    served
}

async fn run(
    instance: &Instance,
    listeners: Listeners,
    options: &ServeOptions,
    shutdown: &CancellationToken,
) -> Result<(), Error> {
    refuse_exposure(&listeners, options)?;
    let closed = CancellationToken::new();
    let _closed_in_any_case = closed.clone().drop_guard();
    let grpc = Grpc::new(instance, options.tls.as_ref())?;
    let health = grpc.health();
    let farewell = async {
        shutdown.cancelled().await;
        tracing::info!("stopping");
        health.leave().await;
        instance.stop(FAREWELL).await;
        closed.cancel();
        tokio::time::sleep(CUT_AFTER).await;
    };
    let servers = async {
        let http = serve_http(instance, listeners.http, &closed);
        tokio::try_join!(grpc.run(listeners.grpc, closed.clone()), http).map(drop)
    };
    tokio::select! {
        biased;
        // All connections are closed, or a server broke down.
        ended = servers => ended,
        // Connections that are still there are cut.
        () = farewell => Ok(()),
    }
}

async fn serve_http(
    instance: &Instance,
    http: Option<Http>,
    closed: &CancellationToken,
) -> Result<(), Error> {
    match http {
        Some(http) => http::run(instance.clone(), http, closed.clone()).await.map_err(Error::Http),
        None => Ok(()),
    }
}

fn refuse_exposure(listeners: &Listeners, options: &ServeOptions) -> Result<(), Error> {
    let address = |listener: &TcpListener| listener.local_addr().map_err(Error::Listener);
    let grpc = address(&listeners.grpc)?;
    let http = listeners.http.as_ref().map(|http| address(&http.listener)).transpose()?;
    refuse_addresses(grpc, http, options)
}

/// Refuses addresses on which everybody on the network could listen in.
fn refuse_addresses(grpc: SocketAddr, http: Option<SocketAddr>, options: &ServeOptions) -> Result<(), Error> {
    let is_exposed = |address: &SocketAddr| !options.insecure && !address.ip().is_loopback();
    if options.tls.is_none() && is_exposed(&grpc) {
        return Err(Error::InTheClear { address: grpc });
    }
    match http.filter(is_exposed) {
        Some(address) => Err(Error::HttpInTheClear { address }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: &str = "127.0.0.1:1";
    const EVERYWHERE: &str = "0.0.0.0:1";

    fn refused(grpc: &str, http: &str, options: &ServeOptions) -> Option<String> {
        let http = Some(http.parse().unwrap());
        refuse_addresses(grpc.parse().unwrap(), http, options).err().map(|error| error.to_string())
    }

    fn with_tls() -> ServeOptions {
        let tls = Tls { certificate: Vec::new(), key: Vec::new(), client_ca: None };
        ServeOptions { tls: Some(tls), insecure: false }
    }

    #[test]
    fn nothing_listens_beyond_this_machine_in_the_clear_unless_told_to() {
        let plain = ServeOptions::default();
        assert_eq!(refused(LOOPBACK, "[::1]:2", &plain), None);
        let grpc = refused(EVERYWHERE, LOOPBACK, &plain).unwrap();
        assert!(["0.0.0.0:1", "--tls-cert", "--insecure"].iter().all(|part| grpc.contains(part)), "{grpc}");
        assert!(refused(LOOPBACK, EVERYWHERE, &plain).unwrap().contains("--insecure"));
        assert_eq!(refused(EVERYWHERE, EVERYWHERE, &ServeOptions { insecure: true, ..plain }), None);
    }

    #[test]
    fn tls_opens_grpc_and_not_http_which_has_none() {
        assert_eq!(refused(EVERYWHERE, LOOPBACK, &with_tls()), None);
        assert!(refused(LOOPBACK, EVERYWHERE, &with_tls()).is_some());
    }

    #[test]
    fn a_key_is_never_shown() {
        let tls = Tls { certificate: b"c".to_vec(), key: b"secret".to_vec(), client_ca: None };
        assert_eq!(format!("{tls:?}"), "Tls { mutual: false, .. }");
    }
}
