//! The cost of one change of a record for the leader and the relay, and of a plan, by the size of the group.
//!
//! The changes are those of real handoffs: ready, complete, taken, released. Each is applied to the state, looked at
//! as the leader does, and told to the members whom it touches as their streams do. The group grows in two ways:
//! with as many partitions for each consumer as before, and with as many consumers as before. A member's view is in
//! proportion to what the member has, so the second way shows what is left that grows.

mod group;
mod handoffs;

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::test_group::TestGroup;
use kafka_assigner_types::kv::{Op, Txn};

use crate::report::{Figure, Report};
use crate::stopwatch::{median, ms, timed, us};
use group::Size;
use handoffs::{Costs, Driver};

/// The number of times that a plan is made; the middle one is told.
const PLANS: usize = 5;

const SIZES: [Size; 7] = [
    Size { partitions: 1_000, consumers: 10 },
    Size { partitions: 10_000, consumers: 100 },
    Size { partitions: 100_000, consumers: 1_000 },
    Size { partitions: 100_000, consumers: 100 },
    Size { partitions: 1_000, consumers: 1 },
    Size { partitions: 10_000, consumers: 1 },
    Size { partitions: 100_000, consumers: 1 },
];

/// Measures everything at every size, the smallest first.
pub(crate) fn run(report: &Report) -> Result<()> {
    let mut first = None;
    for size in SIZES {
        let costs = measure(report, size)?;
        let smallest = *first.get_or_insert(costs.total);
        tell_costs(report, size, &costs, smallest)?;
    }
    Ok(())
}

/// Tells what plans cost on the way to a settled group that one consumer joined, and returns what its changes cost.
fn measure(report: &Report, size: Size) -> Result<Costs> {
    let mut group = size.unplanned();
    tell_plan(report, size, "plan, fresh", &group)?;
    group.settle();
    tell_plan(report, size, "plan, nothing to do", &group)?;
    tell_snapshot(report, size, &mut group)?;
    group.join("another");
    tell_plan(report, size, "plan, one consumer joined", &group)?;
    group.pass();
    Ok(Driver::new(group).drive())
}

fn tell_plan(report: &Report, size: Size, what: &'static str, group: &TestGroup) -> Result<()> {
    let times = (0..PLANS).map(|_| timed(|| group.plan()).1).collect();
    tell(report, size, what, ms(median(times)), "ms")
}

/// Tells what it costs to keep the group as it is for a plan, and what the first change costs that comes meanwhile.
fn tell_snapshot(report: &Report, size: Size, group: &mut TestGroup) -> Result<()> {
    let (mut taken, mut applied) = (Vec::new(), Vec::new());
    for number in 0..PLANS {
        let (snapshot, copying) = timed(|| group.state.clone());
        taken.push(copying);
        applied.push(timed_change(group, number));
        drop(snapshot);
    }
    tell(report, size, "snapshot, taken", us(median(taken)), "µs")?;
    tell(report, size, "event, applied beside a snapshot", us(median(applied)), "µs")
}

/// The time to apply a change of the assignment at `number`, which is written again as it is.
fn timed_change(group: &mut TestGroup, number: usize) -> Duration {
    let at = group.state.assignments().keys().nth(number).expect("the group has as many").clone();
    let key = group.state.layout().encode(&Key::Assignment(at));
    let value = group.store.get(&key).expect("it is stored").value.clone();
    let changes = group.store.txn(&Txn::guarded(Vec::new(), vec![Op::put(key, value)]));
    let (changes, revision) = (changes.expect("it has no guard"), group.store.revision());
    timed(|| group.state.apply(&changes, revision)).1
}

fn tell_costs(report: &Report, size: Size, costs: &Costs, smallest: Duration) -> Result<()> {
    tell(report, size, "event, applied", us(costs.apply), "µs")?;
    tell(report, size, "event, leader's look and advance", us(costs.advance), "µs")?;
    tell(report, size, "event, views and differences", us(costs.relay), "µs")?;
    tell(report, size, "event, all of it", us(costs.total), "µs")?;
    let ratio = costs.total.as_secs_f64() / smallest.as_secs_f64();
    tell(report, size, "event, next to the first size", ratio, "x")
}

fn tell(report: &Report, size: Size, what: &'static str, value: f64, unit: &'static str) -> Result<()> {
    report.tell(&Figure { scenario: "event", size: size.to_string(), what, value, unit, aim: None })
}
