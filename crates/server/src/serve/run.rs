//! The servers of an instance, from their start to a clean stop.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::grpc::Grpc;
use super::http;
use super::listeners::{Http, Listeners, ServeOptions};
use crate::convert::FAREWELL;
use crate::instance::Instance;

/// The time that open connections have once every stream has ended: the answers to their last calls are under way.
const CUT_AFTER: Duration = Duration::from_secs(1);

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
        // It would go on without a part of it, and nobody would know.
        panicked = instance.fault() => Err(panicked.into()),
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
    use crate::serve::listeners::Tls;

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
}
