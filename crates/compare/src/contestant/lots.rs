//! What a placement changes, in names: who is left alone keeps the list it had, as with Kafka's class.

use std::ops::Range;
use std::sync::Arc;

use kafka_assigner_strategies::{MemberIndex, Placement, Problem, Run};

use crate::holdings::Holdings;
use crate::input::Input;
use crate::output::{Partition, Shares};

/// Who gets what, in names.
#[derive(Debug)]
pub(crate) struct Lots<'a> {
    /// By member.
    lots: Vec<Lot>,
    /// What members gain, member after member.
    gained: Vec<Span<'a>>,
    /// What members have who had something and gained or lost some, member after member.
    changed: Vec<Span<'a>>,
}

/// A topic, and some of its partitions that follow each other.
type Span<'a> = (&'a Arc<str>, Range<u32>);

#[derive(Debug)]
enum Lot {
    /// What it had.
    Same,
    /// These of all that is gained; it had nothing before.
    First(Range<usize>),
    /// These of all that changed: some of what it had, and what it gained.
    Changed(Range<usize>),
}

impl<'a> Lots<'a> {
    /// What `placement` makes of what members own by `input`, who are numbered as there.
    pub(super) fn of(input: &'a Input, problem: &Problem, placement: &Placement) -> Self {
        let runs = placement.runs(problem);
        let names: Vec<_> = input.sets().into_iter().map(|set| &set[0].name).collect();
        let members = problem.members().len();
        let (gains, gained) = sorted(members, &names, &runs, |run| run.to);
        let (losses, lost) = sorted(members, &names, &runs, |run| run.from);
        let mut lots = Self { lots: Vec::with_capacity(members), gained, changed: Vec::new() };
        for (member, had) in input.members.iter().map(|member| &member.owned).enumerate() {
            let lot = lots.lot(had, &lost[losses.section(member)], gains.section(member));
            lots.lots.push(lot);
        }
        lots
    }

    /// What one has who `had` something, without the `lost` and with what it gains.
    fn lot(&mut self, had: &'a Holdings, lost: &[Span<'a>], gains: Range<usize>) -> Lot {
        match (gains.is_empty(), lost.is_empty()) {
            (true, true) => Lot::Same,
            (false, _) if had.is_empty() => Lot::First(gains),
            _ => {
                let start = self.changed.len();
                keep(had, lost, &mut self.changed);
                self.changed.extend_from_slice(&self.gained[gains]);
                Lot::Changed(start..self.changed.len())
            }
        }
    }

    /// The same as lists.
    pub(crate) fn shares(&self, input: &'a Input) -> Shares<'a> {
        let mut shares = Shares::with_sizes(input, self.lots.iter().map(|_| 0));
        for member in (0..self.lots.len()).map(MemberIndex::new) {
            shares.of(member).partitions = self.of_member(input, member);
        }
        shares
    }

    /// All that `member` has.
    fn of_member(&self, input: &'a Input, member: MemberIndex) -> Vec<Partition<'a>> {
        let spans = match &self.lots[member.index()] {
            Lot::Same => return input.members[member.index()].owned.iter().collect(),
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

/// Those of `runs` that have a member, by member and with the topics' `names`.
fn sorted<'a>(
    members: usize,
    names: &[&'a Arc<str>],
    runs: &[Run],
    member: impl Fn(&Run) -> Option<MemberIndex>,
) -> (Sections, Vec<Span<'a>>) {
    let mut sections = Sections::new(members);
    runs.iter().for_each(|run| sections.count(member(run)));
    let length = sections.lay_out();
    let blank = names.first().map(|name| (*name, 0..0));
    let mut spans: Vec<_> = blank.into_iter().cycle().take(length).collect();
    for run in runs {
        if let Some(at) = sections.next(member(run)) {
            spans[at] = (names[run.topic.index()], run.partitions.clone());
        }
    }
    (sections, spans)
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
