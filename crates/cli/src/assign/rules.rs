//! Who must own what, who must not, and how much, said of units: [`Rules`].

use super::Refused;
use super::checked::Checked;
use super::layout::Layout;

/// A set, a partition and a member.
pub(super) type Pair = (usize, u32, usize);

/// What a line demands of the owners of its units.
#[derive(Debug)]
pub(super) struct Rules {
    /// A unit is pinned to the members to whom all pins of its partitions allow.
    pub(super) pins: Vec<Pair>,
    /// A unit is banned from whom one of its partitions is banned from.
    pub(super) bans: Vec<Pair>,
}

impl Rules {
    /// The rules of the line for the units of `layout`.
    ///
    /// # Errors
    /// Pins of a unit that no member can meet together.
    pub(super) fn new(line: &Checked<'_>, layout: &Layout) -> Result<Self, Refused> {
        let of_unit = |(topic, partition, member): &Pair| (layout.set_of[*topic], *partition, *member);
        Ok(Self { pins: pins(line, layout)?, bans: line.bans.iter().map(of_unit).collect() })
    }
}

/// A pin of one partition, with the unit first and its place in the line last.
type Pin = ((usize, u32), usize, usize, usize);

fn pins(line: &Checked<'_>, layout: &Layout) -> Result<Vec<Pair>, Refused> {
    let pin = |(at, (topic, partition, member)): (usize, &Pair)| {
        ((layout.set_of[*topic], *partition), *member, *topic, at)
    };
    let mut pins: Vec<Pin> = line.pins.iter().enumerate().map(pin).collect();
    pins.sort_unstable();
    let mut common = Vec::with_capacity(pins.len());
    for of_unit in pins.chunk_by(|a, b| a.0 == b.0) {
        let before = common.len();
        common.extend(agreed(of_unit));
        if common.len() == before {
            return Err(contradiction(line, of_unit));
        }
    }
    Ok(common)
}

/// The pins of a unit to members to whom each of its topics that is pinned at all is pinned.
fn agreed(pins: &[Pin]) -> impl Iterator<Item = Pair> {
    let mut topics: Vec<usize> = pins.iter().map(|(_, _, topic, _)| *topic).collect();
    topics.sort_unstable();
    topics.dedup();
    let by_member = pins.chunk_by(|a, b| a.1 == b.1);
    let is_of_all = move |pins: &&[Pin]| pins.chunk_by(|a, b| a.2 == b.2).count() == topics.len();
    by_member.filter(is_of_all).map(|pins| {
        let ((set, partition), member, ..) = pins[0];
        (set, partition, member)
    })
}

/// Refuses the last pin of a unit for which no member is left.
fn contradiction(line: &Checked<'_>, pins: &[Pin]) -> Refused {
    let last = pins.iter().map(|(.., at)| *at).max().expect("a chunk has a pin");
    let must = "the pins of one partition number in a co-partitioned set must have a member in common";
    Refused::value(format!("pins[{last}]"), &line.input.pins[last].2, must)
}
