//! Runs many worlds and tells what went wrong.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use clap::{Parser, ValueEnum as _};
use kafka_assigner_sim::{Coverage, Hole, MOST_HUNTED, Options, Outcome, hunt, simulate};
use mimalloc::MiMalloc;
use serde::Serialize;

/// Worlds are made of small pieces that live for moments, which is what this allocator is made for.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Two cores are what every machine has.
const WORKERS: usize = 2;

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// From so many worlds on everything has to have occurred.
const ENOUGH: u64 = 1_000;

/// Runs simulated groups under faults and checks that what must hold does.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask sim")]
struct Arguments {
    /// The number of seeds to run.
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// Run this seed only.
    #[arg(long, conflicts_with_all = ["seeds", "start"])]
    seed: Option<u64>,
    /// Print everything that happens; with --seed.
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Print the figures as one line of JSON, last.
    #[arg(long)]
    json: bool,
    /// Put this hole in, pass over worlds in which it can't show, and stop at the first seed that finds it.
    #[arg(long, value_enum)]
    hole: Option<Hole>,
    /// Look for a seed that shows each hole, also with fewer seeds than a thousand.
    #[arg(long, conflicts_with_all = ["seed", "hole"])]
    holes: bool,
}

/// A hole, and the first world that shows it.
#[derive(Debug, Serialize)]
struct Shown {
    name: String,
    invariant: &'static str,
    /// `None`: none does.
    seed: Option<u64>,
}

/// The figures of all worlds so far.
#[derive(Debug, Default)]
struct Totals {
    seeds: u64,
    violations: u64,
    lasted: Duration,
    coverage: Coverage,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.trace {
        log_to_stdout();
    }
    let totals = run(&arguments);
    let is_enough = totals.seeds >= ENOUGH && arguments.hole.is_none();
    let missing = if is_enough { totals.coverage.missing() } else { Vec::new() };
    for name in &missing {
        println!("never occurred: {name}");
    }
    let holes = if is_enough || arguments.holes { show_holes() } else { Vec::new() };
    let unseen: Vec<&Shown> = holes.iter().filter(|hole| hole.seed.is_none()).collect();
    for hole in &unseen {
        println!("never seen: {}", hole.name);
    }
    totals.print(&holes, arguments.json);
    let is_good = totals.violations == 0 && missing.is_empty() && unseen.is_empty();
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Every hole with the first seed that shows it.
fn show_holes() -> Vec<Shown> {
    let show = |hole: &Hole| {
        let name = hole.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let seed = hunt(*hole, MOST_HUNTED, WORKERS);
        eprintln!("hole {name}: seed {seed:?}");
        Shown { name, invariant: hole.invariant(), seed }
    };
    Hole::all().iter().map(show).collect()
}

/// Shows what the service and the client say, between the lines of the history.
fn log_to_stdout() {
    tracing_subscriber::fmt().without_time().with_ansi(false).with_writer(io::stdout).init();
}

fn run(arguments: &Arguments) -> Totals {
    let (start, end) = match arguments.seed {
        Some(seed) => (seed, seed + 1),
        None => (arguments.start, arguments.start + arguments.seeds),
    };
    let (next, totals) = (AtomicU64::new(start), Mutex::new(Totals::default()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| work(arguments, &next, end, &totals));
        }
        scope.spawn(|| show_progress(&totals, &next, end));
    });
    totals.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn work(arguments: &Arguments, next: &AtomicU64, end: u64, totals: &Mutex<Totals>) {
    let options = Options { trace: arguments.trace, hole: arguments.hole };
    loop {
        let seed = next.fetch_add(1, Ordering::SeqCst);
        if seed >= end {
            return;
        }
        if arguments.hole.is_some_and(|hole| !hole.may_show(seed)) {
            continue;
        }
        let outcome = simulate(seed, options);
        if arguments.hole.is_some_and(|hole| hole.is_shown(&outcome)) {
            // Found: no more seeds for anybody.
            next.store(end, Ordering::SeqCst);
        }
        totals.lock().unwrap_or_else(PoisonError::into_inner).add(&outcome);
    }
}

fn show_progress(totals: &Mutex<Totals>, next: &AtomicU64, end: u64) {
    let mut shown = Instant::now();
    while next.load(Ordering::SeqCst) < end {
        thread::sleep(Duration::from_millis(50));
        if shown.elapsed() >= PROGRESS {
            shown = Instant::now();
            let totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
            eprintln!("{} seeds, {} violations", totals.seeds, totals.violations);
        }
    }
}

impl Totals {
    fn add(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.violations += u64::from(!outcome.violations.is_empty());
        self.lasted += outcome.lasted;
        self.coverage.merge(&outcome.coverage);
        for violation in outcome.violations.iter().take(5) {
            println!("seed {}: {violation}", outcome.seed);
        }
        if !outcome.violations.is_empty() {
            println!("replay with: cargo xtask sim --seed {} --trace", outcome.seed);
        }
    }

    fn print(&self, holes: &[Shown], json: bool) {
        let figures = serde_json::json!({
            "seeds": self.seeds,
            "violations": self.violations,
            "handoffs": self.coverage.handoffs,
            "simulated_minutes": self.lasted.as_secs() / 60,
            "faults": self.coverage.faults,
            "coverage": self.coverage.coverage,
            "holes": holes,
        });
        if json {
            println!("{figures}");
        } else {
            println!("{figures:#}");
        }
    }
}
