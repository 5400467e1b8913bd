//! The decisions of core on a group in a map.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail where they stand")]

mod acks;
mod begun;
mod busy;
mod committed;
mod concerns;
mod earlier_group;
mod failing;
mod fences;
mod following;
mod gaps;
mod golden_records;
mod handoffs;
mod histories;
mod joint;
mod lint;
mod offline;
mod planning;
mod records;
mod recreated;
mod restored;
mod sessions;
mod sets;
mod stops;
mod strict;
mod suspects;
mod switching;
mod table;
mod views;
