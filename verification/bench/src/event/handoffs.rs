//! Drives handoffs change by change, with a clock on each part of what follows from one.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_core::ack::{Ack, MemberAck, Verdict, judge};
use kafka_assigner_core::action::Action;
use kafka_assigner_core::record::{Handoff, Taken};
use kafka_assigner_core::state::Touched;
use kafka_assigner_core::test_group::TestGroup;
use kafka_assigner_core::view::ConsumerView;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::Txn;
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::MemberName;

use crate::stopwatch::{median, timed};

/// The number of handoffs that are driven: the most that a consumer causes which joins the smallest group is 90. The
/// first few only warm the caches up.
const HANDOFFS: usize = 80;

/// The cost of one change, the middle one of all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    /// Applying it to the state.
    pub(super) apply: Duration,
    /// Remembering it, finding what it drives on, and the next step of that.
    pub(super) advance: Duration,
    /// The views of those whom it touches, and what is new to them.
    pub(super) relay: Duration,
    /// The sum.
    pub(super) total: Duration,
}

/// The parts of what one change costs.
#[derive(Debug, Clone, Copy)]
struct Sample {
    apply: Duration,
    advance: Duration,
    relay: Duration,
}

/// A group with its members' streams.
#[derive(Debug)]
pub(super) struct Driver {
    group: TestGroup,
    members: BTreeMap<MemberName, Member>,
    known: BTreeMap<MemberName, ConsumerView>,
    samples: Vec<Sample>,
}

impl Driver {
    /// Takes a group over in which handoffs have begun; everybody was told so.
    pub(super) fn new(group: TestGroup) -> Self {
        let by_name = |member: Member| (member.name.clone(), member);
        let members: BTreeMap<MemberName, Member> = group.members().into_iter().map(by_name).collect();
        let known = members.iter().map(|(name, member)| (name.clone(), group.view(member))).collect();
        Self { group, members, known, samples: Vec::new() }
    }

    /// Drives handoffs to their end.
    ///
    /// # Panics
    /// Where a handoff does not go as handoffs go.
    pub(super) fn drive(mut self) -> Costs {
        let leads: Vec<TopicPartition> = self.group.state.handoffs().keys().take(HANDOFFS).cloned().collect();
        assert_eq!(leads.len(), HANDOFFS, "the group is large enough");
        for lead in leads {
            self.drive_one(&lead);
        }
        self.costs()
    }

    fn drive_one(&mut self, lead: &TopicPartition) {
        let Handoff { old, new, .. } = self.group.state.handoff(lead).expect("it has begun").clone();
        let complete = self.say(&new, lead, &Ack::Ready).pop().expect("what is ready is completed");
        self.happens(&complete.write.unfenced());
        self.say(&new, lead, &Ack::Taken(Taken::default()));
        self.say(&old, lead, &Ack::Released { last_at: None });
        assert!(self.group.state.handoff(lead).is_none(), "it is over");
    }

    fn say(&mut self, member: &Member, lead: &TopicPartition, ack: &Ack) -> Vec<Action> {
        let said = MemberAck { at: lead.clone(), handoff: None, ack: ack.clone() };
        let Verdict::Record { write, .. } = judge(&self.group.state, member, &said, WallMillis(0)) else {
            panic!("{ack:?} of {member} is due");
        };
        self.happens(&write.unfenced())
    }

    /// A change comes from the store: what it drives on.
    fn happens(&mut self, txn: &Txn) -> Vec<Action> {
        let changes = self.group.store.txn(txn).expect("nobody else writes");
        let revision = self.group.store.revision();
        let (touched, apply) = timed(|| self.group.state.apply(&changes, revision));
        let (actions, advance) = timed(|| self.look(&touched));
        let ((), relay) = timed(|| self.relay(&touched));
        self.samples.push(Sample { apply, advance, relay });
        actions
    }

    fn look(&mut self, touched: &Touched) -> Vec<Action> {
        let inputs = self.group.inputs();
        let TestGroup { leader, state, moment, .. } = &mut self.group;
        leader.observe(state, touched, *moment);
        leader.step(state, None, inputs).steps
    }

    fn relay(&mut self, touched: &Touched) {
        for (name, scope) in &touched.members {
            let known = self.known.get_mut(name).expect("everybody has a stream");
            std::hint::black_box(known.follow(&self.group.state, &self.members[name], scope));
        }
    }

    fn costs(&self) -> Costs {
        let samples = &self.samples[self.samples.len() / 10..];
        let middle = |part: fn(&Sample) -> Duration| median(samples.iter().map(part).collect());
        Costs {
            apply: middle(|sample| sample.apply),
            advance: middle(|sample| sample.advance),
            relay: middle(|sample| sample.relay),
            total: middle(|sample| sample.apply + sample.advance + sample.relay),
        }
    }
}
