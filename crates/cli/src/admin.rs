//! Calls of an instance's Admin service.

mod call;
mod connected;
mod connection;
mod tls;

pub(crate) use call::{InstanceCall, Operation};
pub(crate) use connected::Admin;
pub(crate) use connection::ConnectionFlags;
