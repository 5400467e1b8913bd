//! The state that the scripted instance shows: a group in the middle of a deploy.

use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use kafka_assigner_proto::v1::watch_event::Event;
use kafka_assigner_proto::v1::{
    Consumer, ConsumerLoad, ConsumerState, FailingRecord, GroupConfig, GroupSummary, Handoff, HandoffEnded,
    Leader, Mode, PartitionAssignment, Phase, PlannedDeferral, PlannedMove, PlannedStep, Renewal, Standstill,
    Topic, TopicSource, WarmProgress, WatchEvent,
};

/// Since when everything is as it is: so long ago that a test run does not change the age, which is told in days.
pub(crate) static SINCE: LazyLock<i64> = LazyLock::new(|| {
    let ago = UNIX_EPOCH.elapsed().expect("after 1970") - Duration::from_secs(3 * 86_400 + 43_200);
    i64::try_from(ago.as_millis()).expect("fits for long")
});

/// All answers; the default one knows no group.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) groups: Vec<GroupSummary>,
    pub(crate) config: GroupConfig,
    pub(crate) leader: Option<Leader>,
    pub(crate) topics: Vec<Topic>,
    pub(crate) consumers: Vec<Consumer>,
    pub(crate) assignments: Vec<PartitionAssignment>,
    pub(crate) handoffs: Vec<Handoff>,
    pub(crate) moves: Vec<PlannedMove>,
    pub(crate) deferred: Vec<PlannedDeferral>,
    pub(crate) loads: Vec<ConsumerLoad>,
    pub(crate) events: Vec<WatchEvent>,
}

/// The group `orders`, to which the consumer cache-c has just been added, and the idle group `billing`.
pub(crate) fn orders() -> Script {
    Script {
        groups: groups(),
        config: config(),
        leader: Some(leader()),
        topics: topics(),
        consumers: consumers(),
        assignments: assignments(),
        handoffs: vec![handoff()],
        moves: moves(),
        deferred: deferred(),
        loads: loads(),
        events: events(),
    }
}

fn groups() -> Vec<GroupSummary> {
    let billing = GroupSummary {
        group: "billing".into(),
        strategy: "jump-hash".into(),
        topics: 1,
        partitions: 12,
        unowned: 12,
        ..GroupSummary::default()
    };
    let orders = GroupSummary {
        group: "orders".into(),
        strategy: "sticky-balanced".into(),
        consumers: 3,
        topics: 2,
        partitions: 5,
        unowned: 1,
        handoffs: 1,
    };
    vec![billing, orders]
}

fn config() -> GroupConfig {
    GroupConfig {
        strategy: Some("sticky-balanced".into()),
        mode: Some("overlap".into()),
        session_timeout_ms: Some(30_000),
        max_session_timeout_ms: Some(300_000),
        debounce_ms: Some(100),
        warm_deadline_ms: Some(300_000),
        phase_deadline_ms: Some(30_000),
        drain_deadline_ms: Some(300_000),
        hold_deadline_ms: Some(10_000),
        takeover_after_ms: Some(3_000),
        max_moves_in_flight: Some(1_000),
        max_warming: Some(64),
        rejoin_grace_ms: Some(0),
        catch_up: Some(false),
        wait_out_revocations: Some(false),
        spread_topics: Some("ties".into()),
    }
}

fn leader() -> Leader {
    Leader { instance: "assigner-1".into(), endpoint: "http://10.0.0.1:7420".into(), term: 97 }
}

fn topics() -> Vec<Topic> {
    let topic = |name: &str, partitions, source: TopicSource| Topic {
        topic: name.into(),
        partitions,
        source: source.into(),
        ..Topic::default()
    };
    vec![topic("orders", 4, TopicSource::Kafka), topic("refunds", 1, TopicSource::Operator)]
}

fn consumers() -> Vec<Consumer> {
    let consumer = |name: &str, state: ConsumerState, owned, warming| Consumer {
        name: name.into(),
        incarnation: format!("{name}-7f3a"),
        state: state.into(),
        owned,
        warming,
        session_timeout_ms: 30_000,
        renewal: Renewal::Client.into(),
        since_unix_ms: *SINCE,
        client: "kafka-assigner-client/0.1.0".into(),
        instance: "assigner-1".into(),
        ..Consumer::default()
    };
    vec![
        Consumer { stopped: 1, ..consumer("cache-a", ConsumerState::Active, 2, 0) },
        Consumer { failing: 1, ..consumer("cache-b", ConsumerState::Draining, 2, 0) },
        consumer("cache-c", ConsumerState::Active, 0, 1),
    ]
}

