//! The session with the service: one lease under one incarnation, over any number of streams.
//!
//! A pure machine: events and the time go in, actions come out; the shell carries them out and reports back.
//!
//! ```text
//!            first snapshot                 Fenced, another cluster
//!  Opening ─────────────────► Live ─────────────────────────────────► Opening (new incarnation)
//!   │  ▲  no definite answer:  │ ▲ stream broke, deaf, GoAway:            │ superseded, refused
//!   └──┘  new incarnation      └─┘ reconnect with the same lease          ▼
//!                                                                     Finished
//! ```
//!
//! Decisions that are easy to get wrong:
//!
//! - A broken stream ends nothing. Only the service's word, or another cluster id, ends a session.
//! - Once there was a session, a refusal counts only with the service's own error details: a proxy without a backend answers
//!   with the same codes. It is a broken stream then. A first Register believes any refusal: the address may be wrong.
//! - A first Register without a definite answer may have taken effect, so it is repeated under a *new*
//!   incarnation; the old one's lease runs out by itself.
//! - The claim counts from the sending of what was confirmed. A reconnect is followed by a heartbeat at once and
//!   does not count for the claim itself.
//! - A stream may be deaf: its instance has lost its store, or something got lost. Each heartbeat tells how far the stream
//!   is and a digest of what it told, wherever the heartbeat goes; who answers knows what the stream must have told.
//!   The digest alone is believed once in a while only, so that a fault in it can't make streams go round for ever.
//! - A stream is moved away from an instance without its store only to one that has confirmed the session, so that in an
//!   outage of the store for all of them nobody moves.
//! - A client goes to any other instance at random, and keeps a stream that is told to go for a random time: all clients of
//!   an instance that stops are told at once.
//! - An instance that sees a stream end can't tell a death from a reconnect. So a client that lives says so: a heartbeat at
//!   once, elsewhere first, and at least one each second until it has had another stream for 3 s.
//! - Superseded means that another process runs under the same name. Registering again would take the name back
//!   and start an endless exchange, so the machine stops. The one exception is a takeover by this client's own
//!   abandoned Register, which can arrive late; within [`GHOST_BOUND`] it counts as a plain loss.

mod api;
mod attachment;
mod claim_clock;
mod departure;
mod dialect;
mod endpoints;
mod heartbeat;
mod insistence;
mod known_store;
mod life;
mod machine;
mod refusal;
mod stream;
mod told;

pub use api::{Ending, Event, Loss, OpenStream, SendHeartbeat, SessionAction, SessionOptions};
pub use claim_clock::ClaimTerm;
pub use dialect::{Dialect, Heard, MessageBody, consumer_message};
pub use machine::Session;
pub use refusal::is_definite;
pub use stream::GHOST_BOUND;
pub use told::ToldItems;

#[cfg(test)]
mod session_test;
