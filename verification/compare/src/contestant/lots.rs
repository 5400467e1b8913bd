//! Changes of a placement, in names: a member without changes keeps the list it had, as with Kafka's class.

use std::ops::Range;
use std::sync::Arc;

use kafka_assigner_strategies::{MemberIndex, Placement, Problem};

use crate::holdings::Holdings;
use crate::input::Input;
use crate::output::{Partition, Shares};

/// The partitions of members, in names.
#[derive(Debug)]
pub(crate) struct Lots<'a> {
    /// Of those for whom anything changes, ascending; all others have what they had.
    lots: Vec<(MemberIndex, Lot)>,
    /// The partitions that members gain, member after member.
    gained: Vec<Span<'a>>,
    /// The partitions of members that had some and gained or lost some, member after member.
    changed: Vec<Span<'a>>,
}

/// A topic, and some of its partitions that follow each other.
type Span<'a> = (&'a Arc<str>, Range<u32>);

#[derive(Debug)]
enum Lot {
    /// These of all that is gained; it had nothing before.
    First(Range<usize>),
    /// These of all that changed: some of what it had, and what it gained.
    Changed(Range<usize>),
}

impl<'a> Lots<'a> {
    /// The changes by `placement` of the partitions that members own by `input`, numbered as there.
    pub(super) fn of(input: &'a Input, problem: &Problem, placement: &Placement) -> Self {
        let names: Vec<_> = input.sets().map(|set| &set[0].name).collect();
        let (mut gains, losses) = Changes { problem, placement, names }.by_member();
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
    fn lot(&mut self, had: &'a Holdings, lost: &[Span<'a>], gains: Range<usize>) -> Lot {
        if had.is_empty() {
            return Lot::First(gains);
        }
        let start = self.changed.len();
        keep(had, lost, &mut self.changed);
        self.changed.extend_from_slice(&self.gained[gains]);
        Lot::Changed(start..self.changed.len())
    }

    /// The same as lists.
    pub(crate) fn shares(&self, input: &'a Input) -> Shares<'a> {
        let mut shares = Shares::with_sizes(input, input.members.iter().map(|_| 0));
        for (at, member) in input.members.iter().enumerate() {
            shares.of(MemberIndex::new(at)).partitions = member.owned.iter().collect();
        }
        for (member, lot) in &self.lots {
            shares.of(*member).partitions = self.partitions(lot);
        }
        shares
    }

    /// All that one has with such a lot.
    fn partitions(&self, lot: &Lot) -> Vec<Partition<'a>> {
        let spans = match lot {
            Lot::First(range) => &self.gained[range.clone()],
            Lot::Changed(range) => &self.changed[range.clone()],
        };
        spans.iter().flat_map(|(topic, partitions)| partitions.clone().map(|at| (*topic, at))).collect()
    }
}

/// Appends to `kept` what one `had` without the `lost`, which come in the same order.
fn keep<'a>(had: &'a Holdings, lost: &[Span<'a>], kept: &mut Vec<Span<'a>>) {
    let mut lost = lost.iter().flat_map(|(topic, at)| at.clone().map(|at| (*topic, at))).peekable();
    for (topic, partitions) in had.by_topic() {
        let mut first = true;
        for at in partitions {
            if lost.next_if(|(gone, lost_at)| lost_at == at && Arc::ptr_eq(gone, topic)).is_some() {
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

/// The changes by a placement, to be told in names.
struct Changes<'a, 'p> {
    problem: &'p Problem,
    placement: &'p Placement,
    /// By topic.
    names: Vec<&'a Arc<str>>,
}

impl<'a> Changes<'a, '_> {
    /// The partitions that members gain, and those that they lose.
    fn by_member(&self) -> (Sections<'a>, Sections<'a>) {
        let members = self.problem.members().len();
        let (mut gains, mut losses) = (Sections::new(members), Sections::new(members));
        self.placement.changes(self.problem).for_each(|(_, from, to)| {
            gains.count(to);
            losses.count(from);
        });
        if let Some(name) = self.names.first() {
            gains.lay_out(name);
            losses.lay_out(name);
            self.for_each(|name, partition, from, to| {
                gains.push(to, name, partition);
                losses.push(from, name, partition);
            });
        }
        (gains, losses)
    }

    /// Calls `tell` with the topic and the partition of each change, the member that has it, and the one that gets it.
    fn for_each(&self, mut tell: impl FnMut(&'a Arc<str>, u32, Option<MemberIndex>, Option<MemberIndex>)) {
        let (mut name, mut units) = (self.names[0], 0..0);
        self.placement.changes(self.problem).for_each(|(unit, from, to)| {
            if !units.contains(&unit.index()) {
                let (topic, partition) = self.problem.topic_of(unit);
                let first = unit.index() - partition as usize;
                units = first..first + self.problem.topic(topic).partitions as usize;
                name = self.names[topic.index()];
            }
            let partition = u32::try_from(unit.index() - units.start).expect("counted in u32");
            tell(name, partition, from, to);
        });
    }
}

/// Partitions in sections, one of each member, with room for as many as were counted.
struct Sections<'a> {
    /// By member the number in its section, and once laid out where the next of it is to be.
    next: Vec<u32>,
    /// By member where its section begins; once laid out.
    first: Vec<u32>,
    spans: Vec<Span<'a>>,
}

impl<'a> Sections<'a> {
    fn new(members: usize) -> Self {
        Self { next: vec![0; members], first: vec![0; members], spans: Vec::new() }
    }

    fn count(&mut self, member: Option<MemberIndex>) {
        member.into_iter().for_each(|member| self.next[member.index()] += 1);
    }

    /// Gives each member a section as long as was counted, to be filled with topics such as that of `name`.
    fn lay_out(&mut self, name: &'a Arc<str>) {
        let mut end = 0;
        for (first, next) in self.first.iter_mut().zip(&mut self.next) {
            *first = end;
            end += std::mem::replace(next, end);
        }
        self.spans = vec![(name, 0..0); end as usize];
    }

    /// Adds a partition to the section of `member`, if there is one.
    fn push(&mut self, member: Option<MemberIndex>, name: &'a Arc<str>, partition: u32) {
        let Some(member) = member.map(MemberIndex::index) else { return };
        let section = self.section(member);
        match self.spans[section.clone()].last_mut() {
            Some((last, span)) if span.end == partition && Arc::ptr_eq(last, name) => span.end += 1,
            _ => {
                self.spans[section.end] = (name, partition..partition + 1);
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
        let (t, u): (Arc<str>, Arc<str>) = ("t".into(), "u".into());
        let had = [(&t, 0), (&t, 2), (&t, 3), (&t, 4), (&t, 5), (&u, 3), (&u, 4)].into_iter().collect();
        let mut kept = Vec::new();
        keep(&had, &[(&t, 3..4), (&u, 3..4)], &mut kept);
        assert_eq!(kept, [(&t, 0..1), (&t, 2..3), (&t, 4..6), (&u, 4..5)]);
    }

    #[test]
    fn what_goes_on_in_the_next_topic_is_apart() {
        let (t, u): (Arc<str>, Arc<str>) = ("t".into(), "u".into());
        let had = [(&t, 0), (&u, 1)].into_iter().collect();
        let mut kept = Vec::new();
        keep(&had, &[], &mut kept);
        assert_eq!(kept, [(&t, 0..1), (&u, 1..2)]);
    }
}
