//! The output of a run: a live view on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, queue};

use crate::board::Board;
use crate::report::Event;

/// The output of a run.
#[derive(Debug)]
pub(crate) enum Screen {
    /// Redrawn in place; the terminal is put back when it is dropped.
    Live,
    /// A line for each event, on standard output.
    Lines,
    /// A line for each event, on standard error: standard output is for the result.
    Errors,
}

impl Screen {
    pub(crate) fn open(json: bool) -> Self {
        if json {
            return Self::Errors;
        }
        let is_live =
            io::stdout().is_terminal() && execute!(io::stdout(), EnterAlternateScreen, Hide).is_ok();
        if is_live { Self::Live } else { Self::Lines }
    }

    /// The interval between two updates of the screen.
    pub(crate) const fn period(&self) -> Duration {
        match self {
            Self::Live => Duration::from_millis(250),
            Self::Lines | Self::Errors => Duration::from_secs(5),
        }
    }

    pub(crate) fn event(&self, event: &Event) {
        let seconds = Duration::from_millis(event.at_ms).as_secs_f64();
        match self {
            Self::Live => {}
            Self::Lines => println!("{seconds:>6.1}s  {}", event.text),
            Self::Errors => eprintln!("{seconds:>6.1}s  {}", event.text),
        }
    }

    pub(crate) fn board(&self, board: &Board) {
        match self {
            // A terminal that is gone is no reason to stop the run.
            Self::Live => drop(draw(board)),
            Self::Lines => println!("{}", status(board)),
            Self::Errors => eprintln!("{}", status(board)),
        }
    }
}

fn status(board: &Board) -> String {
    let owned: Vec<String> =
        board.consumers.iter().map(|row| format!("{} {}", row.name, row.owned)).collect();
    format!(
        "{:>6.1}s  {}; {} on the move; {} {}, {} {}",
        board.elapsed.as_secs_f64(),
        owned.join(", "),
        board.handoffs.len(),
        board.given,
        board.words.given,
        board.done,
        board.words.done
    )
}

fn draw(board: &Board) -> io::Result<()> {
    let mut out = io::stdout().lock();
    queue!(out, MoveTo(0, 0))?;
    for line in board.render() {
        write!(out, "{line}")?;
        queue!(out, Clear(ClearType::UntilNewLine))?;
        write!(out, "\r\n")?;
    }
    queue!(out, Clear(ClearType::FromCursorDown))?;
    out.flush()
}

impl Drop for Screen {
    fn drop(&mut self) {
        if matches!(self, Self::Live) {
            let _terminal_gone = execute!(io::stdout(), Show, LeaveAlternateScreen);
        }
    }
}
