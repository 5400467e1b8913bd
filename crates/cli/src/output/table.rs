//! Rows and columns.

use std::borrow::Cow;

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, CellAlignment, Color, ContentArrangement};

use super::Style;

/// How a cell stands out, where colours are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Not at all.
    Plain,
    /// As it should be.
    Good,
    /// In motion.
    Busy,
    /// To be looked at.
    Bad,
}

/// One cell of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
    is_number: bool,
}

impl Cell {
    /// The same cell in another tone.
    pub(crate) const fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    fn render(self, style: Style) -> comfy_table::Cell {
        let mut cell = comfy_table::Cell::new(&self.text);
        if self.is_number {
            cell = cell.set_alignment(CellAlignment::Right);
        }
        match self.tone {
            _ if !style.colours => cell,
            Tone::Plain => cell,
            Tone::Good => cell.fg(Color::Green),
            Tone::Busy => cell.fg(Color::Yellow),
            Tone::Bad => cell.fg(Color::Red),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text: printable(&text).into_owned(), tone: Tone::Plain, is_number: false }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

macro_rules! from_numbers {
    ($($number:ty)+) => {$(
        impl From<$number> for Cell {
            fn from(number: $number) -> Self {
                Self { text: number.to_string(), tone: Tone::Plain, is_number: true }
            }
        }
    )+};
}

from_numbers!(i32 u32 u64);

/// The narrowest terminal that long cells are wrapped for; in a narrower one, or one that does not tell its width
/// (it says 0), columns would become letters.
const NARROWEST: u16 = 40;

/// A table without lines, so that it reads well in a terminal and in a pipe.
#[derive(Debug)]
pub(crate) struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with a heading for each column.
    pub(crate) fn new<const N: usize>(header: [&'static str; N]) -> Self {
        Self { header: header.to_vec(), rows: Vec::new() }
    }

    /// A table of names and what belongs to them.
    pub(crate) const fn of_pairs() -> Self {
        Self { header: Vec::new(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// Whether it has no rows.
    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text that ends with a line break. A terminal's width wraps long cells within their columns; a
    /// pipe gets one line a row.
    pub(super) fn render(self, style: Style) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING);
        if style.terminal && table.width().is_some_and(|width| width >= NARROWEST) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        if style.colours {
            table.enforce_styling();
        }
        if !self.header.is_empty() {
            table.set_header(self.header.iter().map(|text| heading(text, style)));
        }
        table.add_rows(self.rows.into_iter().map(|row| row.into_iter().map(move |cell| cell.render(style))));
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let mut text = table.trim_fmt();
        text.push('\n');
        text
    }
}

fn heading(text: &str, style: Style) -> comfy_table::Cell {
    let cell = comfy_table::Cell::new(text);
    if style.colours { cell.add_attribute(Attribute::Bold) } else { cell }
}

/// The text without control characters: what others chose to be called must not steer a terminal.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        Cow::Owned(text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// As [`printable`] for a text of several lines.
pub(crate) fn lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(style: Style) -> String {
        let mut table = Table::new(["NAME", "COUNT"]);
        table.row(["\u{1b}[2Jred".into(), Cell::from(7_u32).tone(Tone::Bad)]);
        table.row(["b".into(), 1_000_u32.into()]);
        table.render(style)
    }

    #[test]
    fn a_pipe_gets_plain_text_with_numbers_to_the_right() {
        let text = rendered(Style { terminal: false, colours: false });
        assert_eq!(text, "NAME     COUNT\n\u{fffd}[2Jred      7\nb         1000\n");
    }

    #[test]
    fn only_our_own_colours_reach_a_terminal() {
        let text = rendered(Style { terminal: false, colours: true });
        assert!(text.contains("\u{1b}[") && !text.contains("\u{1b}[2J"), "{text:?}");
    }
}
