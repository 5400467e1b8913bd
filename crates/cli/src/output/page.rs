//! Text for people, collected and then written at once.

use super::style::Style;
use super::table::{TextTable, printable};

/// The text of a report.
#[derive(Debug)]
pub(crate) struct TextPage {
    style: Style,
    text: String,
}

impl TextPage {
    /// An empty page.
    pub(crate) const fn new(style: Style) -> Self {
        Self { style, text: String::new() }
    }

    /// Adds one line.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(&printable(text.as_ref()));
        self.text.push('\n');
    }

    /// Adds a table, or `instead` where it has no rows.
    pub(crate) fn table(&mut self, table: TextTable, instead: &str) {
        if table.is_empty() {
            self.line(instead);
        } else {
            self.text.push_str(&table.render(self.style));
        }
    }

    /// Adds an empty line between two parts.
    pub(crate) fn gap(&mut self) {
        self.text.push('\n');
    }

    /// All of it.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
