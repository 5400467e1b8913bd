//! Pins of partitions that move together: [`check`].

use super::input::Input;
use super::refused::Refused;

/// A pin of one partition: the set and the number of what moves with it, then its member, its topic, and its place in
/// the line.
type Pin = ((usize, u32), usize, usize, usize);

/// Checks `pins`, of topic, partition and member: those of what moves as one, by `sets` of topics, must have a member in
/// common.
///
/// # Errors
/// The last pin of what no member can have.
pub(in crate::assign) fn check(
    input: &Input,
    sets: &[Vec<usize>],
    pins: &[(usize, u32, usize)],
) -> Result<(), Refused> {
    let mut set_of: Vec<usize> = (sets.len()..sets.len() + input.topics.len()).collect();
    for (at, set) in sets.iter().enumerate() {
        set.iter().for_each(|topic| set_of[*topic] = at);
    }
    let pin = |(at, (topic, partition, member)): (usize, &(usize, u32, usize))| {
        ((set_of[*topic], *partition), *member, *topic, at)
    };
    let mut pins: Vec<Pin> = pins.iter().enumerate().map(pin).collect();
    pins.sort_unstable();
    let of_units = pins.chunk_by(|a, b| a.0 == b.0);
    let mut without = of_units.filter(|pins| !agree(pins));
    without.next().map_or(Ok(()), |pins| Err(contradiction(input, pins)))
}

/// True if there is a member to whom each of the topics that is pinned at all is pinned.
fn agree(pins: &[Pin]) -> bool {
    let mut topics: Vec<usize> = pins.iter().map(|(_, _, topic, _)| *topic).collect();
    topics.sort_unstable();
    topics.dedup();
    let mut by_member = pins.chunk_by(|a, b| a.1 == b.1);
    by_member.any(|pins| pins.chunk_by(|a, b| a.2 == b.2).count() == topics.len())
}

fn contradiction(input: &Input, pins: &[Pin]) -> Refused {
    let last = pins.iter().map(|(.., at)| *at).max().expect("a chunk has a pin");
    let must = "the pins of one partition number in a co-partitioned set must have a member in common";
    Refused::value(format!("pins[{last}]"), &input.pins[last].2, must)
}
