//! The store on etcd: 3.4.25, 3.5.8 and newer.
//!
//! Start reading at [`EtcdStore`]. Calls go through one place (`connection`) that knows the
//! endpoints, the deadline and what a failure means; watches and leases each have a task that keeps one
//! stream open (`watch`, `keep_alive`) and outlives its connections. `docs/design/etcd.md` draws it.

mod advice;
mod connection;
mod convert;
mod credentials;
mod endpoints;
mod fault;
mod keep_alive;
mod lease_rest;
mod options;
mod password_source;
mod status;
mod store;
mod version;
mod watch;
mod wire;

pub use options::{EtcdOptions, EtcdTls, Password};
pub use status::EtcdStatus;
pub use store::EtcdStore;
