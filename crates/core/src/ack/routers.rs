//! Acks of routers: the last required one brings a freeze into its next phase. Where two last ones cross, the leader
//! does. The word of a router that a freeze was not to wait for counts as long as requests are held back: it shows that the
//! next one may wait for it.

use super::{AckSubject, MemberAck, Verdict, recorded, refused};
use crate::draft::Draft;
use crate::key::Key;
use crate::record::{Handoff, Phase, RouterAck, encode};
use crate::state::{Entry, GroupState};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::LeaseId;

pub(super) fn subject<'s>(
    state: &GroupState,
    router: &Member,
    handoff: Option<&'s Handoff>,
    ack: &MemberAck,
) -> Result<AckSubject<'s>, Verdict> {
    let handoff = handoff.ok_or(Verdict::Over)?;
    if ack.handoff.is_none() {
        return Err(refused("a router has to name the handoff by its id"));
    }
    let Some(registration) = state.routers().get(&router.name).and_then(Entry::readable) else {
        return Err(refused("the router's session is over, or its registration can't be read"));
    };
    if registration.incarnation != router.incarnation {
        return Err(refused("another session registered under the router's name"));
    }
    let has_said = || state.has_said(handoff, &ack.at, &router.name, &router.incarnation);
    let is_left_out = || handoff.without.contains(&router.name);
    match handoff.phase {
        phase if phase.holds_requests() && has_said() => Err(Verdict::Already),
        Phase::Freezing => Ok(AckSubject::Freeze(handoff, registration.lease)),
        phase if phase.holds_requests() && is_left_out() => {
            Ok(AckSubject::Freeze(handoff, registration.lease))
        }
        Phase::Draining | Phase::CatchingUp | Phase::Complete => Err(Verdict::Already),
        Phase::Cancelled => Err(Verdict::Over),
        phase => Err(refused(&format!("handoff {} is {phase}: it is too early for this", handoff.id))),
    }
}

pub(super) fn record(
    state: &GroupState,
    (router, lease): (&Member, LeaseId),
    handoff: &Handoff,
    acks: &[&MemberAck],
) -> Verdict {
    let partitions: Vec<&TopicPartition> = acks.iter().map(|ack| &ack.at).collect();
    let draft = Draft::on(state).routing(&router.name, lease);
    let is_last = handoff.phase == Phase::Freezing && state.lacks_only(handoff, &router.name, &partitions);
    let mut draft = match is_last {
        true => draft.rewrite(&handoff.in_phase(Phase::Draining)),
        false => draft.unchanged(&Key::Handoff(handoff.lead().clone())),
    };
    let value = encode(&RouterAck::new(handoff.id.clone(), router.incarnation.clone()));
    for at in partitions {
        draft.put(&Key::RouterAck(at.clone(), router.name.clone()), value.clone());
    }
    recorded(draft.into_write(), handoff)
}
