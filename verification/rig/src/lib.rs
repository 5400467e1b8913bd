//! Real servers for verification: the ones that `cargo xtask test` provides, and private ones.
//!
//! Start at [`etcd`] and [`kafka`]: a test that needs a server asks them where it is, and returns when
//! there is none. That is not a silent pass: the skip is printed, written to the list that
//! `cargo xtask test` counts, and a panic where servers are required.
//!
//! A test that restarts, freezes or kills its server starts its own [`Etcd`], or an [`EtcdCluster`]. Whatever is
//! started here ends with the value that stands for it, and also when the test process dies before it can drop it
//! ([`Process`]). A [`Link`] is a network to any of them that can be disturbed.
//!
//! Everything but the link blocks for short, bounded times; async tests may call it directly.

mod etcd;
mod etcd_cluster;
mod kafka;
mod link;
mod port;
mod process;
mod provided;
mod wait;

pub use etcd::{Etcd, EtcdConfig, EtcdTls};
pub use etcd_cluster::EtcdCluster;
pub use kafka::Kafka;
pub use link::{Disturbance, Link};
pub use port::free_port;
pub use process::Process;
pub use provided::{
    ETCD_BINARY_VARIABLE, ETCD_VARIABLE, KAFKA_JARS_VARIABLE, KAFKA_VARIABLE, REQUIRE_VARIABLE,
    SKIP_LOG_VARIABLE, etcd, etcd_binary, kafka, kafka_jars, program,
};
pub use wait::holds_within;
