//! The output of a run: a live view on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal as _, Stdin, Write as _};
use std::time::Duration;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, queue};

use crate::echo::EchoOff;
use crate::live_view::LiveView;
use crate::report::RunEvent;

/// The output of a run.
#[derive(Debug)]
pub(crate) enum Screen {
    /// Redrawn in place; the terminal is restored when it is dropped. Without echo, where the input is a terminal.
    Live { _echo: Option<EchoOff<Stdin>> },
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
        if is_live { Self::Live { _echo: EchoOff::new(io::stdin()).ok() } } else { Self::Lines }
    }

    /// The interval between two updates of the screen.
    pub(crate) const fn period(&self) -> Duration {
        match self {
            Self::Live { .. } => Duration::from_millis(250),
            Self::Lines | Self::Errors => Duration::from_secs(5),
        }
    }

    pub(crate) fn event(&self, event: &RunEvent) {
        let seconds = Duration::from_millis(event.at_ms).as_secs_f64();
        match self {
            Self::Live { .. } => {}
            Self::Lines => println!("{seconds:>6.1}s  {}", event.text),
            Self::Errors => eprintln!("{seconds:>6.1}s  {}", event.text),
        }
    }

    pub(crate) fn view(&self, view: &LiveView) {
        match self {
            // A terminal that is gone is no reason to stop the run.
            Self::Live { .. } => drop(draw(view)),
            Self::Lines => println!("{}", status(view)),
            Self::Errors => eprintln!("{}", status(view)),
        }
    }
}

fn status(view: &LiveView) -> String {
    let owned: Vec<String> = view.consumers.iter().map(|row| format!("{} {}", row.name, row.owned)).collect();
    format!(
        "{:>6.1}s  {}; {} on the move; {} {}, {} {}",
        view.elapsed.as_secs_f64(),
        owned.join(", "),
        view.handoffs.len(),
        view.given,
        view.words.given,
        view.done,
        view.words.done
    )
}

fn draw(view: &LiveView) -> io::Result<()> {
    let mut out = io::stdout().lock();
    queue!(out, MoveTo(0, 0))?;
    for line in view.render() {
        write!(out, "{line}")?;
        queue!(out, Clear(ClearType::UntilNewLine))?;
        write!(out, "\r\n")?;
    }
    queue!(out, Clear(ClearType::FromCursorDown))?;
    out.flush()
}

impl Drop for Screen {
    fn drop(&mut self) {
        if matches!(self, Self::Live { .. }) {
            let _terminal_gone = execute!(io::stdout(), Show, LeaveAlternateScreen);
        }
    }
}
