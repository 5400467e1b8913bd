//! Kafka's own results, and what must hold beside them.

mod golden;
mod vector;
