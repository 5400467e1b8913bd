//! The service as its clients meet it.

mod admin;
mod bad_input;
mod claims;
mod cluster;
mod deaf;
mod deleted;
mod exclusive;
mod faults;
mod handoffs;
mod http;
mod joining;
mod leadership;
mod long_plans;
mod member;
mod minimal;
mod modes;
mod outside;
mod restored;
mod rolling;
mod routed;
mod router;
mod served;
mod sessions;
mod sets;
mod tls;
mod worker;
