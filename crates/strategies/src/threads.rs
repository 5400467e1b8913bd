//! Threads of a member and the partitions that each works on: [`deal`].

use std::collections::BTreeMap;

/// Deals `units` to `threads` threads, numbered from zero, and keeps them where they are as far as
/// that leaves the threads within one of each other.
///
/// `current` says on which thread a unit is; what is not among `units`, or on a thread that there is
/// not, is ignored, and of two entries for a unit the one on the lowest thread counts. First each
/// thread keeps what it has, in the order of the units, up to its share: the units divided by the
/// threads, and one more for as many threads as are left over, those that have most first. Then what
/// is left goes to the emptiest threads in order. So the answer does not depend on the order of
/// `current` or `units`, and dealing again moves nothing. Kafka Streams deals tasks in the same
/// spirit.
///
/// The result is sorted by unit; repeated units are dealt once. With no threads it is empty.
///
/// # Panics
///
/// If there are more threads than memory could count: it keeps a few words for each.
///
/// ```
/// use kafka_assigner_strategies::threads;
///
/// let dealt = threads::deal(2, &[('a', 0), ('b', 0), ('c', 0)], &['a', 'b', 'c', 'd']);
/// assert_eq!(dealt, [('a', 0), ('b', 0), ('c', 1), ('d', 1)]);
/// ```
pub fn deal<U: Copy + Ord>(threads: usize, current: &[(U, usize)], units: &[U]) -> Vec<(U, usize)> {
    if threads == 0 {
        return Vec::new();
    }
    let mut dealt: BTreeMap<U, Option<usize>> = units.iter().map(|unit| (*unit, None)).collect();
    recall(threads, current, &mut dealt);
    let shares = shares(threads, &dealt);
    let mut loads = vec![0; threads];
    for thread in dealt.values_mut() {
        *thread = thread.filter(|thread| loads[*thread] < shares[*thread]);
        thread.iter().for_each(|thread| loads[*thread] += 1);
    }
    let room = |thread| std::iter::repeat_n(thread, shares[thread] - loads[thread]);
    let mut places: Vec<usize> = (0..threads).flat_map(room).collect();
    level_order(&mut places, &loads);
    let mut places = places.into_iter();
    let place = |(unit, thread): (U, Option<usize>)| {
        (unit, thread.or_else(|| places.next()).expect("shares add up to the units"))
    };
    dealt.into_iter().map(place).collect()
}

/// Notes where each unit is today.
fn recall<U: Copy + Ord>(threads: usize, current: &[(U, usize)], dealt: &mut BTreeMap<U, Option<usize>>) {
    for (unit, thread) in current.iter().filter(|(_, thread)| *thread < threads) {
        if let Some(known) = dealt.get_mut(unit) {
            *known = Some(known.map_or(*thread, |known| known.min(*thread)));
        }
    }
}

/// By thread: how many units it is to have.
fn shares<U>(threads: usize, dealt: &BTreeMap<U, Option<usize>>) -> Vec<usize> {
    let mut has = vec![0; threads];
    dealt.values().flatten().for_each(|thread| has[*thread] += 1);
    let mut fullest: Vec<usize> = (0..threads).collect();
    fullest.sort_by_key(|thread| std::cmp::Reverse(has[*thread]));
    let mut shares = vec![dealt.len() / threads; threads];
    fullest.iter().take(dealt.len() % threads).for_each(|thread| shares[*thread] += 1);
    shares
}

/// Orders places so that the thread with the fewest units comes first, then the next.
fn level_order(places: &mut [usize], loads: &[usize]) {
    let mut loads = loads.to_vec();
    let mut keys: Vec<_> = places
        .iter()
        .map(|thread| {
            loads[*thread] += 1;
            (loads[*thread], *thread)
        })
        .collect();
    keys.sort_unstable();
    for (place, (_, thread)) in places.iter_mut().zip(keys) {
        *place = thread;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_gone_or_on_no_thread_is_ignored() {
        assert_eq!(deal(2, &[('x', 0), ('a', 7)], &['a', 'b']), [('a', 0), ('b', 1)]);
        assert_eq!(deal(0, &[('a', 0)], &['a']), []);
    }

    #[test]
    fn a_new_thread_takes_only_its_share() {
        let dealt = deal(3, &[(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 1)], &[0, 1, 2, 3, 4, 5]);
        assert_eq!(dealt, [(0, 0), (1, 0), (2, 2), (3, 1), (4, 1), (5, 2)]);
    }

    fn loads(threads: usize, dealt: &[(u8, usize)]) -> Vec<usize> {
        let mut loads = vec![0; threads];
        dealt.iter().for_each(|(_, thread)| loads[*thread] += 1);
        loads
    }

    proptest! {
        #[test]
        fn threads_are_within_one_and_keep_what_they_can(
            threads in 1..9_usize,
            units in btree_set(any::<u8>(), 0..40),
            current in vec((any::<u8>(), 0..9_usize), 0..80),
        ) {
            let units: Vec<_> = units.into_iter().collect();
            let dealt = deal(threads, &current, &units);
            prop_assert!(dealt.iter().map(|(unit, _)| *unit).eq(units.iter().copied()));
            let after = loads(threads, &dealt);
            prop_assert!(after.iter().max().unwrap() - after.iter().min().unwrap() <= 1);

            let mut known: Vec<_> = current.into_iter().filter(|(unit, thread)| *thread < threads && units.contains(unit)).collect();
            known.sort_unstable();
            known.dedup_by_key(|(unit, _)| *unit);
            let (share, over) = (units.len() / threads, units.len() % threads);
            let mut had = loads(threads, &known);
            had.sort_unstable_by(|a, b| b.cmp(a));
            let most = had.iter().enumerate().map(|(at, had)| *had.min(&(share + usize::from(at < over)))).sum::<usize>();
            prop_assert_eq!(known.iter().filter(|entry| dealt.contains(entry)).count(), most);
            prop_assert_eq!(deal(threads, &dealt, &units), dealt);
        }

        #[test]
        fn order_does_not_matter(
            threads in 1..5_usize,
            units in vec(any::<u8>(), 0..20),
            current in vec((any::<u8>(), 0..5_usize), 0..20),
        ) {
            let backwards = |list: &[_]| list.iter().rev().copied().collect::<Vec<_>>();
            let reversed: Vec<_> = current.iter().rev().copied().collect();
            prop_assert_eq!(deal(threads, &current, &units), deal(threads, &reversed, &backwards(&units)));
        }
    }
}
