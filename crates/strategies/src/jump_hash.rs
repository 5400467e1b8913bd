//! The strategy `jump-hash`: each unit goes where its hash points.

use crate::placement::{Placement, Surplus};
use crate::problem::{MemberIndex, MemberState, Problem, ProblemMember, ProblemTopic, TopicIndex, UnitIndex};
use crate::strategy::{Manner, Strategy};

/// Jump consistent hash (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm",
/// 2014) over the members that may take a unit, sorted by id.
///
/// It looks at current owners only where it must, so that the same members give the same
/// placement whatever went before. That is its price too: balance is only that of the hash, and a
/// member that joins or leaves anywhere but at the end of the order shifts the ones behind it.
///
/// - The **key** of a unit is FNV-1a (64 bits) over the topic's name in UTF-8, a zero byte, and
///   the partition as four big-endian bytes, finished with the 64-bit mixer of MurmurHash3. It
///   never changes.
/// - The **members** hashed over are those that are active, subscribed, and not banned from the
///   unit. A member that is added at the end of their order is the only one that units move to.
/// - **Limits**: units are placed in order. If the member that the key points to is full, the
///   mixed key points to one of those that are not. So a limit costs only the units it turns away.
/// - Fixed units stay, members on hold keep what they have, and a unit that no member can take stays
///   with its owner if that may own it, even above the owner's limit. Such units count first: a member above its limit
///   takes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct JumpHash;

impl Strategy for JumpHash {
    fn name(&self) -> &'static str {
        "jump-hash"
    }

    fn summary(&self) -> &'static str {
        "each partition goes where its hash points among the sorted members; ignores who has it now"
    }

    fn manner(&self) -> Manner {
        Manner::Anew
    }

    fn assign(&self, problem: &Problem) -> Placement {
        let mut reserved = vec![0; problem.members().len()];
        loop {
            let mut hashing = Hashing::new(problem, &reserved);
            problem.topic_indices().for_each(|topic| hashing.place_topic(topic));
            if !hashing.reserve(&mut reserved) {
                return Placement::new(problem, hashing.owner, Surplus::Hash);
            }
        }
    }
}

/// A placement while it is made.
struct Hashing<'a> {
    problem: &'a Problem,
    owner: Vec<Option<MemberIndex>>,
    /// By member: how many more units it may take.
    room: Vec<u32>,
}

impl<'a> Hashing<'a> {
    /// Starts with the units that are not the hash's to place, and with the room that is not `reserved`.
    fn new(problem: &'a Problem, reserved: &[u32]) -> Self {
        let owner: Vec<_> = problem.unit_indices().map(|unit| settled(problem, unit)).collect();
        let mut room: Vec<_> = problem.members().iter().map(ProblemMember::room).collect();
        for member in owner.iter().flatten() {
            room[member.index()] = room[member.index()].saturating_sub(1);
        }
        room.iter_mut().zip(reserved).for_each(|(room, reserved)| *room = room.saturating_sub(*reserved));
        Self { problem, owner, room }
    }

    /// Reserves room for what stays with members that also took units and are above their limits: as much as they have
    /// too many, at least one unit each, so that it ends. Returns whether there are any.
    fn reserve(&self, reserved: &mut [u32]) -> bool {
        let mut above = vec![0_u32; reserved.len()];
        self.owner.iter().flatten().for_each(|owner| above[owner.index()] += 1);
        for (above, member) in above.iter_mut().zip(self.problem.members()) {
            *above =
                if member.state == MemberState::Active { above.saturating_sub(member.limit()) } else { 0 };
        }
        let is_free = |unit: &UnitIndex| self.problem.fixed(*unit).is_none();
        let mut any = false;
        for unit in self.problem.unit_indices().filter(is_free) {
            let taker = self.owner[unit.index()].filter(|owner| self.problem.current(unit) != Some(*owner));
            if let Some(taker) = taker {
                let above = std::mem::take(&mut above[taker.index()]);
                reserved[taker.index()] += above;
                any |= above > 0;
            }
        }
        any
    }

