//! Partitions that are placed as one: [`Sets`].

use kafka_assigner_strategies::{MemberIndex, Placement, Problem, Standbys, Strategy, Unassigned, UnitIndex};

use super::checked::Checked;
use super::claims::Owners;
use super::input::Member;
use super::layout::Layout;
use super::place::{Placed, by_member};
use super::reason::Reason;
use super::rules::{Rules, Share};
use super::{Refused, telling};

/// How often a strategy is asked, each time with lower limits, until every limit is as low as it can be. Where limits
/// matter, twice is common; each time takes as long as the first.
const ROUNDS: usize = 5;

/// A problem whose units are of several partitions, and the one of these partitions. The members of both are the same.
#[derive(Debug)]
pub(super) struct Sets<'a> {
    line: &'a Checked<'a>,
    layout: &'a Layout,
    units: Problem,
    partitions: Problem,
    /// By partition the unit that it belongs to.
    whole: Vec<UnitIndex>,
}

impl<'a> Sets<'a> {
    /// Places the units that `layout` makes of the `partitions` of a line, which `owners` own.
    ///
    /// # Errors
    /// [`Refused`], where the strategy can't be asked.
    pub(super) fn place(
        line: &'a Checked<'a>,
        layout: &'a Layout,
        owners: &Owners,
        partitions: Problem,
        strategy: &dyn Strategy,
    ) -> Result<Placed, Refused> {
        let mut rules = Rules::new(line, layout)?;
        let units = telling::problem(line, owners, layout, &rules)?;
        let whole = wholes(line, layout, &units, &partitions);
        let mut sets = Self { line, layout, units, partitions, whole };
        let mut placement = strategy.assign(&sets.units);
        for round in 2..=ROUNDS {
            if !rules.lower(line, layout, &sets.shares(&placement)) {
                break;
            }
            if round == ROUNDS {
                rules.lower_all(line, layout);
            }
            sets.units = telling::problem(line, owners, layout, &rules)?;
            placement = strategy.assign(&sets.units);
        }
        Ok(sets.split(&placement))
    }

    /// What each member gets, in the order of the line.
    fn shares(&self, placement: &Placement) -> Vec<Share> {
        let mut shares = vec![Share::default(); self.units.members().len()];
        let of_unit = placement.owner.iter().flatten();
        of_unit.for_each(|owner| shares[owner.index()].units += 1);
        let of_partition = self.whole.iter().filter_map(|unit| placement.owner[unit.index()]);
        of_partition.for_each(|owner| shares[owner.index()].partitions += 1);
        let named = |member: &Member| self.units.member_named(&member.id).expect("it was told of");
        self.line.input.members.iter().map(|member| shares[named(member).index()].clone()).collect()
    }

    /// What `placement` says of units, said of their partitions.
    fn split(self, placement: &Placement) -> Placed {
        let owner = self.whole.iter().map(|unit| placement.owner[unit.index()]).collect();
        let mut split = Placement::of(&self.partitions, owner);
        split.standbys = self.standbys(placement);
        let unassigned = std::mem::take(&mut split.unassigned).into_iter();
        let unassigned =
            unassigned.map(|(partition, _)| (partition, self.reason(placement, partition))).collect();
        let moves_lower_bound = self.moves_lower_bound(&split.owner);
        let (owned, standbys) = by_member(&self.partitions, &split);
        Placed { problem: self.partitions, placement: split, owned, standbys, unassigned, moves_lower_bound }
    }

    /// Of each unit's standbys as many as the partition's topic wants.
    fn standbys(&self, placement: &Placement) -> Standbys {
        let of_topic = self.partitions.topics().iter().flat_map(|topic| {
            let wanted = self.line.standbys[self.line.topics[&*topic.name]];
            (0..topic.partitions).map(move |_| wanted as usize)
        });
        Standbys::new(self.whole.iter().zip(of_topic).map(|(unit, wanted)| {
            let all = placement.standbys.of(*unit);
            &all[..all.len().min(wanted)]
        }))
    }

    /// Why nobody gets the partition: its unit's reason, in words that fit what the unit is.
    fn reason(&self, placement: &Placement, partition: UnitIndex) -> Reason {
        let unit = self.whole[partition.index()];
        let at = placement.unassigned.binary_search_by_key(&unit, |(unit, _)| *unit);
        let why = placement.unassigned[at.expect("a unit without an owner has a reason")].1;
        let topic = self.partitions.topic_of(partition).0;
        let set = self.layout.set_of[self.line.topics[&*self.partitions.topic(topic).name]];
        let of: fn(Unassigned) -> Reason =
            if self.layout.sets[set].len() > 1 { Reason::OfSet } else { Reason::OfPartition };
        of(why)
    }

    /// As [`Placement::moves_lower_bound`] of the partitions' problem, which does not know what their units may do: a
    /// partition must go if its owner may not own its unit.
    fn moves_lower_bound(&self, owner: &[Option<MemberIndex>]) -> usize {
        let mut counts = vec![Counts::default(); self.partitions.members().len()];
        for (partition, unit) in self.partitions.unit_indices().zip(&self.whole) {
            if let Some(had) = self.partitions.current(partition) {
                counts[had.index()].had += 1;
                counts[had.index()].lost += usize::from(!self.units.may_own(*unit, had));
            }
            owner[partition.index()].iter().for_each(|has| counts[has.index()].has += 1);
        }
        counts.iter().map(|count| count.had.saturating_sub(count.has).max(count.lost)).sum()
    }
}

/// A member's partitions.
#[derive(Debug, Clone, Default)]
struct Counts {
    /// That it owns today.
    had: usize,
    /// That it is to own.
    has: usize,
    /// That it owns today and may not.
    lost: usize,
}

/// By partition the unit that it belongs to.
fn wholes(line: &Checked<'_>, layout: &Layout, units: &Problem, partitions: &Problem) -> Vec<UnitIndex> {
    let mut wholes = Vec::with_capacity(partitions.units());
    for topic in partitions.topics() {
        let first = layout.sets[layout.set_of[line.topics[&*topic.name]]][0];
        let set =
            units.topic_named(&line.input.topics[first].0).expect("a set has the name of its first topic");
        wholes.extend(units.units_of(set).take(topic.partitions as usize));
    }
    wholes
}
