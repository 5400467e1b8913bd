//! Calls of an instance's Admin service.

mod call;
mod connected;
mod connection;
mod lists;
mod tls;
mod typed_names;

pub(crate) use call::{InstanceCall, Operation};
pub(crate) use connected::Admin;
pub(crate) use connection::ConnectionFlags;
pub(crate) use typed_names::TypedNames;
