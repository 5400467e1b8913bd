//! A bounded share of what `cargo xtask sim` runs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use kafka_assigner_sim::{Hole, Options, Outcome, fingerprint, simulate};

/// Some ten seconds on two cores.
const SEEDS: u64 = 40;

/// Runs seeds on two threads until `enough` says so, or all are done.
fn run(seeds: u64, options: Options, enough: impl Fn(&Outcome) -> bool + Sync) -> Vec<Outcome> {
    let (next, outcomes) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::SeqCst);
        if seed >= seeds {
            return;
        }
        let outcome = simulate(seed, options);
        if enough(&outcome) {
            next.store(seeds, Ordering::SeqCst);
        }
        outcomes.lock().expect("no run panics while it holds the lock").push(outcome);
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    outcomes.into_inner().expect("no run panicked while it held the lock")
}

#[test]
fn what_must_hold_does_in_worlds_with_enough_going_on() {
    let outcomes = run(SEEDS, Options::default(), |_| false);
    for outcome in &outcomes {
        let (seed, violations) = (outcome.seed, &outcome.violations);
        assert!(violations.is_empty(), "{violations:#?}\ncargo xtask sim --seed {seed} --trace");
    }
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>() / SEEDS;
    assert!(sum(|o| o.coverage.handoffs) >= 20);
    assert!(sum(|o| o.coverage.faults.values().sum()) >= 10);
    assert!(outcomes.iter().all(|o| o.lasted >= Duration::from_secs(300)));
}

#[test]
fn a_seed_repeats_exactly() {
    // Without routers, and with them.
    for seed in [3, 15] {
        let [first, again, other] = [seed, seed, seed + 1].map(|seed| fingerprint(seed, Options::default()));
        assert_eq!(first, again);
        assert_ne!(first, other);
    }
}

#[test]
fn a_takeover_before_its_time_is_found_for_what_it_is() {
    let is_found = |outcome: &Outcome| outcome.violations.iter().any(|found| found.invariant == "I13");
    let options = Options { hole: Some(Hole::TakenOverEarly), ..Options::default() };
    assert!(run(1_500, options, is_found).iter().any(is_found));
}

#[test]
fn every_hole_is_found() {
    for hole in Hole::ALL {
        let options = Options { hole: Some(hole), ..Options::default() };
        let outcomes = run(1_500, options, |outcome| !outcome.violations.is_empty());
        assert!(outcomes.iter().any(|o| !o.violations.is_empty()), "{hole:?} was not found");
    }
}
