//! Which partitions are placed as one: [`Layout`].

use super::checked::Checked;

/// What a problem's topics are made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Topics whose partitions of the same number are one unit, by name; none is empty.
    pub(super) sets: Vec<Vec<usize>>,
    /// By topic: its set.
    pub(super) set_of: Vec<usize>,
}

impl Layout {
    /// Every partition by itself.
    pub(super) fn apart(line: &Checked<'_>) -> Self {
        let topics = line.input.topics.len();
        Self { sets: (0..topics).map(|topic| vec![topic]).collect(), set_of: (0..topics).collect() }
    }

    /// As the line says.
    pub(super) fn together(line: &Checked<'_>) -> Self {
        let mut sets: Vec<Vec<usize>> = line.sets.iter().filter(|set| !set.is_empty()).cloned().collect();
        let mut is_alone = vec![true; line.input.topics.len()];
        sets.iter().flatten().for_each(|topic| is_alone[*topic] = false);
        sets.extend((0..is_alone.len()).filter(|topic| is_alone[*topic]).map(|topic| vec![topic]));
        let mut set_of = vec![0; is_alone.len()];
        for (at, set) in sets.iter().enumerate() {
            set.iter().for_each(|topic| set_of[*topic] = at);
        }
        Self { sets, set_of }
    }

    /// The topics of a set that reach as far as the partition.
    pub(super) fn reaching(
        &self,
        line: &Checked<'_>,
        set: usize,
        partition: u32,
    ) -> impl Iterator<Item = usize> {
        self.sets[set].iter().copied().filter(move |topic| partition < line.partitions(*topic))
    }

    /// How many units a set has: as many as its longest topic has partitions.
    pub(super) fn units(&self, line: &Checked<'_>, set: usize) -> u32 {
        self.sets[set].iter().map(|topic| line.partitions(*topic)).max().unwrap_or_default()
    }
}
