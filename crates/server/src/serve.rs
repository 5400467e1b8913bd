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

mod error;
mod grpc;
mod http;
mod listeners;
mod readiness;
mod run;
mod starting;

pub use error::Error;
pub use listeners::{Http, Listeners, ServeOptions, Tls};
pub use run::serve;
pub use starting::answer_probes;
