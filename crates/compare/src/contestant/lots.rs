//! What a placement changes, in names: who is left alone keeps the list it had, as with Kafka's class.

use std::ops::Range;
use std::sync::Arc;

use kafka_assigner_strategies::{MemberIndex, Placement, Problem, UnitIndex};

use crate::input::Input;
use crate::output::Partition;

/// Who gets what, in names.
#[derive(Debug)]
pub(super) struct Lots<'a> {
    /// By member.
    lots: Vec<Lot<'a>>,
    /// What members gain, member after member.
    gained: Vec<Partition<'a>>,
}

#[derive(Debug)]
enum Lot<'a> {
    /// What it had.
    Same,
    /// These of all that is gained; it had nothing before.
    First(Range<usize>),
    /// Some of what it had, and what it gained.
    Changed(Vec<Partition<'a>>),
}

impl<'a> Lots<'a> {
    /// What `placement` makes of what members own by `input`, who are numbered as there.
    pub(super) fn of(input: &'a Input, problem: &Problem, placement: &Placement) -> Self {
        let members = problem.members().len();
        let (mut gains, mut losses) = (Sections::new(members), Sections::new(members));
        for (_, from, to) in placement.changes(problem) {
            gains.count(to);
            losses.count(from);
        }
        let blank = (&input.topics[0].name, 0);
        let (mut gained, mut lost) = (vec![blank; gains.lay_out()], vec![blank; losses.lay_out()]);
        let mut names = Names::new(input);
        for (unit, from, to) in placement.changes(problem) {
            let named = names.of(unit);
            gains.next(to).into_iter().for_each(|at| gained[at] = named);
            losses.next(from).into_iter().for_each(|at| lost[at] = named);
        }
        let lot = |(member, had): (usize, &'a [(Arc<str>, u32)])| {
            let (gains, losses) = (gains.section(member), losses.section(member));
            match (gains.is_empty(), losses.is_empty()) {
                (true, true) => Lot::Same,
                (false, _) if had.is_empty() => Lot::First(gains),
                _ => Lot::Changed(changed(had, &lost[losses], &gained[gains])),
            }
        };
        let had = input.members.iter().map(|member| &*member.owned).enumerate();
        Self { lots: had.map(lot).collect(), gained }
    }

    /// All that `member` has.
    pub(super) fn of_member(&self, input: &'a Input, member: MemberIndex) -> Vec<Partition<'a>> {
        match &self.lots[member.index()] {
            Lot::Same => input.members[member.index()].owned.iter().map(by_reference).collect(),
            Lot::First(range) => self.gained[range.clone()].to_vec(),
            Lot::Changed(partitions) => partitions.clone(),
        }
    }
}

/// `had` without the `lost`, which come in the same order, and with the `gained`.
fn changed<'a>(
    had: &'a [(Arc<str>, u32)],
    lost: &[Partition<'a>],
    gained: &[Partition<'a>],
) -> Vec<Partition<'a>> {
    let mut lost = lost.iter().peekable();
    let mut has = Vec::with_capacity(had.len() + gained.len());
    has.extend(had.iter().map(by_reference).filter(|(topic, partition)| {
        lost.next_if(|(gone, at)| Arc::ptr_eq(gone, topic) && at == partition).is_none()
    }));
    has.extend_from_slice(gained);
    has
}

fn by_reference((topic, partition): &(Arc<str>, u32)) -> Partition<'_> {
    (topic, *partition)
}

/// Where in a list each member has its section.
struct Sections {
    /// By member the number in its section, and once laid out where the next of it is to be.
    next: Vec<usize>,
    /// By member where its section begins; once laid out.
    first: Vec<usize>,
}

impl Sections {
    fn new(members: usize) -> Self {
        Self { next: vec![0; members], first: Vec::with_capacity(members) }
    }

    fn count(&mut self, member: Option<MemberIndex>) {
        member.into_iter().for_each(|member| self.next[member.index()] += 1);
    }

    /// Gives each member a section as long as was counted. Returns how long they are together.
    fn lay_out(&mut self) -> usize {
        let mut end = 0;
        for next in &mut self.next {
            self.first.push(end);
            end += std::mem::replace(next, end);
        }
        end
    }

    /// The next place in the section of `member`.
    fn next(&mut self, member: Option<MemberIndex>) -> Option<usize> {
        let next = &mut self.next[member?.index()];
        *next += 1;
        Some(*next - 1)
    }

    /// The section of `member`, once it is full.
    fn section(&self, member: usize) -> Range<usize> {
        self.first[member]..self.next[member]
    }
}

/// The names of units that come in ascending order.
struct Names<'a> {
    topics: std::vec::IntoIter<&'a Arc<str>>,
    partitions: usize,
    topic: &'a Arc<str>,
    /// The unit that is the topic's first partition.
    first: usize,
}

impl<'a> Names<'a> {
    fn new(input: &'a Input) -> Self {
        let names: Vec<_> = input.sets().into_iter().map(|set| &set[0].name).collect();
        let mut topics = names.into_iter();
        let topic = topics.next().expect("there are topics");
        Self { topics, partitions: input.topics[0].partitions as usize, topic, first: 0 }
    }

    fn of(&mut self, unit: UnitIndex) -> Partition<'a> {
        while unit.index() - self.first >= self.partitions {
            self.first += self.partitions;
            self.topic = self.topics.next().expect("units are of topics");
        }
        (self.topic, u32::try_from(unit.index() - self.first).expect("partitions are counted in u32"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_goes_and_what_is_gained_comes_last() {
        let (t, u): (Arc<str>, Arc<str>) = ("t".into(), "u".into());
        let had = [(t.clone(), 0), (t.clone(), 3), (u.clone(), 3)];
        let has = changed(&had, &[(&had[1].0, 3)], &[(&had[2].0, 1)]);
        assert_eq!(has, [(&t, 0), (&u, 3), (&u, 1)]);
    }
}
