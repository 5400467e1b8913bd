//! An instance on etcd, as `kafka-assigner serve` runs one.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use kafka_assigner_proto::v1::admin_client::AdminClient;
use kafka_assigner_proto::v1::{GroupConfig, SetGroupConfigRequest, SetTopicRequest, Topic};
use kafka_assigner_server::serve::{Error, Http, Listeners, ServeOptions, serve};
use kafka_assigner_server::{Instance, Options};
use kafka_assigner_store::{EtcdOptions, EtcdStore};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::consumer::GROUP;

/// The time for which a leader that died counts as one; the default.
pub(crate) const LEADER_TTL: Duration = Duration::from_secs(5);

/// An instance that is served on a loopback socket of this process.
#[derive(Debug)]
pub(crate) struct Served {
    /// The instance itself, to look at its views.
    pub(crate) instance: Instance,
    /// The URL at which it is reached.
    pub(crate) address: String,
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), Error>>,
}

impl Served {
    /// Starts one on keys of its own.
    pub(crate) async fn start(etcd: &str, prefix: &str) -> Result<Self> {
        Self::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), etcd, prefix, None).await
    }

    async fn listen(at: SocketAddr, etcd: &str, prefix: &str, http: Option<SocketAddr>) -> Result<Self> {
        let grpc = TcpListener::bind(at).await?;
        let address = format!("http://{}", grpc.local_addr()?);
        // Unique as its address is, and so are its random numbers.
        let seed = grpc.local_addr()?.port().into();
        let options = Options {
            prefix: prefix.to_owned(),
            leader_ttl: LEADER_TTL,
            ..Options::new(&address, &address, seed)
        };
        let store = Arc::new(open(etcd)?);
        let mut registry = Registry::default();
        let instance = Instance::start(store, options, None, &mut registry).await?;
        let shutdown = CancellationToken::new();
        let http = match http {
            Some(at) => Some(Http { listener: TcpListener::bind(at).await?, registry }),
            None => None,
        };
        let listeners = Listeners { grpc, http };
        let task =
            tokio::spawn(serve(instance.clone(), listeners, ServeOptions::default(), shutdown.clone()));
        Ok(Self { instance, address, shutdown, task })
    }

    /// Stops it, and waits for that.
    pub(crate) async fn stop(self) -> Result<()> {
        self.shutdown.cancel();
        self.task.await?.context("the instance ended badly")
    }
}

/// Serves at `listen`, and probes at `http`, until the process is killed.
pub(crate) async fn serve_forever(
    listen: SocketAddr,
    etcd: &str,
    prefix: &str,
    http: Option<SocketAddr>,
) -> Result<()> {
    let served = Served::listen(listen, etcd, prefix, http).await?;
    served.task.await?.context("the instance ended")
}

/// A store on the etcd at `url`.
pub(crate) fn open(url: &str) -> Result<EtcdStore> {
    EtcdStore::new(&EtcdOptions::new([url])).with_context(|| format!("etcd at {url} can't be used"))
}

/// Creates the group, with what differs from the defaults.
pub(crate) async fn create_group(address: &str, config: Option<GroupConfig>) -> Result<()> {
    let request = SetGroupConfigRequest { group: GROUP.to_owned(), config, owners_stopped: false };
    AdminClient::connect(address.to_owned()).await?.set_group_config(request).await?;
    Ok(())
}

/// Gives the group its topic.
pub(crate) async fn create_topic(address: &str, partitions: u32) -> Result<()> {
    let topic = Topic { topic: "topic".to_owned(), partitions, ..Topic::default() };
    let request = SetTopicRequest { group: GROUP.to_owned(), topic: Some(topic) };
    AdminClient::connect(address.to_owned()).await?.set_topic(request).await?;
    Ok(())
}
