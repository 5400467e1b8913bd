//! The layout of what is found: that of Kafka's own tools, with what they do not show after it.

mod listing;
mod members;
mod offsets;
mod state;

pub(super) use members::MembersReport;
pub(super) use offsets::OffsetsReport;
pub(super) use state::StateReport;

use std::fmt::Display;

use super::view::group::KafkaGroupView;
use crate::output::{Cell, TextPage};

/// The columns of a table, each with its value in one row.
type GroupColumns = Vec<(&'static str, Cell)>;

/// The value, or a dash where it is missing.
fn or_dash<T: Display>(value: Option<T>) -> Cell {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string()).into()
}

/// The sentence about a group without members, or one that changes.
fn tell_state(group: &KafkaGroupView, page: &mut TextPage) {
    let (subject, name) = (group.kind.subject(), &group.group);
    match group.state.as_str() {
        "Empty" => page.line(format!("{subject} '{name}' has no active members.")),
        "PreparingRebalance" | "CompletingRebalance" | "Assigning" | "Reconciling" => {
            page.line(format!("{subject} '{name}' is rebalancing."));
        }
        _ => {}
    }
}
