//! Units whose owners die one after the other.

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::explain::explain;
use kafka_assigner_core::reason::DeferReason;
use kafka_assigner_core::record::{DeathSign, GroupConfig, Phase};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;

use super::ahead::{decides, phases};
use super::{ends, load, of_mode, reasons, wait};

/// `c0` owns the first partition of a set of one topic, whose owners were taken over twice; `next` may have it too.
fn twice_dead(config: &GroupConfig) -> (TestGroup, Member) {
    let mut group = TestGroup::default();
    group.topic_in_set("t", 1, "s");
    group.configure(config);
    let mut c0 = group.join("c0");
    group.settle();
    for death in 0..2 {
        group.join("next");
        die(&mut group, &c0);
        wait(&mut group, 1_000);
        assert_eq!(group.owner(&tp("t", 0)), Some("next"), "death {death}");
        group.crash("c0");
        c0 = group.join("c0");
        // The one that took over leaves in the ordinary way, and not so that it counts.
        group.crash("next");
        wait(&mut group, 50_000);
        group.settle();
        assert_eq!(group.owner(&tp("t", 0)), Some("c0"), "death {death}");
    }
    group.join("next");
    (group, c0)
}

/// The process of `c0` dies, and its session is ended.
fn die(group: &mut TestGroup, c0: &Member) {
    group.suspect(c0, DeathSign::Detached);
    group.pass();
    group.everybody_acts();
    assert_eq!(ends(&wait(group, 20_000)), ["c0"]);
}

fn owners_die(mode: Mode) -> TestGroup {
    let (mut group, c0) = twice_dead(&of_mode(mode));
    die(&mut group, &c0);
    wait(&mut group, 1_000);
    group
}

fn is_shown(group: &TestGroup) -> bool {
    reasons(group).contains(&DeferReason::OwnersDie { owner: "c0".parse().unwrap() })
}

#[test]
fn what_was_prepared_waits_where_owners_die_one_after_the_other() {
    for mode in Mode::ALL {
        let mut group = owners_die(mode);
        assert!(decides(&group, "its owners die"), "{mode}");
        assert_eq!((group.owner(&tp("t", 0)), phases(&group)), (Some("c0"), vec![Phase::Ready]), "{mode}");
        let causes = explain(&group.state, &tp("t", 0), Ok(&group.plan()));
        let is_told =
            causes.iter().any(|cause| cause.to_string().contains("its owners die one after the other"));
        assert!(is_told, "{mode}: {causes:?}");
        group.crash("c0");
        group.pass();
        assert_eq!(group.owner(&tp("t", 0)), Some("next"), "{mode}");
    }
}

#[test]
fn what_is_ready_for_a_session_that_ends_calls_for_no_plan() {
    let (mut group, c0) = twice_dead(&GroupConfig::default());
    group.suspect(&c0, DeathSign::Detached);
    group.pass();
    assert_eq!(ends(&wait(&mut group, 20_000)), ["c0"]);
    wait(&mut group, 1_000);
    let plans = |group: &TestGroup| {
        let pass = group.leader.clone().step(&group.state, Some(&group.leases), group.inputs());
        pass.plan.is_some()
    };
    assert!(!plans(&group), "nothing is to be planned");
    let next = group.members().into_iter().find(|member| member.name.as_str() == "next").unwrap();
    group.say(&next, &tp("t", 0), None, &Ack::Ready);
    assert_eq!(phases(&group), [Phase::Ready]);
    assert!(!plans(&group));
}

#[test]
fn who_waits_where_owners_die_and_is_gone_leaves_no_handoff_behind() {
    for mode in Mode::ALL {
        let mut group = owners_die(mode);
        group.crash("next");
        wait(&mut group, 500);
        assert_eq!(phases(&group), [], "{mode}");
        assert!(is_shown(&group), "{mode}: {:?}", reasons(&group));
        assert_eq!(group.owner(&tp("t", 0)), Some("c0"), "{mode}");
    }
}

#[test]
fn the_grace_of_a_session_that_was_ended_counts_from_its_mark() {
    let config = GroupConfig { rejoin_grace_ms: 20_000, ..GroupConfig::default() };
    let (mut group, c0) = twice_dead(&config);
    die(&mut group, &c0);
    wait(&mut group, 9_500);
    assert_eq!(load(&group, "c0"), 1);
    group.crash("c0");
    wait(&mut group, 500);
    assert_eq!(load(&group, "c0"), 0, "the grace was over before the session");
}

/// A topic came into the set after the deaths.
#[test]
fn what_moves_with_a_unit_whose_owners_die_waits_too() {
    for mode in Mode::ALL {
        let (mut group, c0) = twice_dead(&of_mode(mode));
        group.crash("next");
        group.topic_in_set("u", 1, "s");
        group.settle();
        group.join("next");
        let owner = |group: &TestGroup, topic| group.owner(&tp(topic, 0)).map(str::to_owned);
        assert_eq!(owner(&group, "u").as_deref(), Some("c0"), "{mode}");
        group.suspect(&c0, DeathSign::Detached);
        group.pass();
        // Nobody is warm, so that no handoff holds both.
        let next = group.members().into_iter().find(|member| member.name.as_str() == "next").unwrap();
        group.say(&next, &tp("t", 0), None, &Ack::WarmFailed { reason: "disk full".to_owned() });
        assert_eq!(ends(&wait(&mut group, 20_000)), ["c0"], "{mode}");
        wait(&mut group, 1_000);
        // In the strict modes another try begins before the claim is over.
        assert!(mode.is_strict() || phases(&group).is_empty(), "{mode}: whoever failed is passed over");
        assert_eq!(
            (owner(&group, "t"), owner(&group, "u")),
            (Some("c0".into()), Some("c0".into())),
            "{mode}"
        );
        group.crash("c0");
        wait(&mut group, 500);
        assert_eq!((owner(&group, "t"), owner(&group, "u")), (Some("next".into()), Some("next".into())));
    }
}
