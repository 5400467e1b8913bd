//! Kafka's own results, and what must hold beside them.

mod broker;
mod by_rack;
mod check;
mod equality;
mod faults;
mod generations;
mod golden;
mod known;
mod large;
mod notation;
mod plain;
mod random;
mod sequences;
mod uniform;
mod vector;
