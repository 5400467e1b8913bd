//! An instance on etcd, as `kafka-assigner serve` runs one.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result};
use kafka_assigner_proto::v1::admin_client::AdminClient;
use kafka_assigner_proto::v1::{SetGroupConfigRequest, SetTopicRequest, Topic};
use kafka_assigner_server::serve::{Error, Listeners, ServeOptions, serve};
use kafka_assigner_server::{Instance, Options};
use kafka_assigner_store::{EtcdOptions, EtcdStore};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::consumer::GROUP;

/// The prefix of the instance in a process of its own.
pub(crate) const CHILDS_PREFIX: &str = "/bench/child/";

/// An instance that is served on a loopback socket of this process.
#[derive(Debug)]
pub(crate) struct Served {
    /// The instance itself, to look at its views.
    pub(crate) instance: Instance,
    /// Where it is reached, as a URL.
    pub(crate) address: String,
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), Error>>,
}

impl Served {
    /// Starts one on keys of its own.
    pub(crate) async fn start(etcd: &str, prefix: &str) -> Result<Self> {
        Self::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), etcd, prefix).await
    }

    async fn listen(at: SocketAddr, etcd: &str, prefix: &str) -> Result<Self> {
        let grpc = TcpListener::bind(at).await?;
        let address = format!("http://{}", grpc.local_addr()?);
        let options = Options { prefix: prefix.to_owned(), ..Options::new("bench", &address, 1) };
        let store = Arc::new(open(etcd)?);
        let instance = Instance::start(store, options, None, &mut Registry::default()).await?;
        let shutdown = CancellationToken::new();
        let listeners = Listeners { grpc, http: None };
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

/// Serves at `listen` until the process is killed.
pub(crate) async fn serve_forever(listen: SocketAddr, etcd: &str) -> Result<()> {
    let served = Served::listen(listen, etcd, CHILDS_PREFIX).await?;
    served.task.await?.context("the instance ended")
}

/// A store on the etcd at `url`.
pub(crate) fn open(url: &str) -> Result<EtcdStore> {
    EtcdStore::new(&EtcdOptions::new([url])).with_context(|| format!("etcd at {url} can't be used"))
}

/// Creates the group, or leaves it as it is.
pub(crate) async fn create_group(address: &str) -> Result<()> {
    let request = SetGroupConfigRequest { group: GROUP.to_owned(), config: None };
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
