//! Every row of the table of the strict modes, on a unit that needs it.

use std::time::Duration;

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::advance::{advance, advance_by};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Capability, ClusterRecord, DeathSign, HandoffRecord, Phase, encode};
use kafka_assigner_core::rules::STRICT;
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::test_group::{TestGroup, catching_up, tp};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::mode::Mode;

use crate::fences::asked_twice;

use super::{at, draining, group, id, one_after_the_other, phase, stopped_at, warming};

/// True if the handoff at `lead` has another next step without the row `rule`.
fn decides_at(group: &TestGroup, lead: &TopicPartition, rule: &str) -> bool {
    let others: Vec<_> = STRICT.iter().filter(|row| row.name != rule).copied().collect();
    assert_eq!(others.len() + 1, STRICT.len(), "{rule}");
    let next = advance(&group.state, lead, group.context());
    next != advance_by(&others, &group.state, lead, group.context())
}

fn decides(group: &TestGroup, rule: &str) -> bool {
    decides_at(group, &at(), rule)
}

/// The new owner is ready, and the leader has not seen it.
fn said_ready(mode: Mode) -> (TestGroup, Member, Member) {
    let (mut group, a, b) = warming(mode);
    group.say(&b, &at(), Some(&id(&group)), &Ack::Ready);
    (group, a, b)
}

/// The new owner is the owner, and nobody has taken or let go.
fn complete() -> TestGroup {
    let (mut group, a, _) = draining(Mode::Exclusive);
    group.say(&a, &at(), Some(&id(&group)), &stopped_at(7));
    assert_eq!(phase(&group), Some(Phase::Complete));
    group
}

#[test]
fn rows_of_what_is_not_there_any_more_decide() {
    let (mut group, ..) = warming(Mode::Exclusive);
    group.topic("t", 1);
    assert!(decides(&group, "topic gone"));
    let (mut group, ..) = warming(Mode::Exclusive);
    group.remove(&Key::Assignment(at()));
    assert!(decides(&group, "assignment changed under it"));
    let (mut group, ..) = warming(Mode::Exclusive);
    group.crash("b");
    group.pass();
    assert!(decides(&group, "over"));
    let mut group = self::group(Mode::Exclusive);
    ["t", "u"].iter().for_each(|topic| group.topic_in_set(topic, 2, "s"));
    one_after_the_other(&mut group);
    group.topic_in_set("u", 1, "s");
    assert!(decides_at(&group, &tp("t", 1), "part of it gone"));
    let (mut group, ..) = said_ready(Mode::Exclusive);
    group.put_back(&ClusterRecord::new("another"));
    assert!(decides(&group, "claims of a lost history run"));
}

#[test]
fn rows_of_old_owners_decide() {
    let (mut group, ..) = said_ready(Mode::Exclusive);
    group.join("a");
    assert!(decides(&group, "its claim runs"));
    group.later(Duration::from_secs(20));
    assert!(decides(&group, "old owner came back"));
    let (mut group, ..) = warming(Mode::Exclusive);
    group.crash("a");
    assert!(decides(&group, "old owner gone"));
    group.crash("b");
    assert!(decides(&group, "both gone"));
    let (mut group, ..) = draining(Mode::Exclusive);
    group.crash("a");
    assert!(decides(&group, "nobody left to drain"));
}

#[test]
fn rows_of_new_owners_decide() {
    let (mut group, ..) = warming(Mode::Exclusive);
    group.crash("b");
    assert!(decides(&group, "new owner gone"));
    let (mut group, _, b) = warming(Mode::Exclusive);
    group.leave(&b, &Leaving::Drain);
    assert!(decides(&group, "new owner may not have it"));
    let (mut group, _, b) = warming(Mode::Exclusive);
    group.say(&b, &at(), Some(&id(&group)), &Ack::WarmFailed { reason: "disk full".to_owned() });
    assert!(decides(&group, "unwanted"));
    let (mut group, ..) = warming(Mode::Exclusive);
    group.later(Duration::from_secs(300));
    assert!(decides(&group, "overdue"));
}

#[test]
fn rows_of_phases_decide() {
    for mode in [Mode::Exclusive, Mode::Routed] {
        assert!(decides(&said_ready(mode).0, "warm"), "{mode}");
    }
    let mut group = group(Mode::Routed);
    group.join_as("a", |consumer| consumer.capabilities.extend([Capability::Rest]));
    group.settle();
    let b = group.join("b");
    group.pass();
    group.say(&b, &at(), Some(&id(&group)), &Ack::Ready);
    assert!(decides(&group, "a record is in the works"));
    group.suspect(&b, DeathSign::Detached);
    assert!(decides(&group, "new owner suspected"));
    let (mut group, ..) = said_ready(Mode::Routed);
    group.pass();
    assert!(decides(&group, "frozen"));
    let (mut group, ..) = draining(Mode::Exclusive);
    let mut handoff = group.state.handoff(&at()).unwrap().clone();
    handoff.old_said = handoff.unit.iter().cloned().collect();
    group.put(&Key::Handoff(at()), encode(&HandoffRecord::Lead(Box::new(handoff))));
    assert!(decides(&group, "drained"));
    let (mut group, lead) = catching_up();
    group.crash("a");
    group.later(Duration::from_secs(30));
    assert!(decides_at(&group, &lead, "stuck without an old owner"));
    let mut group = complete();
    group.crash("a");
    assert!(decides(&group, "nobody left to release it"));
    group.crash("b");
    assert!(decides(&group, "an orphan"));
}

#[test]
fn rows_of_owners_that_never_stop_decide() {
    let (mut group, a, _) = asked_twice(Mode::Exclusive);
    group.later(Duration::from_secs(30));
    assert!(decides(&group, "never stops"));
    group.pass();
    assert!(group.drop_fenced(&a));
    assert!(decides(&group, "fence is over"));
}

#[test]
fn every_strict_row_decides_something() {
    // The tests above name a row each, and those of suspects; this holds the list against the table.
    let named =
        [include_str!("rows.rs"), include_str!("../suspects/ahead.rs"), include_str!("../suspects/dying.rs")]
            .concat();
    for row in STRICT {
        let name = format!("\"{}\")", row.name);
        assert!(named.contains(&name), "no test for {row:?}");
    }
}
