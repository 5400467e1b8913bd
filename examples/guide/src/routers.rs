//! `docs/guide/routers.md`: a router in a process of one's own.

use std::error::Error;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_router::{
    Epoch, Forward, KeyHash, RouteTarget, Router, RouterOptions, SendError, TopicPartition, stop,
};

/// The error of a connection to an owner, after the request was sent.
type Broken = Box<dyn Error + Send + Sync>;

/// An owner's reply to one request.
#[derive(Debug)]
pub enum Reply {
    /// The request was executed.
    Done(Bytes),
    /// The owner refused it, so that it had no effect.
    NotExecuted(String),
}

/// A connection to one owner, over whatever protocol owners speak.
#[async_trait]
pub trait Connection: Send {
    /// Sends one request and waits for its reply.
    ///
    /// # Errors
    /// Whatever happens once the request is on its way: it may have been executed.
    async fn call(&mut self, at: &TopicPartition, epoch: Epoch, request: Bytes) -> Result<Reply, Broken>;
}

/// Opens connections, or hands out those that are open.
#[async_trait]
pub trait Connections: Send + Sync + 'static {
    /// A connection to the owner at `endpoint`.
    ///
    /// # Errors
    /// There is none; nothing was sent.
    async fn open(&self, endpoint: &str) -> Result<Box<dyn Connection>, Broken>;
}

/// Forwards requests over connections.
#[derive(Debug)]
pub struct Wire<C> {
    connections: C,
}

#[async_trait]
impl<C: Connections> Forward for Wire<C> {
    type Response = Bytes;

    async fn send(&self, to: &RouteTarget, at: &TopicPartition, request: Bytes) -> Result<Bytes, SendError> {
        let mut owner = match self.connections.open(&to.owner.endpoint).await {
            Ok(connection) => connection,
            Err(error) => return Err(SendError::Refused(error.to_string())), // never left
        };
        match owner.call(at, to.epoch, request).await {
            Ok(Reply::Done(response)) => Ok(response),
            Ok(Reply::NotExecuted(why)) => Err(SendError::Refused(why)),
            Err(error) => Err(SendError::Failed(error)), // may have been executed
        }
    }
}

/// Runs a router and sends one request through it.
///
/// # Errors
/// The options are wrong, signals can't be received, or the request failed.
pub async fn add_one(connections: impl Connections) -> Result<Bytes, Box<dyn Error>> {
    let wire = Wire { connections };
    let router = Router::forwarding(RouterOptions::new("router-1", ["http://127.0.0.1:7420"]), wire)?;
    let requests = router.cutover();
    tokio::spawn(router.run(stop::on_signal()?));

    let response = requests.request_by_key("orders", b"customer-7", KeyHash::Murmur2, "add 1".into()).await?;
    Ok(response)
}
