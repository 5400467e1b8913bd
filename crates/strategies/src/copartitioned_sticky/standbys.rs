//! Holders of copies: [`place`].

use super::backups::Backups;
use super::copartitioned_set::CopartitionedSet;
use crate::ledger::Ledger;
use crate::{Standbys, TopicIndex};

/// The standbys of every unit, for the owners in `ledger`.
///
/// All sets are levelled until none can be better: what one does counts in the loads of the others.
/// It ends, as each move lowers the sum over the sets of the distances from the fair shares, or
/// leaves that and lowers the sum of the squared loads.
pub(super) fn place(sets: &[CopartitionedSet], ledger: &Ledger<'_>) -> Standbys {
    let mut load = vec![0; ledger.problem.members().len()];
    let wanting = sets.iter().filter(|set| set.standbys() > 0);
    let mut all: Vec<_> = wanting.map(|set| Backups::fill(set, ledger, &mut load)).collect();
    while all.iter_mut().map(|backups| backups.level(&mut load)).filter(|moved| *moved).count() > 0 {}
    by_unit(ledger, &all)
}

fn by_unit(ledger: &Ledger<'_>, all: &[Backups<'_, '_>]) -> Standbys {
    let problem = ledger.problem;
    let mut of_topic = vec![None; problem.topics().len()];
    for backups in all {
        backups.set.topics().for_each(|topic| of_topic[topic.index()] = Some(backups));
    }
    let of_unit = |topic: TopicIndex| {
        let wanted = problem.topic(topic).standbys as usize;
        let backups = of_topic[topic.index()];
        let members = move |slot| backups.map_or(&[][..], |backups| backups.of(slot));
        (0..problem.topic(topic).partitions).map(move |slot| {
            let members = members(slot);
            &members[..wanted.min(members.len())]
        })
    };
    Standbys::new(problem.topic_indices().flat_map(of_unit))
}
