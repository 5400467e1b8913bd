//! The faults of calls: drawn from a seed, or scripted.

use std::collections::VecDeque;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A fault of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is refused before it leaves: [`Unavailable`](crate::Error::Unavailable).
    Refuse,
    /// The request is lost: [`Unknown`](crate::Error::Unknown), and nothing happened.
    LoseRequest,
    /// The answer is lost: [`Unknown`](crate::Error::Unknown), and it was carried out.
    LoseAnswer,
    /// [`Unknown`](crate::Error::Unknown) at once, and it is carried out after this time: whoever reads in
    /// between finds nothing.
    ApplyLate(Duration),
}

/// The rates of faults. Probabilities are per call or batch, from 0 to 1; zero is the default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rates {
    /// Calls that are [refused](Fault::Refuse).
    pub refuse: f64,
    /// Calls whose [request is lost](Fault::LoseRequest).
    pub lose_request: f64,
    /// Calls whose [answer is lost](Fault::LoseAnswer).
    pub lose_answer: f64,
    /// Calls that are [carried out late](Fault::ApplyLate).
    pub apply_late: f64,
    /// The longest delay.
    pub latest: Duration,
    /// The longest delay of a request and of an answer, each; delays are distributed evenly from 0.
    pub delay: Duration,
    /// Batches with whose delivery the watch is cut, and which are lost with it.
    pub cut_watch: f64,
    /// The longest delay of a watch's batch.
    pub watch_delay: Duration,
}

/// The numbers of faults that were injected on one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls refused by a fault.
    pub refused: u64,
    /// Requests lost.
    pub requests_lost: u64,
    /// Answers lost.
    pub answers_lost: u64,
    /// Calls carried out after their caller had given up.
    pub applied_late: u64,
    /// Calls that took time.
    pub delayed: u64,
    /// Outages begun.
    pub outages: u64,
    /// Calls that met an outage.
    pub met_outage: u64,
    /// Watches that were cut.
    pub watches_cut: u64,
    /// Batches that came late.
    pub batches_delayed: u64,
    /// Batches that vanished without a word.
    pub batches_swallowed: u64,
    /// Leases revoked from outside.
    pub revoked: u64,
    /// Compactions of the whole past.
    pub compacted: u64,
}

impl Counts {
    pub(super) const fn add(&mut self, fault: Fault) {
        match fault {
            Fault::Refuse => self.refused += 1,
            Fault::LoseRequest => self.requests_lost += 1,
            Fault::LoseAnswer => self.answers_lost += 1,
            Fault::ApplyLate(_) => self.applied_late += 1,
        }
    }
}

/// The faults and delays of one call.
#[derive(Debug)]
pub(super) struct CallFaults {
    pub(super) fault: Option<Fault>,
    pub(super) there: Duration,
    pub(super) back: Duration,
}

/// The seeded random source of faults.
#[derive(Debug)]
pub(super) struct FaultSource {
    pub(super) rates: Rates,
    pub(super) script: VecDeque<Option<Fault>>,
    pub(super) swallow: u32,
    random: StdRng,
}

impl FaultSource {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rates: Rates::default(),
            script: VecDeque::new(),
            swallow: 0,
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// Draws the next call's faults. The script goes first; it has no delays.
    pub(super) fn draw(&mut self) -> CallFaults {
        // The same number of draws each time: a script doesn't change what follows it.
        let (drawn, there, back) = (self.fault(), self.up_to(self.rates.delay), self.up_to(self.rates.delay));
        let fault = self.script.pop_front().unwrap_or(drawn);
        CallFaults { fault, there, back }
    }

    /// Draws for the next batch of a watch: true = it is lost together with the watch; and its delay.
    pub(super) fn draw_batch(&mut self) -> (bool, Duration) {
        let cut = self.random.random_range(0.0..1.0) < self.rates.cut_watch;
        (cut, self.up_to(self.rates.watch_delay))
    }

    fn fault(&mut self) -> Option<Fault> {
        let late = self.up_to(self.rates.latest);
        let kinds = [
            (self.rates.refuse, Fault::Refuse),
            (self.rates.lose_request, Fault::LoseRequest),
            (self.rates.lose_answer, Fault::LoseAnswer),
            (self.rates.apply_late, Fault::ApplyLate(late)),
        ];
        let mut drawn = self.random.random_range(0.0..1.0);
        for (rate, fault) in kinds {
            if drawn < rate {
                return Some(fault);
            }
            drawn -= rate;
        }
        None
    }

    fn up_to(&mut self, longest: Duration) -> Duration {
        longest.mul_f64(self.random.random_range(0.0..=1.0))
    }
}
