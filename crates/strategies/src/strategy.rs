//! What a strategy is, and which there are.

use std::fmt;

use crate::{Placement, Problem};

/// A rule that decides who should own what.
///
/// A strategy is a pure function: equal problems get equal placements on every machine. It never
/// panics, and what cannot be placed comes back as unassigned with a reason.
pub trait Strategy: fmt::Debug + Send + Sync {
    /// The name it is chosen by, such as `sticky-balanced`.
    fn name(&self) -> &'static str;

    /// What it does, in one line for people.
    fn summary(&self) -> &'static str;

    /// Places every unit of `problem` that a member can take.
    fn assign(&self, problem: &Problem) -> Placement;
}
