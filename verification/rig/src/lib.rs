//! The rig of verification: real servers for tests, and the parts of whole runs.
//!
//! # Servers
//!
//! Start at [`etcd`] and [`kafka`]: a test that needs a server asks them where it is, and returns when
//! there is none. That is not a silent pass: the skip is printed, written to the list that
//! `cargo xtask test` counts, and a panic where servers are required.
//!
//! A test that restarts, freezes or kills its server starts its own [`Etcd`], [`EtcdCluster`] or [`KafkaCluster`]. Whatever is
//! started here ends with the value that stands for it, and also when the test process dies before it can drop it
//! ([`Process`]). A [`Link`] is a network to any of them that can be disturbed.
//!
//! Everything but the link blocks for short, bounded times; async tests may call it directly.
#![cfg_attr(
    feature = "runs",
    doc = r#"
# Runs

End-to-end, chaos and gap runs and benchmarks are made of these (feature `runs`):

| module | contents |
| --- | --- |
| [`named_process`] | a process with a name and a log, which can be frozen, ended and waited for |
| [`instances`] | processes of `kafka-assigner serve`, at addresses that their successors take |
| [`consumers`] | the departure of consumers |
| [`topics`] | topics, and the offsets that a group has committed |
| [`producer`] | records at a steady rate, and which of them Kafka acknowledged |
| [`journal`] | files of lines that processes write, read whole or followed |
| [`observer`] | the group's records, watched from outside |
| [`round_trip`] | the time that etcd and Kafka take for an answer |
| [`clock`] | the clocks that all processes of a run share |
| [`report`] | the lines that tell what happens, and the exit code |
| [`until`](mod@until) | waiting for what can be observed |
"#
)]

#[cfg(feature = "runs")]
pub mod clock;
#[cfg(feature = "runs")]
pub mod consumers;
mod etcd;
mod etcd_backup;
mod etcd_cluster;
#[cfg(feature = "runs")]
pub mod instances;
#[cfg(feature = "runs")]
pub mod journal;
mod kafka;
mod kafka_cluster;
mod link;
#[cfg(feature = "runs")]
pub mod named_process;
#[cfg(feature = "runs")]
pub mod observer;
mod port;
mod process;
#[cfg(feature = "runs")]
pub mod producer;
mod provided;
#[cfg(feature = "runs")]
pub mod report;
#[cfg(feature = "runs")]
pub mod round_trip;
#[cfg(feature = "runs")]
pub mod topics;
#[cfg(feature = "runs")]
pub mod until;
mod wait;

pub use etcd::{Etcd, EtcdConfig, EtcdTls};
pub use etcd_backup::EtcdBackup;
pub use etcd_cluster::EtcdCluster;
pub use kafka::Kafka;
pub use kafka_cluster::{KafkaCluster, KafkaClusterConfig};
pub use link::{Disturbance, Link};
#[cfg(feature = "runs")]
pub use named_process::NamedProcess;
pub use port::free_port;
pub use process::Process;
pub use provided::{
    ETCD_BINARY_VARIABLE, ETCD_VARIABLE, KAFKA_JARS_VARIABLE, KAFKA_VARIABLE, REQUIRE_VARIABLE,
    SKIP_LOG_VARIABLE, etcd, etcd_binary, kafka, kafka_jars, program,
};
#[cfg(feature = "runs")]
pub use until::{until, within};
pub use wait::holds_within;
