//! Answers as JSON: [`LineAnswer`](answer::LineAnswer) of what was placed, [`LineRefusal`](answer::LineRefusal) of what was not.

pub(super) mod answer;
mod balance;
