//! Panics that somebody has caught.

use std::any::Any;

/// The message of a panic; one that has none is a value that the program threw.
#[must_use]
pub fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
