//! Levelling standbys where a member must not hold just any: [`level`].

use super::backups::Backups;
use super::seat;
use crate::RackIndex;

/// Moves copies from who holds too many to who holds too few, until no move helps, nor any chain of
/// moves in which each member between passes one on and gets another; whether any moved.
///
/// A chain is needed as a copy must not be beside its owner, nor beside another copy: who should
/// take one may be the owner of just what the other could give.
pub(super) fn level(backups: &mut Backups<'_, '_>) -> bool {
    let mut shares = backups.seats.clone();
    seat::level(&mut shares, backups.set.copied());
    let mut levelling = Levelling { held: Vec::new(), backups };
    if levelling.givers().is_empty() {
        return false;
    }
    levelling.held = levelling.backups.held();
    let direct = levelling.direct(&shares);
    let chained = levelling.chains();
    direct || chained
}

struct Levelling<'l, 'a, 'p> {
    backups: &'l mut Backups<'a, 'p>,
    /// By seat: the slots it holds copies of.
    held: Vec<Vec<u32>>,
}

impl Levelling<'_, '_, '_> {
    fn size(&self) -> u32 {
        self.backups.set.copied()
    }

    /// The seats that would gain more by giving than it costs another to take, who gains most first.
    fn givers(&self) -> Vec<usize> {
        let gain = |at: &usize| self.backups.seats[*at].gives(self.size());
        let Some(cost) = self.backups.seats.iter().filter_map(|seat| seat.takes(self.size())).min() else {
            return Vec::new();
        };
        let helps = |at: &usize| gain(at).is_some_and(|gain| gain > cost);
        let mut givers: Vec<usize> = (0..self.backups.seats.len()).filter(helps).collect();
        givers.sort_by_key(|at| std::cmp::Reverse(gain(at)));
        givers
    }

    /// Lets the seats that have more than in `shares` give to those that have less.
    fn direct(&mut self, shares: &[seat::Seat]) -> bool {
        let difference = |after: u32, before: u32| after.saturating_sub(before);
        let pairs =
            || shares.iter().zip(&self.backups.seats).map(|(after, before)| (after.count, before.count));
        let spare: Vec<u32> = pairs().map(|(after, before)| difference(before, after)).collect();
        let mut lacks: Vec<u32> = pairs().map(|(after, before)| difference(after, before)).collect();
        let mut round: Vec<usize> = (0..lacks.len()).filter(|at| lacks[*at] > 0).collect();
        let mut moved = false;
        let mut used = Vec::new();
        for (from, mut spare) in spare.into_iter().enumerate().filter(|(_, spare)| *spare > 0) {
            let mut kept = Vec::new();
            for slot in std::mem::take(&mut self.held[from]).into_iter().rev() {
                let turn = if spare > 0 { self.choose(slot, &round, &mut used) } else { None };
                let Some(turn) = turn else {
                    kept.push(slot);
                    continue;
                };
                let to = round[turn];
                self.held[to].push(slot);
                self.backups.pass(slot, from, to);
                (spare, lacks[to], moved) = (spare - 1, lacks[to] - 1, true);
                if lacks[to] == 0 {
                    round.remove(turn);
                } else {
                    round[turn..].rotate_left(1);
                }
            }
            kept.reverse();
            self.held[from] = kept;
        }
        moved
    }

    /// The place in `round` of a seat that may hold `slot`, in a rack where it is not yet if there is
    /// one.
    fn choose(&self, slot: u32, round: &[usize], used: &mut Vec<RackIndex>) -> Option<usize> {
        let problem = self.backups.problem();
        let member = |turn: usize| self.backups.members[round[turn]];
        self.backups.note_racks(slot, used);
        let is_fresh =
            |turn: &usize| problem.member(member(*turn)).rack.is_none_or(|rack| !used.contains(&rack));
        let mut allowed = (0..round.len()).filter(|turn| self.backups.allows(slot, member(*turn)));
        let first = allowed.next()?;
        if used.is_empty() || is_fresh(&first) {
            return Some(first);
        }
        allowed.find(is_fresh).or(Some(first))
    }

    fn pass(&mut self, place: usize, from: usize, to: usize) {
        let slot = self.held[from].remove(place);
        self.held[to].push(slot);
        self.backups.pass(slot, from, to);
    }

    /// Moves along chains until none helps.
    fn chains(&mut self) -> bool {
        let mut moved = false;
        loop {
            let found = self.givers().into_iter().find_map(|from| self.chain(from));
            let Some(chain) = found else { return moved };
            for Link { slot, from, to } in chain {
                let place = self.held[from].iter().position(|held| *held == slot);
                self.pass(place.expect("it holds what it gives"), from, to);
            }
            moved = true;
        }
    }

    /// A shortest chain from `from` to a seat that a copy costs less than `from` gains.
    fn chain(&self, from: usize) -> Option<Vec<Link>> {
        let gain = self.backups.seats[from].gives(self.size())?;
        let helps = |at: usize| self.backups.seats[at].takes(self.size()).is_some_and(|cost| cost < gain);
        let mut unseen: Vec<usize> = (0..self.held.len()).filter(|at| *at != from).collect();
        unseen.sort_by_key(|at| self.backups.seats[*at].takes(self.size()));
        let mut links: Vec<Link> = Vec::new();
        let mut next = 0;
        let mut giver = from;
        loop {
            for slot in &self.held[giver] {
                let allows = |at: &mut usize| self.backups.allows(*slot, self.backups.members[*at]);
                let reached = links.len();
                links.extend(unseen.extract_if(.., allows).map(|to| Link { slot: *slot, from: giver, to }));
                if let Some(last) = links[reached..].iter().find(|link| helps(link.to)) {
                    return Some(back(&links, *last, from));
                }
            }
            giver = links.get(next)?.to;
            next += 1;
        }
    }
}

/// A copy that is passed on.
#[derive(Clone, Copy)]
struct Link {
    slot: u32,
    from: usize,
    to: usize,
}

/// The links that lead from the seat `start` to `last`, `last` first.
fn back(links: &[Link], last: Link, start: usize) -> Vec<Link> {
    let before = |link: &Link| links.iter().find(|other| other.to == link.from).copied();
    std::iter::successors(Some(last), |link| if link.from == start { None } else { before(link) }).collect()
}
