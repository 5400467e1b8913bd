//! Changes of a placement, in names: a member without changes keeps the list it had, as with Kafka's class.

use std::ops::Range;

use kafka_assigner_strategies::{MemberIndex, Placement, Problem};

use crate::holdings::Holdings;
use crate::input::Input;
use crate::output::{Partition, Shares};

/// The partitions of members, in names.
#[derive(Debug)]
pub(crate) struct Lots {
    /// Of those for whom anything changes, ascending; all others have what they had.
    lots: Vec<(MemberIndex, Lot)>,
    /// The partitions that members gain, member after member.
    gained: Vec<Span>,
    /// The partitions of members that had some and gained or lost some, member after member.
    changed: Vec<Span>,
}

/// The place of a topic, and some of its partitions that follow each other.
type Span = (u32, Range<u32>);

#[derive(Debug)]
enum Lot {
    /// These of all that is gained; it had nothing before.
    First(Range<usize>),
    /// These of all that changed: some of what it had, and what it gained.
    Changed(Range<usize>),
}

impl Lots {
    /// The changes by `placement` of the partitions that members own by `input`, numbered as there.
    pub(super) fn of(input: &Input, problem: &Problem, placement: &Placement) -> Self {
        let (mut gains, losses) = Changes { problem, placement }.by_member();
        let gained = std::mem::take(&mut gains.spans);
        let mut lots = Self { lots: Vec::new(), gained, changed: Vec::new() };
        for (at, member) in input.members.iter().enumerate() {
            let (lost, gained) = (&losses.spans[losses.section(at)], gains.section(at));
            if !(lost.is_empty() && gained.is_empty()) {
                let lot = lots.lot(&member.owned, lost, gained);
                lots.lots.push((MemberIndex::new(at), lot));
            }
        }
        lots
    }

    /// The partitions of a member that `had` some, without the `lost` and with those that it gains.
    fn lot(&mut self, had: &Holdings, lost: &[Span], gains: Range<usize>) -> Lot {
        if had.is_empty() {
            return Lot::First(gains);
        }
        let start = self.changed.len();
        keep(had, lost, &mut self.changed);
        self.changed.extend_from_slice(&self.gained[gains]);
        Lot::Changed(start..self.changed.len())
    }

    /// The same as lists.
    pub(crate) fn shares<'a>(&self, input: &'a Input) -> Shares<'a> {
        let mut shares = Shares::with_sizes(input, input.members.iter().map(|_| 0));
        for (at, member) in input.members.iter().enumerate() {
            shares.of(MemberIndex::new(at)).partitions =
                member.owned.iter().map(|(topic, partition)| (input.name(topic), partition)).collect();
        }
        for (member, lot) in &self.lots {
            shares.of(*member).partitions = self.partitions(input, lot);
        }
        shares
    }

    /// All that one has with such a lot.
    fn partitions<'a>(&self, input: &'a Input, lot: &Lot) -> Vec<Partition<'a>> {
        let spans = match lot {
            Lot::First(range) => &self.gained[range.clone()],
            Lot::Changed(range) => &self.changed[range.clone()],
        };
        let named = |(topic, at): &Span| {
            let name = input.name(*topic);
            at.clone().map(move |at| (name, at))
        };
        spans.iter().flat_map(named).collect()
    }
}

/// Appends to `kept` what one `had` without the `lost`, which come in the same order.
fn keep(had: &Holdings, lost: &[Span], kept: &mut Vec<Span>) {
    let mut lost = lost.iter().flat_map(|(topic, at)| at.clone().map(|at| (*topic, at))).peekable();
    for (topic, partitions) in had.by_topic() {
        let mut first = true;
        for at in partitions {
            if lost.next_if(|(gone, lost_at)| lost_at == at && *gone == topic).is_some() {
                continue;
            }
            match kept.last_mut().filter(|(_, span)| !first && span.end == *at) {
                Some((_, span)) => span.end += 1,
                None => kept.push((topic, *at..at + 1)),
            }
            first = false;
        }
    }
}

