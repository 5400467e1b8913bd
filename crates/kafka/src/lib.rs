//! A bounded Kafka client in pure Rust: the wire format, connections with TLS and SASL, and the metadata of topics.
//!
//! ```text
//!  cluster      topics by name, asked of one broker after the other
//!  pool         links to brokers, opened again after waits
//!  connection   one broker: deadlines, TLS, versions, login, one request at a time; a link carries several
//!  records      batches of records; pure
//!  messages     the tables of the messages
//!  wire         values, tables, frames; pure
//! ```
//!
//! The other side is not trusted: every length is compared with the bytes that are there, every frame with a bound of
//! its API, and every wait has a deadline. Kafka 2.4.1 is the oldest version that is spoken to. The crate depends on
//! no other of Kafka Assigner. Start reading at [`Cluster::topics`].

mod address;
mod cluster;
mod connection;
mod error;
mod fetch_session;
pub mod messages;
mod options;
mod pool;
pub mod records;
mod sasl;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tls;
pub mod wire;

pub use address::{BrokerAddress, InvalidAddress};
pub use cluster::{Cluster, NobodyAnswered, TopicAnswer, TopicAnswers};
pub use connection::{BrokerConnection, BrokerLink, Connector};
pub use error::Error;
pub use fetch_session::{FetchPlace, FetchSession, FetchTarget};
pub use options::{BrokerTls, Identity, Login, Mechanism, Options, PasswordOrigin, UnknownMechanism};
pub use pool::{BrokerLane, BrokerPool, Reconnect};
pub use sasl::{ScramError, TokenFuture, TokenProvider};
pub use tls::TlsFileError;
