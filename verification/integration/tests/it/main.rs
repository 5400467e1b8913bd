//! The store on real etcd processes, instances on one that is put back, the client's Kafka runner on an embedded broker
//! and a real one, and the service's own client of Kafka.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail a test by a panic")]

mod client;
mod etcd;
mod failing;
// The scripted service of the client's own tests.
#[expect(dead_code, reason = "the client's tests use the rest of the service")]
#[path = "../../../../crates/client/tests/it/fake.rs"]
mod fake;
mod kafka;
mod restored;
