//! Heartbeats, and the claim that they confirm.

use proptest::prelude::*;

use super::*;

#[test]
fn the_claim_of_a_new_session_counts_from_the_sending_of_register() {
    let mut rig = Rig::new();
    rig.now = rig.now + Duration::from_secs(3);
    rig.snapshot();
    assert_eq!(rig.claim, Some(Moment(TTL * 2 / 3)));
    assert_eq!(rig.roles, [GrantChange::All(Vec::new())]);
}

#[test]
fn heartbeats_are_a_third_of_the_ttl_apart_and_extend_from_their_sending() {
    let mut rig = Rig::live();
    rig.wait_for_heartbeat();
    assert_eq!(rig.now, Moment(TTL / 3));
    rig.now = rig.now + Duration::from_secs(2);
    rig.answer(HeartbeatOutcome::Confirmed, 0);
    assert_eq!(rig.claim, Some(Moment(TTL)));
    rig.wait_for_heartbeat();
    assert_eq!(rig.now, Moment(TTL * 2 / 3));
}

/// The next heartbeat is due, and is confirmed with these fences.
fn confirmed_but_for(rig: &mut Rig, fenced: &[FencedPartition]) {
    let number = rig.wait_for_heartbeat();
    rig.heartbeat = None;
    let mut response =
        HeartbeatResponse { fenced_partitions: fenced.to_vec(), ..HeartbeatResponse::default() };
    response.set_outcome(HeartbeatOutcome::Confirmed);
    rig.step(Event::HeartbeatAnswered { number, response });
}

#[test]
fn what_is_fenced_is_told_before_the_claim_of_the_rest_is_extended() {
    let mut rig = Rig::live();
    let fenced = FencedPartition { topic: "t".to_owned(), partition: 3, epoch: 7 };
    confirmed_but_for(&mut rig, &[]);
    assert_eq!(rig.fences, [], "nobody is fenced");
    let before = rig.claim;
    confirmed_but_for(&mut rig, std::slice::from_ref(&fenced));
    assert_eq!(rig.fences, [(vec![fenced], before)]);
    assert!(rig.claim > before && rig.losses.is_empty());
    confirmed_but_for(&mut rig, &[]);
    assert_eq!(rig.fences.last().map(|(fenced, _)| fenced.len()), Some(0), "the service has heard the word");
    confirmed_but_for(&mut rig, &[]);
    assert_eq!(rig.fences.len(), 2);
}

// The store is away for five minutes, then for longer than the grace.
#[test]
fn an_answered_outage_keeps_the_claim_for_the_grace() {
    let mut rig = Rig::live();
    let five_minutes = Moment(Duration::from_secs(300));
    while rig.now < five_minutes {
        rig.wait_for_heartbeat();
        assert!(rig.claim > Some(rig.now), "lapsed at {:?}", rig.now);
        rig.answer(HeartbeatOutcome::StoreUnavailable, 0);
    }
    while rig.claim > Some(rig.now) {
        rig.wait_for_heartbeat();
        rig.answer(HeartbeatOutcome::StoreUnavailable, 0);
    }
    assert_eq!(rig.claim, Some(Moment(Duration::from_secs(600))));
    assert_eq!(rig.strict_claim, Some(Moment(TTL * 2 / 3)));
    assert_eq!(rig.losses, []);
}

#[test]
fn silence_lets_the_claim_lapse_and_a_confirmation_brings_it_back() {
    let mut rig = Rig::live();
    while rig.now < Moment(TTL) {
        let number = rig.wait_for_heartbeat();
        rig.heartbeat = None;
        rig.step(Event::HeartbeatFailed { number });
    }
    assert!(rig.claim < Some(rig.now));
    assert_eq!(rig.losses, []);
    rig.wait_for_heartbeat();
    rig.answer(HeartbeatOutcome::Confirmed, 0);
    assert!(rig.claim > Some(rig.now));
}

