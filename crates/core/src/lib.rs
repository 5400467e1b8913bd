//! Everything that decides, as pure functions.
pub mod kv;
