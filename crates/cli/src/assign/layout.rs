//! Which partitions are placed as one: [`Layout`].

use super::checked::Checked;

/// What a problem's topics are made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Topics whose partitions of the same number are one unit, in the order of [`Checked::sets`]; none is empty.
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

    /// The topics of a set that reach as far as the partition: the first few, so that it takes no look at the others.
    pub(super) fn reaching(
        &self,
        line: &Checked<'_>,
        set: usize,
        partition: u32,
    ) -> impl Iterator<Item = usize> {
        self.sets[set].iter().copied().take_while(move |topic| partition < line.partitions(*topic))
    }

    /// How many units a set has: as many as its longest topic has partitions.
    pub(super) fn units(&self, line: &Checked<'_>, set: usize) -> u32 {
        line.partitions(self.sets[set][0])
    }

    /// The sets that a member takes, since it is subscribed to all of their topics; ascending.
    pub(super) fn taken_by(&self, line: &Checked<'_>, member: usize) -> impl Iterator<Item = usize> {
        let mut sets: Vec<usize> = line.subscribed[member].iter().map(|topic| self.set_of[*topic]).collect();
        sets.sort_unstable();
        let listed = sets.chunk_by(|a, b| a == b).map(|set| (set[0], set.len()));
        let whole = listed.filter(|(set, topics)| *topics == self.sets[*set].len());
        whole.map(|(set, _)| set).collect::<Vec<_>>().into_iter()
    }

    /// How many partitions the units of a set have; nothing of a set without units.
    pub(super) fn sizes(&self, line: &Checked<'_>, set: usize) -> Option<Sizes> {
        let last = self.units(line, set).checked_sub(1)?;
        let size = |partition| self.reaching(line, set, partition).map(|_| 1).sum();
        Some(Sizes { smallest: size(last), largest: size(0) })
    }
}

/// How many partitions units have; none has zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) smallest: u32,
    pub(super) largest: u32,
}

impl Sizes {
    /// The sizes of these units and the `other` ones.
    pub(super) fn and(self, other: Self) -> Self {
        Self { smallest: self.smallest.min(other.smallest), largest: self.largest.max(other.largest) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::Input;
    use super::*;

    #[test]
    fn who_reaches_a_partition_is_found_without_a_look_at_the_others() {
        let line =
            br#"{"topics":[["a",0],["b",1],["c",3],["d",3]],"members":[],"copartition":[["a","b","c","d"]]}"#;
        let input = Input::parse(line).unwrap();
        let line = Checked::new(&input).unwrap();
        let layout = Layout::together(&line);
        assert_eq!(layout.sets, [[2, 3, 1, 0]]);
        let reaching = |partition| layout.reaching(&line, 0, partition).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3].map(reaching), [&[2, 3, 1][..], &[2, 3], &[2, 3], &[]]);
        assert_eq!(layout.sizes(&line, 0), Some(Sizes { smallest: 2, largest: 3 }));
    }
}
