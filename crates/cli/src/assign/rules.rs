//! Who must own what, who must not, and how much, said of units: [`Rules`].

use super::Refused;
use super::checked::Checked;
use super::input::Member;
use super::layout::{Layout, Sizes};

/// A set, a partition and a member.
pub(super) type Pair = (usize, u32, usize);

/// What a line demands of the owners of its units.
#[derive(Debug)]
pub(super) struct Rules {
    /// A unit is pinned to the members to whom all pins of its partitions allow.
    pub(super) pins: Vec<Pair>,
    /// A unit is banned from whom one of its partitions is banned from.
    pub(super) bans: Vec<Pair>,
    /// By member the most units that it may own, if there is a limit.
    pub(super) limits: Vec<Option<u32>>,
    /// The most units that may move for balance only, if there is a limit: never more partitions than the line allows.
    pub(super) movement_budget: Option<u32>,
}

impl Rules {
    /// The rules of the line for the units of `layout`.
    ///
    /// # Errors
    /// Pins of a unit that no member can meet together.
    pub(super) fn new(line: &Checked<'_>, layout: &Layout) -> Result<Self, Refused> {
        let of_unit = |(topic, partition, member): &Pair| (layout.set_of[*topic], *partition, *member);
        let sets = (0..layout.sets.len()).filter_map(|set| layout.sizes(line, set));
        let largest = sets.reduce(Sizes::and).map_or(1, |sizes| sizes.largest);
        Ok(Self {
            pins: pins(line, layout)?,
            bans: line.bans.iter().map(of_unit).collect(),
            limits: limits(line, layout),
            movement_budget: line.options.movement_budget.map(|partitions| partitions / largest),
        })
    }

    /// Lowers the limits of members that got more partitions than they may have by as many units as are too many at
    /// least, if all of them are the largest. Below what [`lower_all`](Self::lower_all) leaves nobody need go: who has more
    /// even so keeps what nobody else can have. Returns whether there are any.
    pub(super) fn lower(&mut self, line: &Checked<'_>, layout: &Layout, shares: &[Share]) -> bool {
        let mut any = false;
        for (at, (share, member)) in shares.iter().zip(&line.input.members).enumerate() {
            let (Some(limit), Some(units)) = (member.max_partitions, self.limits[at]) else { continue };
            let largest = largest(line, layout, at);
            let over = share.partitions.saturating_sub(limit).div_ceil(largest);
            let lowered = units.min(share.units).saturating_sub(over).max(limit / largest);
            if over > 0 && lowered < units {
                self.limits[at] = Some(lowered);
                any = true;
            }
        }
        any
    }

    /// Sets all limits so low that nobody can take more partitions than it may have, whichever units it takes.
    pub(super) fn lower_all(&mut self, line: &Checked<'_>, layout: &Layout) {
        for (at, (limit, member)) in self.limits.iter_mut().zip(&line.input.members).enumerate() {
            *limit = member.max_partitions.map(|partitions| partitions / largest(line, layout, at));
        }
    }
}

/// What a member gets.
#[derive(Debug, Clone, Default)]
pub(super) struct Share {
    pub(super) units: u32,
    pub(super) partitions: u32,
}

/// How many partitions the largest unit has that the member could take.
fn largest(line: &Checked<'_>, layout: &Layout, member: usize) -> u32 {
    sizes_for(line, layout, member).map_or(1, |sizes| sizes.largest)
}

/// How many partitions the units have that the member could take, if there are any.
fn sizes_for(line: &Checked<'_>, layout: &Layout, member: usize) -> Option<Sizes> {
    layout.taken_by(line, member).filter_map(|set| layout.sizes(line, set)).reduce(Sizes::and)
}

/// The limits in units, each counted as the smallest that its member could take. That is exact where these are of one
/// size; elsewhere a member may get more partitions than it may have, and [`lower`](Rules::lower) takes some away.
fn limits(line: &Checked<'_>, layout: &Layout) -> Vec<Option<u32>> {
    let limit = |(at, member): (usize, &Member)| {
        let limit = member.max_partitions?;
        Some(limit / sizes_for(line, layout, at).map_or(1, |sizes| sizes.smallest))
    };
    line.input.members.iter().enumerate().map(limit).collect()
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
