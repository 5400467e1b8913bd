//! Properties that hold for every strategy, for problems of all kinds.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod balance;
mod bound;
mod certificate;
mod cluster;
mod copartitioned;
mod copies;
mod faust;
mod hashing;
mod kafka;
mod large;
mod oracle;
mod racks;
mod rolling;
mod scenario;
mod sets;
mod sound;
mod steady;
mod streams;
mod topics;
mod trades;
mod weights;
