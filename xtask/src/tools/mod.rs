//! Programs that tests need: found where the user says, on the PATH, in our cache, or else made.

mod cache;
mod etcd;
mod etcdutl;
mod kafka;
mod kafka_tools;
mod origin;
mod search;

pub(crate) use etcd::Etcd;
pub(crate) use etcdutl::Etcdutl;
pub(crate) use kafka::Kafka;
pub(crate) use kafka_tools::KafkaTools;
