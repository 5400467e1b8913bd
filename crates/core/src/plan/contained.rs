//! Panics of a strategy, which may be a user's own, as a reason why there is no plan.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{NoPlan, Plan};
use crate::panics::message_of;

/// The result of `plan`, which asks `strategy`; a panic is one too.
pub(super) fn contained(strategy: &str, plan: impl FnOnce() -> Result<Plan, NoPlan>) -> Result<Plan, NoPlan> {
    catch_unwind(AssertUnwindSafe(plan)).unwrap_or_else(|panic| {
        Err(NoPlan::Panicked { strategy: strategy.to_owned(), message: message_of(&*panic) })
    })
}
