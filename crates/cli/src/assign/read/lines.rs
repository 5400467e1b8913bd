//! Lines of bounded length, one at a time.

use std::io::{self, BufRead, Read as _};

/// Lines of an input; only the one that was read last is kept.
#[derive(Debug)]
pub(in crate::assign) struct Lines<R> {
    input: R,
    longest: usize,
    line: Vec<u8>,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::assign) enum InputLine<'a> {
    /// The content without the line break.
    Text(&'a [u8]),
    /// It is too long, and was skipped.
    TooLong,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `input`, of which none may have more than `longest` bytes.
    pub(in crate::assign) const fn new(input: R, longest: usize) -> Self {
        Self { input, longest, line: Vec::new() }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// The error of the input.
    pub(in crate::assign) fn next(&mut self) -> io::Result<Option<InputLine<'_>>> {
        self.line.clear();
        let with_end = self.longest as u64 + 1;
        if (&mut self.input).take(with_end).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        if self.line.pop_if(|last| *last == b'\n').is_some() || self.line.len() <= self.longest {
            return Ok(Some(InputLine::Text(&self.line)));
        }
        self.input.skip_until(b'\n')?;
        Ok(Some(InputLine::TooLong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_and_long_ones_are_skipped() {
        let mut lines = Lines::new(&b"four\n\nlonger\nthree\nlongest, at the end"[..], 5);
        let mut next = || lines.next().unwrap().map(|line| format!("{line:?}"));
        let told: Vec<_> = std::iter::from_fn(&mut next).collect();
        let text = |text: &str| format!("{:?}", InputLine::Text(text.as_bytes()));
        let long = format!("{:?}", InputLine::TooLong);
        assert_eq!(told, [text("four"), text(""), long.clone(), text("three"), long]);
    }

    #[test]
    fn a_last_line_needs_no_end() {
        let mut lines = Lines::new(&b"12345"[..], 5);
        assert_eq!(lines.next().unwrap(), Some(InputLine::Text(b"12345")));
        assert_eq!(lines.next().unwrap(), None);
    }
}
