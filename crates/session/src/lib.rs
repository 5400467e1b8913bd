//! The parts that consumers and routers share: the session with the service, the calls around it, and the clock by which both act.
//!
//! It is for the crates of the client and the router, and for simulations that put a transport or a clock of their own under
//! them. Programs need it for nothing else, and its interface may change with any version.
//!
//! ```text
//!            events, time            ┌─────────┐   actions
//!  driver ──────────────────────────►│ Session ├────────────► driver
//!    │ ▲                             └─────────┘                 │
//!    │ └── CommandSource, bounded ◄── Transport ◄────────────────┘
//!    └──── Clock, Dice, RetryDelay
//! ```
//!
//! - [`Session`] decides: a pure machine over the [`Dialect`] of its member. It is where to start reading.
//! - [`CommandSource`], [`bounded`] and [`joined`] are the I/O around it, and [`Transport`] carries a consumer's calls, over
//!   gRPC by [`GrpcTransport`]. Routers have a transport trait of their own, which calls over the same channels.
//! - [`Clock`] counts the time in which the system was suspended; [`Dice`] is the only randomness.
//! - [`stop`] turns a signal into the intent to stop.

mod backoff;
pub mod causes;
mod clock;
mod grpc;
mod invalid_endpoint;
mod named_partition;
mod session;
mod session_io;
mod session_status;
pub mod stop;
mod suspensions;
mod tls_files;
mod transport;

pub use backoff::{Dice, RetryDelay};
pub use clock::{Clock, ClockReading};
pub use grpc::{CallerChannel, GrpcTransport};
pub use invalid_endpoint::InvalidEndpoint;
pub use named_partition::named;
pub use session::{
    ClaimTerm, Dialect, Ending, Event, GHOST_BOUND, Heard, Loss, MessageBody, OpenStream, SendHeartbeat,
    Session, SessionAction, SessionOptions, ToldItems, consumer_message, is_definite,
};
pub use session_io::{CommandSource, bounded, joined};
pub use session_status::SessionStatus;
#[cfg(any(test, feature = "testing"))]
pub use suspensions::ScriptedSuspensions;
pub use suspensions::Suspensions;
pub use tls_files::ClientTlsFiles;
pub use transport::{Acks, CommandStream, Transport};
