//! The store on real etcd processes.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail a test by a panic")]

mod etcd;