/// The changes by a placement, to be told by topic.
struct Changes<'p> {
    problem: &'p Problem,
    placement: &'p Placement,
}

impl Changes<'_> {
    /// The partitions that members gain, and those that they lose.
    fn by_member(&self) -> (Sections, Sections) {
        let members = self.problem.members().len();
        let (mut gains, mut losses) = (Sections::new(members), Sections::new(members));
        self.placement.changes(self.problem).for_each(|(_, from, to)| {
            gains.count(to);
            losses.count(from);
        });
        gains.lay_out();
        losses.lay_out();
        self.for_each(|topic, partition, from, to| {
            gains.push(to, topic, partition);
            losses.push(from, topic, partition);
        });
        (gains, losses)
    }

    /// Calls `tell` with the topic and the partition of each change, the member that has it, and the one that gets it.
    fn for_each(&self, mut tell: impl FnMut(u32, u32, Option<MemberIndex>, Option<MemberIndex>)) {
        let (mut topic, mut units) = (0, 0..0);
        self.placement.changes(self.problem).for_each(|(unit, from, to)| {
            if !units.contains(&unit.index()) {
                let (found, partition) = self.problem.topic_of(unit);
                let first = unit.index() - partition as usize;
                units = first..first + self.problem.topic(found).partitions as usize;
                topic = u32::try_from(found.index()).expect("topics are counted in u32");
            }
            let partition = u32::try_from(unit.index() - units.start).expect("partitions are counted in u32");
            tell(topic, partition, from, to);
        });
    }
}

/// Partitions in sections, one of each member, with room for as many as were counted.
struct Sections {
    /// By member the number in its section, and once laid out where the next of it is to be.
    next: Vec<u32>,
    /// By member where its section begins; once laid out.
    first: Vec<u32>,
    spans: Vec<Span>,
}

impl Sections {
    fn new(members: usize) -> Self {
        Self { next: vec![0; members], first: vec![0; members], spans: Vec::new() }
    }

    fn count(&mut self, member: Option<MemberIndex>) {
        member.into_iter().for_each(|member| self.next[member.index()] += 1);
    }

    /// Gives each member a section as long as was counted.
    fn lay_out(&mut self) {
        let mut end = 0;
        for (first, next) in self.first.iter_mut().zip(&mut self.next) {
            *first = end;
            end += std::mem::replace(next, end);
        }
        self.spans = vec![(0, 0..0); end as usize];
    }

    /// Adds a partition to the section of `member`, if there is one.
    fn push(&mut self, member: Option<MemberIndex>, topic: u32, partition: u32) {
        let Some(member) = member.map(MemberIndex::index) else { return };
        let section = self.section(member);
        match self.spans[section.clone()].last_mut() {
            Some((last, span)) if span.end == partition && *last == topic => span.end += 1,
            _ => {
                self.spans[section.end] = (topic, partition..partition + 1);
                self.next[member] += 1;
            }
        }
    }

    /// The section of `member`, as far as it is filled.
    fn section(&self, member: usize) -> Range<usize> {
        self.first[member] as usize..self.next[member] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_goes_and_the_rest_stays_in_order() {
        let (t, u) = (0, 1);
        let had = [(t, 0), (t, 2), (t, 3), (t, 4), (t, 5), (u, 3), (u, 4)].into_iter().collect();
        let mut kept = Vec::new();
        keep(&had, &[(t, 3..4), (u, 3..4)], &mut kept);
        assert_eq!(kept, [(t, 0..1), (t, 2..3), (t, 4..6), (u, 4..5)]);
    }

    #[test]
    fn what_goes_on_in_the_next_topic_is_apart() {
        let (t, u) = (0, 1);
        let had = [(t, 0), (u, 1)].into_iter().collect();
        let mut kept = Vec::new();
        keep(&had, &[], &mut kept);
        assert_eq!(kept, [(t, 0..1), (u, 1..2)]);
    }
}
