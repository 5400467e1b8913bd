//! `assign`: asks a strategy for an assignment, offline.
//!
//! ```text
//! lines ─► read (what is written, and what it means)
//!            └─► plan (a Problem of partitions and its sets ─► a strategy; or a Group ─► Kafka's own)
//!                  └─► tell (answers as JSON)
//! ```
//!
//! Each layer knows those above it. How partitions move together, and what limits mean, is decided in the strategies'
//! `sets`, for the service as for this. One line is in memory at a time, and each has exactly one answer.

mod plan;
mod read;
mod tell;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use kafka_assigner_strategies::{Registry, Strategy, TopicSpread};
use serde::Serialize;

use plan::placed;
use read::checked::Checked;
use read::input::Input;
use read::lines::{InputLine, Lines};
use read::refused::Refused;
use tell::answer::{LineAnswer, LineRefusal};

use crate::command_error::CommandError;

/// The longest line: a million partitions with owners, racks and weights take less than half of it, and it bounds
/// what a broken input costs.
const LONGEST_LINE: usize = 64 << 20;

/// The arguments of `assign`.
#[derive(Debug, Args)]
pub(crate) struct Assign {
    /// The strategy, one of those that `kafka-assigner strategies` lists
    #[arg(long, value_name = "NAME", value_parser = strategy)]
    strategy: &'static dyn Strategy,
    /// The problems to solve, a JSON object on each line; - is the standard input
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// The price that the strategy balanced may pay to spread each topic evenly over members: ties (no move more than
    /// balance takes) or moves (within options.movement_budget)
    #[arg(long, value_name = "PRICE", default_value = "ties", value_parser = spread)]
    spread_topics: TopicSpread,
}

fn spread(name: &str) -> Result<TopicSpread, String> {
    TopicSpread::named(name).ok_or_else(|| "it must be ties or moves".to_owned())
}

fn strategy(name: &str) -> Result<&'static dyn Strategy, String> {
    let strategies = Registry::builtin();
    let known = || strategies.all().iter().map(|strategy| strategy.name()).collect::<Vec<_>>().join(", ");
    strategies.named(name).ok_or_else(|| format!("it must be one of {}", known()))
}

impl Assign {
    /// Answers every line.
    ///
    /// # Errors
    /// [`CommandError`], also where a line was refused.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let input: Box<dyn BufRead> = if self.input.as_os_str() == "-" {
            Box::new(io::stdin().lock())
        } else {
            let file = File::open(&self.input).map_err(|source| self.unreadable(source))?;
            Box::new(BufReader::new(file))
        };
        let mut lines = Lines::new(input, LONGEST_LINE);
        let mut output = BufWriter::new(io::stdout().lock());
        let (mut read, mut refused) = (0, 0);
        while let Some(line) = lines.next().map_err(|source| self.unreadable(source))? {
            read += 1;
            if let Err(why) = self.answer(&line, &mut output)? {
                refused += 1;
                write(&mut output, &LineRefusal::new(read, why))?;
            }
            output.flush().map_err(CommandError::Output)?;
        }
        if refused == 0 { Ok(()) } else { Err(CommandError::LinesRefused { refused, read }) }
    }

    /// Writes the answer to a line, or says why there is none.
    fn answer(
        &self,
        line: &InputLine<'_>,
        output: &mut impl Write,
    ) -> Result<Result<(), Refused>, CommandError> {
        let placed = |input: &Input| {
            let mut checked = Checked::new(input)?;
            checked.options.spread_topics = self.spread_topics;
            placed::place(&checked, self.strategy)
        };
        let parsed = match line {
            InputLine::Text(text) => Input::parse(text),
            InputLine::TooLong => Err(Refused::line(format!("it is longer than {LONGEST_LINE} bytes"))),
        };
        match parsed.and_then(|input| Ok((placed(&input)?, input))) {
            Ok((placed, input)) => write(output, &LineAnswer::new(&placed, &input.members)).map(Ok),
            Err(refused) => Ok(Err(refused)),
        }
    }

    fn unreadable(&self, source: io::Error) -> CommandError {
        CommandError::Unreadable { flag: "--input", path: self.input.clone(), source }
    }
}

fn write(output: &mut impl Write, answer: &impl Serialize) -> Result<(), CommandError> {
    serde_json::to_writer(&mut *output, answer).map_err(|error| CommandError::Output(error.into()))?;
    output.write_all(b"\n").map_err(CommandError::Output)
}
