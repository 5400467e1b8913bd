//! The order in which members take units, and the member that takes the next one: [`Turns`].

use super::topic_counts::TopicCounts;
use crate::MemberIndex;

/// The number of turns that the search for the member with the fewest units of a topic looks ahead. Members alternate
/// in the list, so the emptiest of a small group is among them; in a large group it is near enough.
const LOOK_AHEAD: usize = 32;

/// A list with an entry for each of `shares`: in each round everyone that has most has one, the others in the rounds
/// that come to the same proportion. So every run of the list has each member about as often as its share says, and
/// where shares differ by one at most, no member more than once as often as another.
pub(super) fn in_rounds(shares: &[(MemberIndex, u32)]) -> Vec<MemberIndex> {
    let most = shares.iter().map(|(_, share)| *share).max().unwrap_or(0);
    if shares.iter().all(|(_, share)| share + 1 >= most) {
        // All have a turn in each round but the last.
        let of_round = |nth| shares.iter().filter(move |(_, share)| *share > nth).map(|(member, _)| *member);
        return (0..most).flat_map(of_round).collect();
    }
    let rounds = u64::from(most);
    let round = |nth: u32, share: u32| (u64::from(nth) * rounds / u64::from(share)) as usize;
    let mut next = vec![0_u32; rounds as usize + 1];
    for (_, share) in shares {
        (0..*share).for_each(|nth| next[round(nth, *share) + 1] += 1);
    }
    for at in 1..next.len() {
        next[at] += next[at - 1];
    }
    let Some((any, _)) = shares.first() else { return Vec::new() };
    let mut list = vec![*any; next.last().map_or(0, |end| *end as usize)];
    for (member, share) in shares {
        for nth in 0..*share {
            let place = &mut next[round(nth, *share)];
            list[*place as usize] = *member;
            *place += 1;
        }
    }
    list
}

/// Splits `amount` in proportion to `shares`, which add up to at least as much: to each its part, rounded up or down.
pub(super) fn in_proportion(shares: &mut Vec<(MemberIndex, u32)>, amount: u32) {
    let total: u64 = shares.iter().map(|(_, share)| u64::from(*share)).sum();
    let (mut before, mut given) = (0, 0);
    for (_, share) in shares.iter_mut() {
        before += u64::from(*share);
        let until = u64::from(amount) * before / total.max(1);
        *share = u32::try_from(until - given).expect("a part is no more than the share");
        given = until;
    }
    shares.retain(|(_, share)| *share > 0);
}

/// The members of one group of [`TopicCounts`] that are to take units, in the order of their turns.
#[derive(Debug)]
pub(super) struct Turns {
    list: Vec<MemberIndex>,
    next: usize,
    group: usize,
}

impl Turns {
    pub(super) fn new(mut shares: Vec<(MemberIndex, u32)>, group: usize) -> Self {
        // The last round lacks those with less: the others come first, so that the rounds go on without a gap.
        shares.sort_by_key(|(_, share)| std::cmp::Reverse(*share));
        Self { list: in_rounds(&shares), next: 0, group }
    }

    pub(super) fn left(&self) -> usize {
        self.list.len() - self.next
    }

    /// Moves the turn of the member with the fewest units of the topic to the front, and returns that member with its
    /// level. Members at or below the group's mean count as that.
    pub(super) fn peek(&mut self, counts: &TopicCounts<'_>) -> Option<(u64, MemberIndex)> {
        let first = *self.list.get(self.next)?;
        if counts.level(first) == 0 {
            return Some((0, first));
        }
        let mean = counts.mean(self.group);
        let mut best: Option<(u64, usize)> = None;
        for (at, member) in self.list[self.next..].iter().take(LOOK_AHEAD).enumerate() {
            let level = counts.level(*member);
            if best.is_none_or(|(least, _)| level < least) {
                best = Some((level, at));
            }
            if level <= mean {
                break;
            }
        }
        let (level, at) = best?;
        self.list[self.next..=self.next + at].rotate_right(1);
        Some((level, self.list[self.next]))
    }

    /// Takes the turn at the front off.
    pub(super) fn advance(&mut self) {
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(shares: &[u32]) -> Vec<(MemberIndex, u32)> {
        shares.iter().enumerate().map(|(at, share)| (MemberIndex::new(at), *share)).collect()
    }

    #[test]
    fn rounds_have_each_member_in_proportion() {
        let list = |shares: &[u32]| {
            in_rounds(&members(shares)).into_iter().map(MemberIndex::index).collect::<Vec<_>>()
        };
        assert_eq!(list(&[3, 3, 2]), [0, 1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(list(&[4, 2]), [0, 1, 0, 0, 1, 0]);
        assert_eq!(list(&[4, 3, 2]), [0, 1, 2, 0, 1, 0, 1, 2, 0]);
        assert_eq!(list(&[]), []);
    }

    #[test]
    fn parts_add_up_and_are_rounded_up_or_down() {
        let mut shares = members(&[5, 0, 3, 2]);
        in_proportion(&mut shares, 5);
        assert_eq!(shares.iter().map(|(_, part)| *part).collect::<Vec<_>>(), [2, 2, 1]);
    }
}
