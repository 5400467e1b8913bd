//! Lines, as far as they can be read without a decision: [`Lines`](lines::Lines) of bounded length, the
//! [`Input`](input::Input) as it is written, and the [`Checked`](checked::Checked) line with positions in place of names.

pub(super) mod checked;
pub(super) mod claims;
pub(super) mod input;
pub(super) mod lines;
mod pins;
pub(super) mod refused;
