//! How many units consumers with a limit may have, where units differ in their number of partitions: [`Limits`].

use std::collections::BTreeMap;

use kafka_assigner_strategies::{MemberIndex, Placement, Problem, Strategy, Unassigned, UnitIndex};

use crate::name::MemberName;

/// How often more room is given, at most, while units are left over: each time the strategy is asked once or twice more.
const ROUNDS: usize = 4;

/// The limits of those consumers that name one. Empty where all units are of one size: then strategies, which count
/// units, heed them by themselves.
#[derive(Debug, Default)]
pub(super) struct Limits(BTreeMap<MemberName, Limit>);

/// How many partitions a consumer takes at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) partitions: u32,
    /// How many the largest unit has that it takes.
    pub(super) largest_unit: u32,
}

impl Limit {
    /// As many units as fit whichever they are.
    pub(super) const fn in_units(self) -> u32 {
        self.partitions / self.largest_unit
    }

    /// What one has who is within the limit, or as many units as fit whichever they are.
    fn kept(self, has: Share) -> u32 {
        if has.partitions <= self.partitions { has.units.max(self.in_units()) } else { self.in_units() }
    }

    /// What one has, and as many units of that `size` as fit beside it.
    fn filled(self, has: Share, size: u32) -> u32 {
        let rest = self.partitions.saturating_sub(has.partitions) / size.min(self.largest_unit);
        (has.units + rest).max(self.in_units())
    }
}

/// What a consumer has, or is to have.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    units: u32,
    partitions: u32,
}

impl Limits {
    pub(super) fn note(&mut self, consumer: &MemberName, limit: Limit) {
        self.0.insert(consumer.clone(), limit);
    }

    /// Asks `strategy` so that nobody gets more partitions than it takes; `sizes` says by unit how many it has.
    ///
    /// Whoever has more units than fit whichever they are, but is within its limit, may keep as many. While units are left
    /// over for want of room, those who have room may have more, as long as nobody ends up above its limit.
    pub(super) fn place(
        &self,
        problem: Problem,
        strategy: &dyn Strategy,
        sizes: &[u32],
    ) -> (Problem, Placement) {
        if self.0.is_empty() {
            let placement = strategy.assign(&problem);
            return (problem, placement);
        }
        let asker = Asker { limits: self.by_member(&problem), held: held(&problem, sizes), strategy, sizes };
        let mut answer = asker.first(problem);
        for _ in 0..ROUNDS {
            let Some(better) = asker.with_more_room(&answer) else { break };
            answer = better;
        }
        (answer.problem, answer.placement)
    }

    fn by_member(&self, problem: &Problem) -> Vec<(MemberIndex, Limit)> {
        let known =
            |(name, limit): (&MemberName, &Limit)| Some((problem.member_named(name.as_str())?, *limit));
        self.0.iter().filter_map(known).collect()
    }
}

struct Asker<'a> {
    limits: Vec<(MemberIndex, Limit)>,
    /// What members have today, or are on the way to have.
    held: Vec<Share>,
    strategy: &'a dyn Strategy,
    sizes: &'a [u32],
}

struct Answer {
    problem: Problem,
    placement: Placement,
    shares: Vec<Share>,
}

impl Asker<'_> {
    /// The answer if everybody may keep what is within its limit, or if that leads above it, whatever it has.
    fn first(&self, problem: Problem) -> Answer {
        let answer = self.ask(self.limited(problem, &self.held, Limit::kept));
        if !self.exceeds(&answer) {
            return answer;
        }
        self.ask(self.limited(answer.problem, &self.held, |limit, _| limit.in_units()))
    }

    /// The answer with room for as many of the smallest units that are left over as fit, or else of the largest; nothing
    /// if none is left over, nobody has room, or somebody would be above its limit.
    fn with_more_room(&self, answer: &Answer) -> Option<Answer> {
        let left_over = answer.placement.unassigned.iter().filter(|(_, why)| *why == Unassigned::AllFull);
        let smallest = left_over.map(|(unit, _)| self.sizes[unit.index()]).min()?;
        [smallest, u32::MAX].into_iter().find_map(|size| {
            let filled = |limit: Limit, has| limit.filled(has, size);
            let problem = self.limited(answer.problem.clone(), &answer.shares, filled);
            if problem == answer.problem {
                return None;
            }
            Some(self.ask(problem)).filter(|answer| !self.exceeds(answer))
        })
    }

    /// The problem in which each limit in units is what `most` makes of the one in partitions, and of what its consumer has.
    fn limited(&self, problem: Problem, shares: &[Share], most: impl Fn(Limit, Share) -> u32) -> Problem {
        self.limits.iter().fold(problem, |problem, (member, limit)| {
            problem.limited(*member, Some(most(*limit, shares[member.index()])))
        })
    }

    fn ask(&self, problem: Problem) -> Answer {
        let placement = self.strategy.assign(&problem);
        let shares = shares(&problem, self.sizes, |unit| placement.owner[unit.index()]);
        Answer { problem, placement, shares }
    }

    /// Whether anybody gets more partitions than it takes, and than it has.
    fn exceeds(&self, answer: &Answer) -> bool {
        self.limits.iter().any(|(member, limit)| {
            let [has, had] = [&answer.shares, &self.held].map(|shares| shares[member.index()].partitions);
            has > limit.partitions.max(had)
        })
    }
}

fn held(problem: &Problem, sizes: &[u32]) -> Vec<Share> {
    shares(problem, sizes, |unit| problem.fixed(unit).or(problem.current(unit)))
}

fn shares(problem: &Problem, sizes: &[u32], owner: impl Fn(UnitIndex) -> Option<MemberIndex>) -> Vec<Share> {
    let mut shares = vec![Share::default(); problem.members().len()];
    for (unit, size) in problem.unit_indices().zip(sizes) {
        if let Some(owner) = owner(unit) {
            let share = &mut shares[owner.index()];
            share.units += 1;
            share.partitions += size;
        }
    }
    shares
}
