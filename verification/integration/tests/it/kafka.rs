//! The Kafka client of the service against Kafka's own schemas, another codec, and real brokers.

mod frozen;
mod jar;
mod logins;
mod member;
mod oracle;
mod records;
mod schemas;
pub(crate) mod secured;
