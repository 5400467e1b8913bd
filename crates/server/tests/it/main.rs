//! The service as its clients meet it.

mod admin;
mod bad_input;
mod cluster;
mod faults;
mod handoffs;
mod http;
mod joining;
mod leadership;
mod member;
mod minimal;
mod outside;
mod rolling;
mod served;
mod sessions;
mod tls;
mod worker;
