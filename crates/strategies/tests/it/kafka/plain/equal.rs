//! The sticky rule for equal subscriptions.

use super::{Lists, Plain, Tp, compare};

struct Quotas {
    min: usize,
    max: usize,
    expected: usize,
    reached: usize,
}

pub(super) fn assign(group: &Plain<'_>, owned: &Lists) -> Lists {
    let all = group.partitions();
    let members = group.members.keys().count();
    if members == 0 {
        return Lists::default();
    }
    let mut quotas = Quotas {
        min: all.len() / members,
        max: all.len().div_ceil(members),
        expected: all.len() % members,
        reached: 0,
    };
    let mut lists = group.empty_lists();
    let (mut under, mut exact) = (Vec::new(), Vec::new());
    for (id, claims) in owned.iter() {
        let mut kept: Vec<Tp> = claims.clone();
        kept.retain(|tp| !group.by_rack || !group.mismatch(group.member(id), tp));
        kept.sort_by(|a, b| a.1.cmp(&b.1).then(compare(&a.0, &b.0)));
        if kept.len() < quotas.min {
            under.push(id.clone());
        } else if kept.len() >= quotas.max && quotas.reached < quotas.expected {
            kept.truncate(quotas.max);
            quotas.reached += 1;
            if quotas.reached == quotas.expected {
                exact.clear();
            }
        } else {
            kept.truncate(quotas.min);
            if quotas.reached < quotas.expected {
                exact.push(id.clone());
            }
        }
        *lists.get_mut(id).unwrap() = kept;
    }
    under.sort_by(|a, b| compare(a, b));
    exact.sort_by(|a, b| compare(a, b));
    let mut free: Vec<_> =
        all.into_iter().filter(|tp| !lists.iter().any(|(_, list)| list.contains(tp))).collect();
    if group.by_rack {
        let near = |tp: &Tp| {
            let racks = group.racks(tp);
            let of_member =
                |id: &&String| group.member(id).rack.as_ref().is_some_and(|rack| racks.contains(rack));
            group.members.keys().filter(of_member).count()
        };
        free.sort_by_key(near);
        give_nearby(group, &mut lists, &mut quotas, (&mut under, &mut exact), &mut free);
    }
    give(&mut lists, &quotas, under, exact, free);
    lists
}

/// The index of the first of `ids`, from `start` on around, whose rack is among those of `tp`.
fn next_near(group: &Plain<'_>, ids: &[String], start: usize, tp: &Tp) -> Option<usize> {
    let racks = group.racks(tp);
    let is_near = |at: &usize| group.member(&ids[*at]).rack.as_ref().is_some_and(|rack| racks.contains(rack));
    (start..start + ids.len()).map(|at| at % ids.len()).find(is_near)
}

fn give_nearby(
    group: &Plain<'_>,
    lists: &mut Lists,
    quotas: &mut Quotas,
    (under, exact): (&mut Vec<String>, &mut Vec<String>),
    free: &mut Vec<Tp>,
) {
    let mut cursor = 0;
    free.retain(|tp| {
        if let Some(at) = next_near(group, under, cursor, tp) {
            let id = under[at].clone();
            let list = lists.get_mut(&id).unwrap();
            list.push(tp.clone());
            let mut next = at + 1;
            if list.len() >= quotas.min {
                next = at;
                under.remove(at);
                if list.len() < quotas.max && quotas.reached < quotas.expected {
                    exact.push(id);
                }
            }
            cursor = if under.is_empty() { 0 } else { next % under.len() };
            return false;
        }
        let Some(at) = next_near(group, exact, 0, tp) else { return true };
        let list = lists.get_mut(&exact[at]).unwrap();
        list.push(tp.clone());
        if list.len() == quotas.max {
            exact.remove(at);
            quotas.reached += 1;
            if quotas.reached == quotas.expected {
                exact.clear();
            }
        }
        false
    });
}

fn give(lists: &mut Lists, quotas: &Quotas, mut under: Vec<String>, mut exact: Vec<String>, free: Vec<Tp>) {
    let mut cursor = 0;
    for tp in free {
        if under.is_empty() {
            lists.get_mut(&exact.remove(0)).unwrap().push(tp);
            continue;
        }
        cursor = if cursor >= under.len() { 0 } else { cursor };
        let list = lists.get_mut(&under[cursor]).unwrap();
        list.push(tp);
        if list.len() == quotas.min {
            exact.push(under.remove(cursor));
        } else {
            cursor += 1;
        }
    }
}
