//! Output of results: tables for people, JSON for programs.

mod page;
mod report;
mod style;
mod table;
mod words;

pub(crate) use page::TextPage;
#[cfg(test)]
pub(crate) use report::text_of;
pub(crate) use report::{Output, Report, print};
pub(crate) use style::Style;
pub(crate) use table::{Cell, TextTable, Tone, lines};
pub(crate) use words::{age, or_dash, span, time_of_day};
