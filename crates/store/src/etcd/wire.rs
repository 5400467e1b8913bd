//! etcd's messages and services, generated from `proto/etcd.proto`.

#![expect(
    clippy::all,
    clippy::allow_attributes_without_reason,
    unreachable_pub,
    unused_qualifications,
    reason = "generated: see proto/etcd.proto for what things are"
)]

include!("generated/etcdserverpb.rs");
