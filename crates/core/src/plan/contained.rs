//! Panics of a strategy, which may be a user's own, as a reason why there is no plan.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{NoPlan, Plan};

/// The result of `plan`, which asks `strategy`; a panic is one too.
pub(super) fn contained(strategy: &str, plan: impl FnOnce() -> Result<Plan, NoPlan>) -> Result<Plan, NoPlan> {
    catch_unwind(AssertUnwindSafe(plan)).unwrap_or_else(|panic| {
        Err(NoPlan::Panicked { strategy: strategy.to_owned(), message: message_of(&*panic) })
    })
}

/// The message of a panic; one that has none is a value that the program threw.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
