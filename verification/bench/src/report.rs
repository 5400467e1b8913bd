//! The output of figures: a table as they come, or one JSON object a line.

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use crate::machine::Machine;
use crate::stopwatch::{median, ms};

/// One measured figure.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    /// The scenario that it comes from.
    pub(crate) scenario: &'static str,
    /// The size it was measured at.
    pub(crate) size: String,
    /// The quantity that was measured.
    pub(crate) what: &'static str,
    /// The value.
    pub(crate) value: f64,
    /// The unit of the value.
    pub(crate) unit: &'static str,
    /// The most that it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) aim: Option<f64>,
}

/// The output to which figures go.
#[derive(Debug)]
pub(crate) struct Report {
    json: bool,
}

impl Report {
    /// Begins with the machine.
    pub(crate) fn begin(json: bool, machine: &Machine) -> Result<Self> {
        if json {
            println!("{}", serde_json::to_string(machine)?);
        } else {
            println!("{machine}");
        }
        Ok(Self { json })
    }

    /// Tells one figure.
    pub(crate) fn tell(&self, figure: &Figure) -> Result<()> {
        let line = if self.json { serde_json::to_string(figure)? } else { row(figure) };
        println!("{line}");
        Ok(())
    }

    /// Tells a row of a table that has its own columns.
    pub(crate) fn tell_row(&self, row: &(impl Serialize + fmt::Display)) -> Result<()> {
        let line = if self.json { serde_json::to_string(row)? } else { row.to_string() };
        println!("{line}");
        Ok(())
    }

    /// Tells the middle one of many times, as `middle` says but for the value, and the worst as `worst`; in milliseconds.
    pub(crate) fn tell_times(
        &self,
        middle: &Figure,
        worst: &'static str,
        times: Vec<Duration>,
    ) -> Result<()> {
        let most = times.iter().copied().max().unwrap_or_default();
        self.tell(&Figure { value: ms(median(times)), ..middle.clone() })?;
        self.tell(&Figure { what: worst, value: ms(most), ..middle.clone() })
    }
}

fn row(figure: &Figure) -> String {
    let Figure { scenario, size, what, value, unit, aim } = figure;
    let verdict = match aim {
        Some(aim) if value <= aim => format!("  aim {aim:.1}: met"),
        Some(aim) => format!("  aim {aim:.1}: MISSED"),
        None => String::new(),
    };
    format!("{scenario:<8} {size:<40} {what:<44} {value:>10.1} {unit:<3}{verdict}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, aim: Option<f64>) -> Figure {
        Figure { scenario: "event", size: "small".to_owned(), what: "plan", value, unit: "ms", aim }
    }

    #[test]
    fn a_missed_aim_is_said_plainly() {
        assert!(row(&figure(1.0, Some(1.0))).ends_with("aim 1.0: met"));
        assert!(row(&figure(1.1, Some(1.0))).ends_with("aim 1.0: MISSED"));
        assert!(row(&figure(1.1, None)).ends_with("1.1 ms "));
    }

    #[test]
    fn json_has_the_aim_only_where_there_is_one() {
        let told = |aim| serde_json::to_value(figure(2.0, aim)).unwrap();
        assert_eq!(told(Some(3.0))["aim"], 3.0);
        assert_eq!(told(None).get("aim"), None);
    }
}
