//! Reports, and the forms in which they are written.

use std::io::{self, Write as _};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::page::TextPage;
use super::style::Style;
use crate::command_error::CommandError;

/// The result of a command.
pub(crate) trait Report: Serialize {
    /// Shows it to people. Its JSON comes from [`Serialize`]; the names of its fields are stable.
    fn show(&self, page: &mut TextPage);
}

/// The form of the output: tables for people, or JSON with stable field names for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Wide,
    Json,
}

/// The flag for the form of the output.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// Tables for people, wide ones with all columns and uncut, or JSON with stable field names for programs
    #[arg(short = 'o', long = "output", value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

impl Output {
    /// Writes a report to the standard output.
    ///
    /// # Errors
    /// [`CommandError::Output`].
    pub(crate) fn write(self, report: &impl Report) -> Result<(), CommandError> {
        let text = match self.format {
            Format::Table | Format::Wide => {
                let mut page =
                    TextPage::new(Style { wide: self.format == Format::Wide, ..Style::of_stdout() });
                report.show(&mut page);
                page.into_text()
            }
            Format::Json => json(report, serde_json::to_string_pretty)?,
        };
        print(&text)
    }

    /// Writes a report of a stream: at once, and as JSON on one line.
    ///
    /// # Errors
    /// [`CommandError::Output`].
    pub(crate) fn write_line(self, report: &impl Report) -> Result<(), CommandError> {
        match self.format {
            Format::Table | Format::Wide => self.write(report),
            Format::Json => print(&json(report, serde_json::to_string)?),
        }
    }
}

fn json<R>(report: &R, encode: fn(&R) -> serde_json::Result<String>) -> Result<String, CommandError> {
    let mut text = encode(report).map_err(|error| CommandError::Output(error.into()))?;
    text.push('\n');
    Ok(text)
}

/// The text of a report in a pipe, for tests.
#[cfg(test)]
pub(crate) fn text_of(report: &impl Report) -> String {
    let mut page = TextPage::new(Style { terminal: false, wide: false, colours: false });
    report.show(&mut page);
    page.into_text()
}

/// Writes text to the standard output.
///
/// # Errors
/// [`CommandError::Output`].
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(CommandError::Output)
}
