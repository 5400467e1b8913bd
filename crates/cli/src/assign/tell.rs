//! Answers as JSON: [`Answer`](answer::Answer) of what was placed, [`Refusal`](answer::Refusal) of what was not.

pub(super) mod answer;
mod balance;
