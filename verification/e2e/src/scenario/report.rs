//! The report of a scenario: for people a table, for programs one object of JSON.

use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;

/// The result of a scenario.
pub(crate) trait ScenarioReport: Serialize {
    /// The heads of the columns.
    fn heads(&self) -> Vec<&'static str>;

    /// The rows, with a cell for each head.
    fn rows(&self) -> Vec<Vec<String>>;

    /// What should have been otherwise.
    fn failures(&self) -> Vec<String>;
}

/// Prints the report and what failed. The code is that of a failure where anything failed.
pub(crate) fn conclude(report: &impl ScenarioReport, json: bool) -> ExitCode {
    let failures = report.failures();
    for failure in &failures {
        eprintln!("FAILED: {failure}");
    }
    if json {
        let text = serde_json::to_string(report).expect("a report has no map with keys that are no text");
        println!("{text}");
    } else {
        print!("{}", table(&report.heads(), &report.rows()));
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Columns as wide as their widest cell, two spaces apart; numbers to the right.
fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&heads).chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |row: &&Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let is_number = cell.starts_with(|c: char| c.is_ascii_digit());
            if is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    all.iter().map(line).collect()
}

/// Whole milliseconds.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// What is broken of these rules.
pub(crate) fn broken(rules: impl IntoIterator<Item = (bool, String)>) -> Vec<String> {
    rules.into_iter().filter_map(|(broken, text)| broken.then_some(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["overlap".to_owned(), "0".to_owned()], vec!["b".to_owned(), "12345".to_owned()]];
        assert_eq!(table(&["mode", "lost"], &rows), "mode     lost\noverlap      0\nb        12345\n");
    }
}