#[test]
fn a_failed_heartbeat_is_repeated_elsewhere_well_within_the_claim() {
    let mut rig = Rig::live();
    let number = rig.wait_for_heartbeat();
    let first = rig.heartbeat.take().expect("sent").endpoint;
    rig.step(Event::HeartbeatFailed { number });
    rig.wait_for_heartbeat();
    assert_ne!(rig.heartbeat.as_ref().expect("sent").endpoint, first);
    assert!(rig.now < Moment(TTL / 3 + Duration::from_secs(1)));
}

/// The wait for an answer, and the waits between attempts, follow the time to live.
#[test]
fn three_attempts_fit_in_before_the_claim_lapses() {
    for ttl in [2_500, 6_000, 10_000, 30_000, 120_000].map(Duration::from_millis) {
        let mut rig = Rig::new();
        rig.ttl = ttl;
        rig.snapshot();
        for _ in 0..3 {
            let number = rig.wait_for_heartbeat();
            rig.now = rig.now + rig.heartbeat.take().expect("sent").bound;
            rig.step(Event::HeartbeatFailed { number });
        }
        assert!(Some(rig.now) < rig.claim, "{:?} for {ttl:?}", rig.now);
    }
}

/// The next act of the service or the network.
#[derive(Debug, Clone)]
enum Random {
    Snapshot,
    Fenced,
    Break,
    Confirm,
    Outage,
    Fail,
    Wait(u64),
    Revision(u64),
}

fn random() -> impl Strategy<Value = Random> {
    prop_oneof![
        4 => Just(Random::Snapshot),
        1 => Just(Random::Fenced),
        3 => Just(Random::Break),
        4 => Just(Random::Confirm),
        2 => Just(Random::Outage),
        2 => Just(Random::Fail),
        8 => (1..15_000_u64).prop_map(Random::Wait),
        2 => (0..5_u64).prop_map(Random::Revision),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_claim_outlives_its_bound_and_the_session_always_comes_back(
        history in prop::collection::vec(random(), 1..80)
    ) {
        let mut rig = Rig::new();
        let mut last_confirmed = None;
        let mut revision = 10;
        for step in history {
            match step {
                Random::Snapshot if rig.opened.is_some() => {
                    let open = rig.opened.clone().expect("open");
                    prop_assert!(open.seen.revision <= revision);
                    rig.revision = revision;
                    rig.snapshot();
                    if open.resume_lease == LeaseId::NONE && rig.session.incarnation().is_some() {
                        last_confirmed = Some(rig.now);
                    }
                }
                Random::Fenced if rig.opened.is_some() => rig.fenced(FenceReason::Expired),
                Random::Break if rig.opened.is_some() => rig.break_stream(Status::unavailable("")),
                Random::Confirm if rig.heartbeat.is_some() => {
                    last_confirmed = Some(rig.now);
                    rig.answer(HeartbeatOutcome::Confirmed, 0);
                }
                Random::Outage if rig.heartbeat.is_some() => rig.answer(HeartbeatOutcome::StoreUnavailable, 0),
                Random::Fail if rig.heartbeat.is_some() => {
                    let number = rig.heartbeat.take().expect("sent").number;
                    rig.step(Event::HeartbeatFailed { number });
                }
                Random::Wait(ms) => rig.wait(Duration::from_millis(ms)),
                Random::Revision(more) => revision += more,
                _ => {}
            }
            // Sent at the latest when it was answered, and never more than the grace beyond that.
            if let (Some(until), Some(strict)) = (rig.claim, rig.strict_claim) {
                let confirmed = last_confirmed.expect("a claim needs a confirmation");
                prop_assert!(strict <= confirmed + TTL * 2 / 3 && strict <= until);
                prop_assert!(until <= confirmed + Duration::from_secs(600));
                prop_assert!(rig.session.incarnation().is_some());
            }
        }
        rig.revision = revision;
        rig.wait_for_stream();
        rig.snapshot();
        prop_assert!(rig.session.incarnation().is_some());
    }
}
