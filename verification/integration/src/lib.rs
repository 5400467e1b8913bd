//! Tests of the crates that ship against real servers; all of it lies in `tests/it`.
//!
//! They stand here and not beside the code that they test, because they need the servers of
//! `kafka-assigner-rig`, and nothing that ships depends on what verifies it.
