//! The service as its clients meet it.

mod bad_input;
mod cluster;
mod faults;
mod handoffs;
mod joining;
mod leadership;
mod member;
mod minimal;
mod sessions;
mod worker;
