//! The conformance suite on the stores that need no server.

#[cfg(feature = "file")]
mod file;
mod memory;