fn assignments() -> Vec<PartitionAssignment> {
    let owned = |partition, owner: &str, epoch| PartitionAssignment {
        topic: "orders".into(),
        partition,
        owner: owner.into(),
        incarnation: format!("{owner}-7f3a"),
        epoch,
        since_unix_ms: *SINCE,
        why: "it had no owner".into(),
        ..PartitionAssignment::default()
    };
    let unowned = PartitionAssignment {
        topic: "refunds".into(),
        why: "nobody may have it: no consumer reads refunds".into(),
        ..PartitionAssignment::default()
    };
    vec![
        owned(0, "cache-a", 1),
        owned(1, "cache-b", 1),
        PartitionAssignment { stopped: Some(standstill()), ..owned(2, "cache-a", 3) },
        PartitionAssignment { failing: Some(failing_record()), ..owned(3, "cache-b", 1) },
        unowned,
    ]
}

fn standstill() -> Standstill {
    Standstill {
        offset: 1_842,
        reason: "the amount is no number".into(),
        consumer: "cache-a".into(),
        earlier_consumer: "cache-b".into(),
        since_unix_ms: *SINCE,
        is_of_drain: false,
    }
}

fn failing_record() -> FailingRecord {
    FailingRecord { offset: 977, reason: "no connection to the database".into(), since_unix_ms: *SINCE }
}

fn handoff() -> Handoff {
    let progress = WarmProgress {
        topic: "orders".into(),
        partition: 1,
        done: 1_200,
        total: Some(5_000),
        left_ms: Some(190_000),
        ..Default::default()
    };
    Handoff {
        topic: "orders".into(),
        partition: 1,
        handoff_id: "h-41".into(),
        old_owner: "cache-b".into(),
        new_owner: "cache-c".into(),
        phase: Phase::Warming.into(),
        since_unix_ms: *SINCE,
        phase_age_ms: Some(51_000),
        deadline_ms: Some(284_000),
        progress: Some(progress),
        waiting_for: "cache-c to say that it is ready".into(),
        why: "sticky-balanced: cache-b drains".into(),
        mode: Mode::Overlap.into(),
        ..Handoff::default()
    }
}

fn moves() -> Vec<PlannedMove> {
    vec![PlannedMove {
        topic: "orders".into(),
        partition: 3,
        from: "cache-b".into(),
        to: "cache-c".into(),
        step: PlannedStep::Handoff.into(),
        why: "sticky-balanced: cache-b drains".into(),
    }]
}

fn deferred() -> Vec<PlannedDeferral> {
    vec![PlannedDeferral {
        topic: "refunds".into(),
        partition: 0,
        to: String::new(),
        reason: "nobody_may".into(),
        why: "nobody may have it: no consumer reads refunds".into(),
    }]
}

fn loads() -> Vec<ConsumerLoad> {
    let load = |name: &str, before, after| ConsumerLoad { consumer: name.into(), before, after };
    vec![load("cache-a", 2, 2), load("cache-b", 2, 0), load("cache-c", 0, 2)]
}

fn events() -> Vec<WatchEvent> {
    // The first one at 03:12:00, the others by a second for each revision later.
    let at = |revision: u64| (1_790_046_720 + i64::try_from(revision).expect("small") - 210) * 1_000;
    let event = |revision, event| WatchEvent { revision, event: Some(event), at_unix_ms: at(revision) };
    // The age and the deadline of a phase are not told by events.
    let warming = Handoff { phase_age_ms: None, deadline_ms: None, ..handoff() };
    let ready = Handoff {
        phase: Phase::Ready.into(),
        progress: None,
        waiting_for: "the leader".into(),
        ..warming.clone()
    };
    let moved = PartitionAssignment { owner: "cache-c".into(), epoch: 2, ..assignments().swap_remove(1) };
    let ended = HandoffEnded {
        topic: "orders".into(),
        partition: 1,
        handoff_id: "h-41".into(),
        old_owner: "cache-b".into(),
        new_owner: "cache-c".into(),
        moved: true,
        why: "sticky-balanced: cache-b drains".into(),
        gap_ms: Some(12),
    };
    vec![
        event(210, Event::Group(groups().swap_remove(1))),
        event(210, Event::Consumer(consumers().swap_remove(2))),
        event(210, Event::Handoff(warming)),
        event(214, Event::Handoff(ready)),
        event(215, Event::Assignment(PartitionAssignment { why: "handed over by cache-b".into(), ..moved })),
        event(219, Event::HandoffEnded(ended)),
        event(220, Event::ConsumerGone("cache-b".into())),
        event(221, Event::Leader(Leader::default())),
        WatchEvent { revision: 222, event: None, at_unix_ms: at(222) },
        event(223, Event::TopicGone("refunds".into())),
    ]
}
