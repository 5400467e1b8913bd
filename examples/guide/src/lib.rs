//! The Rust that the guides show, so that it is compiled. `cargo xtask check` compares the guides' blocks with these files.

pub mod client;
pub mod fencing;
pub mod joins;
pub mod lines;
pub mod native;
pub mod routers;
pub mod strategies;