    fn place_topic(&mut self, topic: TopicIndex) {
        let takers: Vec<_> = self.problem.takers_of(topic).collect();
        let mut willing = takers.clone();
        self.keep_willing(&mut willing);
        let prefix = KeyPrefix::of(self.problem.topic(topic));
        for (unit, partition) in self.problem.units_of(topic).zip(0..) {
            if self.owner[unit.index()].is_some() {
                continue;
            }
            let taker = self.taker(unit, prefix.key(partition), &takers, &willing);
            self.owner[unit.index()] = taker.or_else(|| self.stays(unit));
            if taker.is_some_and(|member| self.take(member)) {
                self.keep_willing(&mut willing);
            }
        }
    }

    /// The member that `key` points to among the unbanned `takers` or, if that is full, among those with room.
    fn taker(
        &self,
        unit: UnitIndex,
        key: u64,
        takers: &[MemberIndex],
        willing: &[MemberIndex],
    ) -> Option<MemberIndex> {
        let first = self.pick(unit, key, takers)?;
        if self.room[first.index()] > 0 { Some(first) } else { self.pick(unit, mix(key), willing) }
    }

    fn pick(&self, unit: UnitIndex, key: u64, members: &[MemberIndex]) -> Option<MemberIndex> {
        if !self.problem.has_bans(unit) {
            return pick(key, members);
        }
        let unbanned = members.iter().copied().filter(|member| !self.problem.is_banned(unit, *member));
        pick(key, &unbanned.collect::<Vec<_>>())
    }

    /// The current owner, if the unit may stay with it when no member takes it.
    fn stays(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.problem.current(unit).filter(|owner| self.problem.may_own(unit, *owner))
    }

    /// Counts a unit that `member` takes; true if that was the last it had room for.
    fn take(&mut self, member: MemberIndex) -> bool {
        let room = &mut self.room[member.index()];
        *room -= 1;
        *room == 0
    }

    fn keep_willing(&self, members: &mut Vec<MemberIndex>) {
        members.retain(|member| self.room[member.index()] > 0);
    }
}

/// The owner of a unit that is fixed, or kept by a member on hold.
fn settled(problem: &Problem, unit: UnitIndex) -> Option<MemberIndex> {
    let holds = |member: &MemberIndex| {
        problem.member(*member).state == MemberState::Hold && problem.may_own(unit, *member)
    };
    problem.fixed(unit).or_else(|| problem.current(unit).filter(holds))
}

/// The part of a key that all partitions of a topic share.
#[derive(Clone, Copy)]
struct KeyPrefix(u64);

impl KeyPrefix {
    fn of(topic: &ProblemTopic) -> Self {
        const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        Self(fnv1a(fnv1a(FNV_OFFSET_BASIS, topic.name.as_bytes()), &[0]))
    }

    fn key(self, partition: u32) -> u64 {
        mix(fnv1a(self.0, &partition.to_be_bytes()))
    }
}

/// FNV-1a over `bytes`, from `hash` on.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    const FNV_PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// The 64-bit finisher of MurmurHash3. FNV-1a alone leaves neighbouring partitions too alike in
/// the high bits, which are the ones that the jump function looks at.
fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

fn pick(key: u64, members: &[MemberIndex]) -> Option<MemberIndex> {
    let buckets = u32::try_from(members.len()).expect("members are counted in u32");
    members.get(jump(key, buckets) as usize).copied()
}

/// The published function: the bucket of `key` among `buckets`, or zero if there are none. As
/// buckets are added at the end, a key either stays or jumps to the newest.
fn jump(mut key: u64, buckets: u32) -> u32 {
    let (mut bucket, mut next) = (0, 0);
    while next < u64::from(buckets) {
        bucket = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        let jumps = (1_u64 << 31) as f64 / ((key >> 33) + 1) as f64;
        next = ((bucket + 1) as f64 * jumps) as u64;
    }
    u32::try_from(bucket).expect("a bucket is less than their number")
}

#[cfg(test)]
#[path = "jump_hash_test.rs"]
mod tests;
