//! A group that is kept as a [`Problem`] from one event to the next, as a broker keeps what its assignor is given.

use std::time::Duration;

use kafka_assigner_strategies::{MemberIndex, Placement, Problem, ProblemMember, Strategy};

use super::lots::Lots;
use super::problem::Asked;
use crate::event::Event;
use crate::input::Input;
use crate::stopwatch;

/// The problem before an event, and the event.
#[derive(Debug)]
pub(crate) struct Kept {
    strategy: &'static dyn Strategy,
    before: Problem,
    change: Change,
}

#[derive(Debug)]
enum Change {
    Nothing,
    Joins(ProblemMember),
    Leaves(MemberIndex),
}

impl Kept {
    /// Members own what `strategy` gave those before the event.
    pub(super) fn of(strategy: &'static dyn Strategy, before: &Input, after: &Input, event: Event) -> Self {
        let known = Asked::of(if event == Event::Fresh { after } else { before }).problem();
        let settled = |known: Problem| {
            let placement = strategy.assign(&known);
            known.after(placement)
        };
        let change = match event {
            Event::Fresh | Event::Unchanged => Change::Nothing,
            Event::Join => Change::Joins(missing(&Asked::of(after).problem(), &known).clone()),
            Event::Leave => {
                let gone = missing(&known, &Asked::of(after).problem());
                Change::Leaves(known.member_named(&gone.id).expect("it is one of them"))
            }
        };
        Self { strategy, before: if event == Event::Fresh { known } else { settled(known) }, change }
    }

    /// The median time to decide about the event and to write the answer: from the group before it to the names of the
    /// partitions of each member for which anything changed. Nothing is freed that what comes next starts from.
    pub(crate) fn median(&self, input: &Input) -> Duration {
        stopwatch::median_from(|| self.before.clone(), |before| self.solve(before, input))
    }

    /// Keeps what comes next starts from, so that nothing of it is freed as long as the clock runs.
    fn solve<'a>(&self, before: Problem, input: &'a Input) -> (Problem, Placement, Lots<'a>) {
        let problem = match &self.change {
            Change::Nothing => before,
            Change::Joins(member) => before.with(member.clone()).expect("it is not there yet"),
            Change::Leaves(member) => before.without(*member),
        };
        let placement = self.strategy.assign(&problem);
        let lots = Lots::of(input, &problem, &placement);
        (problem, placement, lots)
    }
}

/// The member of `more` that is not in `less`.
fn missing<'a>(more: &'a Problem, less: &Problem) -> &'a ProblemMember {
    let mut members = more.members().iter();
    members.find(|member| less.member_named(&member.id).is_none()).expect("one member makes the difference")
}

#[cfg(test)]
mod tests {
    use kafka_assigner_strategies::Balanced;

    use super::super::problem::named;
    use super::*;
    use crate::count::Moves;
    use crate::digest::Digest;
    use crate::shape::{Shape, Subscriptions};

    #[test]
    fn a_kept_group_comes_to_what_the_same_comes_to_in_names() {
        for subscriptions in [Subscriptions::All, Subscriptions::MixedA, Subscriptions::MixedC] {
            let shape = Shape { members: 7, partitions: 60, topics: 6, subscriptions, racks: true };
            for event in Event::ALL {
                let before = Input::new(&shape, &event.before(7));
                let mut after = Input::new(&shape, &event.after(7));
                if event != Event::Fresh {
                    after.own(&Asked::of(&before).answer(&Balanced).shares(&before));
                }
                let kept = Kept::of(&Balanced, &before, &after, event);
                let (problem, placement, lots) = kept.solve(kept.before.clone(), &after);
                let kept = lots.shares(&after);
                let solved = Asked::of(&after).answer(&Balanced).shares(&after);
                // Each partition by itself, and not what changes only.
                let named = named(&after, &problem, &placement);
                for told in [solved, named] {
                    assert_eq!(Digest::of(&kept), Digest::of(&told), "{subscriptions}, {event}");
                    assert_eq!(Moves::between(&after, &kept), Moves::between(&after, &told));
                }
            }
        }
    }
}
