//! The servers of an instance, from their start to a clean stop.

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use futures::future::Either;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::grpc::Grpc;
use super::http;
use super::listeners::{Http, Listeners, ServeOptions};
use crate::access::Access;
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
    let (access, file_changes) = access(instance, options.access_file.as_deref()).await?;
    let grpc = Grpc::new(instance, options.tls.as_ref(), &access)?;
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
        // Never ends.
        never = file_changes => match never {},
        // It would go on without a part of it, and nobody would know.
        panicked = instance.fault() => Err(panicked.into()),
    }
}

/// The access of callers, and the future that reads its file again whenever that changes.
async fn access(
    instance: &Instance,
    file: Option<&Path>,
) -> Result<(Access, impl Future<Output = Infallible> + use<>), Error> {
    let Some(path) = file else { return Ok((Access::open(instance), Either::Left(pending()))) };
    let (access, changes) = Access::by_file(path.to_owned(), instance).await?;
    Ok((access, Either::Right(changes)))
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
    let is_open_to_all =
        options.access_file.is_none() && options.tls.as_ref().is_some_and(|tls| tls.client_ca.is_none());
    if is_open_to_all && is_exposed(&grpc) {
        return Err(Error::OpenToAll { address: grpc });
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
        ServeOptions { tls: Some(tls), ..ServeOptions::default() }
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
    fn tls_alone_keeps_nobody_out() {
        let refusal = refused(EVERYWHERE, LOOPBACK, &with_tls()).unwrap();
        assert!(["--tls-client-ca", "--access-file"].iter().all(|flag| refusal.contains(flag)), "{refusal}");
        assert_eq!(refused(LOOPBACK, LOOPBACK, &with_tls()), None);
        assert_eq!(refused(EVERYWHERE, LOOPBACK, &ServeOptions { insecure: true, ..with_tls() }), None);
    }

    #[test]
    fn tls_with_callers_that_are_known_opens_grpc_and_not_http_which_has_none() {
        let tokens = ServeOptions { access_file: Some("access.toml".into()), ..with_tls() };
        let tls = Tls { certificate: Vec::new(), key: Vec::new(), client_ca: Some(Vec::new()) };
        let certificates = ServeOptions { tls: Some(tls), ..ServeOptions::default() };
        for known in [tokens, certificates] {
            assert_eq!(refused(EVERYWHERE, LOOPBACK, &known), None);
            assert!(refused(LOOPBACK, EVERYWHERE, &known).is_some());
        }
    }
}
