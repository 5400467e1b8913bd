//! `sticky`: even, and then as little change as possible.

use super::claims::Claims;
use super::reduction::{Counting, place};
use super::{Group, GroupAssignment, equal, mixed};
use crate::{MemberIndex, Placement, Problem, Strategy, UnitIndex};

/// Kafka's `StickyAssignor`: members end up as even as subscriptions allow and keep what they own
/// as far as that goes. Claims of older generations give way to newer ones, and where two of one
/// generation claim a partition neither has it.
///
/// A group whose members all subscribe to the same topics comes out within one of even, with the
/// fewest moves. If they do not, no single move makes it more even.
pub fn sticky(group: &Group) -> GroupAssignment {
    settle(group, group.racks_matter())
}

fn settle(group: &Group, by_rack: bool) -> GroupAssignment {
    settle_claims(group, &Claims::of(group), by_rack)
}

pub(super) fn settle_claims(group: &Group, claims: &Claims, by_rack: bool) -> GroupAssignment {
    match group.all_subscribe_alike() {
        true => equal::assign(group, claims, by_rack),
        false => mixed::assign(group, claims, by_rack),
    }
}

/// [`sticky`], but racks move something only if more units come near their owners by it. Kafka's
/// rule may go on reshuffling a group that does not change; this comes to an end, as their number
/// rises each time.
pub(super) fn steady(group: &Group) -> GroupAssignment {
    let mut kept = settle(group, false);
    if group.racks_matter() {
        loop {
            let nearer = settle(&group.after(&kept), true);
            if nearby(group, &nearer) <= nearby(group, &kept) {
                break;
            }
            kept = nearer;
        }
    }
    kept
}

/// The number of units that have a replica in their owner's rack.
fn nearby(group: &Group, assignment: &GroupAssignment) -> usize {
    let of_member = |member: MemberIndex| {
        let rack = group.racks.of_member(member);
        let is_near =
            |unit: &&UnitIndex| rack.is_some_and(|rack| group.racks.of_unit(**unit).contains(&rack));
        assignment.of(member).iter().filter(is_near).count()
    };
    group.member_indices().map(of_member).sum()
}

/// [`sticky`] as a strategy; how it treats what Kafka does not know, [the module](super) says. Racks
/// move something only if more units come near their owners by it. With racks or limits a second run
/// may still move a few units; without both it moves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sticky;

impl Strategy for Sticky {
    fn name(&self) -> &'static str {
        "sticky"
    }

    fn summary(&self) -> &'static str {
        "Kafka's sticky rule: even, then as few moves as that takes"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        place(problem, Counting::Counted, steady)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemberSpec, ReplicaRacks};

    #[test]
    fn racks_move_what_comes_near_its_owner_by_it() {
        let mut builder = Problem::builder();
        let topic = builder.topic("t", 2);
        builder.replica_racks(topic, &ReplicaRacks::new([["a"], ["b"]]));
        for (partition, name) in (0..).zip(["a", "b"]) {
            let rack = builder.rack(&name.into());
            let member = builder.member(MemberSpec { rack: Some(rack), ..MemberSpec::new(name) });
            builder.current(topic, 1 - partition, member);
        }
        let placement = Sticky.assign(&builder.build().unwrap());
        assert_eq!(placement.owner, [0, 1].map(|member| Some(MemberIndex::new(member))));
    }

    /// Kafka's rule goes back and forth here for ever.
    #[test]
    fn racks_do_not_reshuffle_what_did_not_change() {
        let problem = |owners: &[Option<MemberIndex>]| {
            let mut builder = Problem::builder();
            let [a, b] = ["a", "b"].map(|name| builder.rack(&name.into()));
            let (t0, t1) = (builder.topic("t0", 1), builder.topic("t1", 3));
            builder.replica_racks(t0, &ReplicaRacks::new([["a"]]));
            builder.replica_racks(t1, &ReplicaRacks::new([["b"], ["c"], ["b"]]));
            let only_t1 = builder.subscription(["t1"]);
            let members =
                [("m0", Some(a)), ("m1", Some(a)), ("m2", None), ("m3", Some(b))].map(|(id, rack)| {
                    let plain = MemberSpec { rack, ..MemberSpec::new(id) };
                    let narrow = MemberSpec { subscription: only_t1.clone(), ..plain.clone() };
                    builder.member(if id < "m2" { narrow } else { plain })
                });
            for (owner, (topic, partition)) in owners.iter().zip([(t0, 0), (t1, 0), (t1, 1), (t1, 2)]) {
                owner.iter().for_each(|owner| builder.current(topic, partition, members[owner.index()]));
            }
            builder.build().unwrap()
        };
        let owners = [3, 2, 1, 1].map(|member| Some(MemberIndex::new(member)));
        let first = Sticky.assign(&problem(&owners));
        let next = problem(&first.owner);
        assert_eq!(Sticky.assign(&next).changes(&next).count(), 0);
    }
}
