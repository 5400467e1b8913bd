//! Rows and columns.

use std::borrow::Cow;

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, CellAlignment, Color};

use super::style::Style;

/// The emphasis of a cell, where colours are shown.
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

    /// Keeps so many characters; the last one says that there were more.
    fn cut(&mut self, width: usize) {
        if self.text.chars().count() > width {
            self.text = self.text.chars().take(width.saturating_sub(1)).chain(['…']).collect();
        }
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

/// The narrowest terminal that cells are cut for; in a narrower one, or one that does not tell its width (it says 0),
/// nothing would be left of them.
const NARROWEST: u16 = 40;

/// The least width that a cell keeps: names that begin alike differ after some letters.
const SHORTEST: usize = 6;

/// Between two columns.
const GAP: usize = 2;

/// A table without lines, so that it reads well in a terminal and in a pipe.
#[derive(Debug)]
pub(crate) struct TextTable {
    header: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    /// The columns, by their headings, that are shown only where there is room for all.
    wide: Vec<&'static str>,
    /// True if long cells reach beyond the terminal's width instead of being cut.
    overflows: bool,
}

impl TextTable {
    /// A table with a heading for each column.
    pub(crate) fn new<const N: usize>(header: [&'static str; N]) -> Self {
        Self { header: header.to_vec(), rows: Vec::new(), wide: Vec::new(), overflows: false }
    }

    /// Shows the columns with these headings with `-o wide` only.
    pub(crate) fn wide(mut self, headings: impl Into<Vec<&'static str>>) -> Self {
        self.wide = headings.into();
        self
    }

    /// Lets long cells reach beyond the terminal's width: they are what the table is for.
    pub(crate) const fn overflowing(mut self) -> Self {
        self.overflows = true;
        self
    }

    /// A table whose columns are only known with its rows: each row has the same headings, each with its cell.
    pub(crate) fn of_columns(rows: Vec<Vec<(&'static str, Cell)>>) -> Self {
        let header = rows.first().map(|row| row.iter().map(|(heading, _)| *heading).collect());
        let cells = |row: Vec<(&'static str, Cell)>| row.into_iter().map(|(_, cell)| cell).collect();
        Self {
            header: header.unwrap_or_default(),
            rows: rows.into_iter().map(cells).collect(),
            wide: Vec::new(),
            overflows: false,
        }
    }

    /// A table of names and what belongs to them.
    pub(crate) const fn of_pairs() -> Self {
        Self { header: Vec::new(), rows: Vec::new(), wide: Vec::new(), overflows: false }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// True if it has no rows.
    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text that ends with a line break, one line a row. On a terminal long cells are cut to its width.
    pub(super) fn render(mut self, style: Style) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING);
        let cuts = style.terminal && !self.overflows;
        if !style.wide {
            self.keep_narrow();
            if let Some(width) = table.width().filter(|width| cuts && *width >= NARROWEST) {
                self.cut(width.into());
            }
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

    fn keep_narrow(&mut self) {
        let kept: Vec<bool> = self.header.iter().map(|heading| !self.wide.contains(heading)).collect();
        let keep = |index: usize| kept.get(index).copied().unwrap_or(true);
        for row in &mut self.rows {
            let mut index = 0..;
            row.retain(|_| keep(index.next().unwrap_or_default()));
        }
        let mut index = 0..;
        self.header.retain(|_| keep(index.next().unwrap_or_default()));
    }

    /// Cuts the longest cells until each row fits into so many columns of a terminal.
    fn cut(&mut self, available: usize) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let heading = |index: usize| self.header.get(index).map_or(0, |text| text.chars().count());
        let cell = |row: &Vec<Cell>, index: usize| row.get(index).map_or(0, |cell| cell.text.chars().count());
        let width = |index| self.rows.iter().map(|row| cell(row, index)).fold(heading(index), usize::max);
        let widths = fit((0..columns).map(width).collect(), available, &heading_widths(&self.header));
        for row in &mut self.rows {
            for (cell, width) in row.iter_mut().zip(&widths) {
                cell.cut(*width);
            }
        }
    }
}

fn heading_widths(header: &[&str]) -> Vec<usize> {
    header.iter().map(|text| text.chars().count()).collect()
}

/// The widths of columns that together fit, as far as none becomes shorter than its heading or [`SHORTEST`]: the
/// widest gives first.
fn fit(mut widths: Vec<usize>, available: usize, headings: &[usize]) -> Vec<usize> {
    let least = |index: usize| headings.get(index).copied().unwrap_or_default().max(SHORTEST);
    while widths.iter().map(|width| width + GAP).sum::<usize>() > available + GAP {
        let widest = (0..widths.len())
            .filter(|index| widths[*index] > least(*index))
            .max_by_key(|index| widths[*index]);
        match widest {
            Some(index) => widths[index] -= 1,
            None => break,
        }
    }
    widths
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
        let mut table = TextTable::new(["NAME", "COUNT"]);
        table.row(["\u{1b}[2Jred".into(), Cell::from(7_u32).tone(Tone::Bad)]);
        table.row(["b".into(), 1_000_u32.into()]);
        table.render(style)
    }

    #[test]
    fn a_pipe_gets_plain_text_with_numbers_to_the_right() {
        let text = rendered(Style { terminal: false, wide: false, colours: false });
        assert_eq!(text, "NAME     COUNT\n\u{fffd}[2Jred      7\nb         1000\n");
    }

    #[test]
    fn only_our_own_colours_reach_a_terminal() {
        let text = rendered(Style { terminal: false, wide: false, colours: true });
        assert!(text.contains("\u{1b}[") && !text.contains("\u{1b}[2J"), "{text:?}");
    }

    #[test]
    fn the_widest_columns_give_until_a_row_fits() {
        assert_eq!(fit(vec![30, 4, 50], 80, &[5, 4, 6]), [30, 4, 42]);
        assert_eq!(fit(vec![30, 4, 50], 20, &[5, 4, 6]), [6, 4, 6]);
        assert_eq!(fit(vec![10, 10], 80, &[]), [10, 10]);
    }

    #[test]
    fn a_row_is_one_line_of_what_a_terminal_shows() {
        let mut table = TextTable::new(["CONSUMER", "OWNED"]);
        table.row(["a-pod-with-a-long-name-7d9f8b6c5d-x2x4z-in-some-namespace".into(), 3_u32.into()]);
        table.cut(40);
        let text = table.render(Style { terminal: false, wide: false, colours: false });
        let row = text.lines().nth(1).unwrap();
        assert!(row.contains('…') && row.ends_with('3') && row.chars().count() <= 40, "{text}");
    }

    #[test]
    fn the_lesser_columns_are_shown_where_they_are_asked_for() {
        let shown = |wide| {
            let mut table = TextTable::new(["A", "WHY"]).wide(["WHY"]);
            table.row(["a".into(), "because".into()]);
            table.render(Style { terminal: false, wide, colours: false })
        };
        assert_eq!((shown(false).as_str(), shown(true).as_str()), ("A\na\n", "A  WHY\na  because\n"));
    }
}
