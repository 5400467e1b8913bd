//! The conformance suite on the stores that need no server.

mod memory;
