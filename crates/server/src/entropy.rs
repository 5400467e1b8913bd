//! The instance's one source of random numbers, so that a seed repeats a run.

use std::sync::Mutex;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

#[derive(Debug)]
pub(crate) struct Entropy(Mutex<StdRng>);

impl Entropy {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.lock().expect("drawing a number does not panic").random()
    }

    /// A random id of 32 hexadecimal digits.
    pub(crate) fn id(&self) -> String {
        format!("{:016x}{:016x}", self.number(), self.number())
    }
}
