//! The Kafka client of the service against Kafka's own schemas, another codec, and real brokers.

mod frozen;
mod jar;
mod logins;
mod oracle;
mod schemas;
mod secured;
