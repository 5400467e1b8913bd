//! Kafka's own results, and what must hold beside them.

mod broker;
mod equality;
mod faults;
mod golden;
mod known;
mod notation;
mod plain;
mod random;
mod vector;
