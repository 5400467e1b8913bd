//! A sorted map whose clones share what neither of them changes.
//!
//! ```text
//!  blocks:  "a/0" ─► { a/0 … a/99 }    "a/100" ─► { a/100 … a/171 }    "b/3" ─► …
//! ```
//!
//! A clone costs the same however much the map has. The first write to a map whose clone still lives copies the list
//! of blocks and the one block that it changes; each later write copies at most one block more. So a snapshot that a
//! leader plans on makes no change of the view wait for a copy of the whole group.

use std::borrow::Borrow;
use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::iter::FlatMap;
use std::ops::{Bound, Index, RangeBounds};
use std::sync::Arc;

/// The most entries of a block. A smaller bound makes the list of blocks longer, which is copied whole; at 100 000
/// entries of some 300 bytes both parts of a copy take about as long with this one.
const LARGEST_BLOCK: usize = 128;

type Block<K, V> = Arc<BTreeMap<K, V>>;

/// The entries of a [`SharedMap`], in the order of their keys.
pub type Entries<'m, K, V> = FlatMap<
    btree_map::Values<'m, K, Block<K, V>>,
    btree_map::Iter<'m, K, V>,
    fn(&'m Block<K, V>) -> btree_map::Iter<'m, K, V>,
>;

/// A sorted map with cheap clones. It reads as a `BTreeMap`.
///
/// A block is never empty, and its keys are from its bound up to the next one's.
#[derive(Clone)]
pub struct SharedMap<K, V> {
    blocks: Arc<BTreeMap<K, Block<K, V>>>,
    len: usize,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { blocks: Arc::default(), len: 0 }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for SharedMap<K, V> {}

/// Reading.
impl<K, V> SharedMap<K, V> {
    /// The number of its entries.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if it has no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its entries, in the order of their keys.
    pub fn iter(&self) -> Entries<'_, K, V> {
        self.blocks.values().flat_map(|block| block.iter())
    }

    /// Its keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> + Clone {
        self.blocks.values().flat_map(|block| block.keys())
    }

    /// Its values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.blocks.values().flat_map(|block| block.values())
    }
}

impl<K: Ord, V> SharedMap<K, V> {
    /// The value at `key`.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.block(key)?.1.get(key)
    }

    /// True if there is an entry at `key`.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The entries whose keys are in `range`, in order.
    ///
    /// # Panics
    /// Where the range ends before it begins.
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> impl Iterator<Item = (&K, &V)>
    where
        K: Borrow<Q>,
    {
        let first = match range.start_bound() {
            Bound::Included(start) | Bound::Excluded(start) => self.block(start),
            Bound::Unbounded => None,
        };
        let first = first.map_or(Bound::Unbounded, |(bound, _)| Bound::Included(bound.borrow()));
        let blocks = self.blocks.range::<Q, _>((first, range.end_bound()));
        blocks.flat_map(move |(_, block)| block.range::<Q, _>((range.start_bound(), range.end_bound())))
    }

    /// The block in which `key` would lie, with its bound; `None` where it comes before all.
    fn block<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &Block<K, V>)>
    where
        K: Borrow<Q>,
    {
        self.blocks.range::<Q, _>((Bound::Unbounded, Bound::Included(key))).next_back()
    }
}

/// Writing.
impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// Puts `value` at `key`; returns what was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let blocks = Arc::make_mut(&mut self.blocks);
        if blocks.range(..=&key).next_back().is_none() {
            let first = blocks.pop_first().map(|(_, block)| block).unwrap_or_default();
            blocks.insert(key.clone(), first);
        }
        let (_, block) = blocks.range_mut(..=&key).next_back().expect("the first bound is not above the key");
        let block = Arc::make_mut(block);
        let before = block.insert(key, value);
        self.len += usize::from(before.is_none());
        if let Some((bound, upper)) = split(block) {
            blocks.insert(bound, Arc::new(upper));
        }
        before
    }

    /// Takes the entry at `key` out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if !self.contains_key(key) {
            return None;
        }
        let bound = self.block(key)?.0.clone();
        let blocks = Arc::make_mut(&mut self.blocks);
        let block = Arc::make_mut(blocks.get_mut::<K>(&bound)?);
        let removed = block.remove(key);
        if block.is_empty() {
            blocks.remove::<K>(&bound);
        }
        self.len -= usize::from(removed.is_some());
        removed
    }

    /// The value at `key`, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        if !self.contains_key(key) {
            return None;
        }
        let blocks = Arc::make_mut(&mut self.blocks);
        let (_, block) = blocks.range_mut::<Q, _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        Arc::make_mut(block).get_mut(key)
    }

    /// The value at `key`, to be changed; the default is put there first where nothing is.
    pub fn get_or_default(&mut self, key: &K) -> &mut V
    where
        V: Default,
    {
        if !self.contains_key(key) {
            self.insert(key.clone(), V::default());
        }
        self.get_mut(key).expect("it was put there where it was missing")
    }
}

/// The upper half of a block that has become too large, with its bound.
fn split<K: Ord + Clone, V>(block: &mut BTreeMap<K, V>) -> Option<(K, BTreeMap<K, V>)> {
    if block.len() <= LARGEST_BLOCK {
        return None;
    }
    let bound = block.keys().nth(LARGEST_BLOCK / 2)?.clone();
    let upper = block.split_off(&bound);
    Some((bound, upper))
}

impl<'m, K, V> IntoIterator for &'m SharedMap<K, V> {
    type Item = (&'m K, &'m V);
    type IntoIter = Entries<'m, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        entries.into_iter().for_each(|(key, value)| drop(map.insert(key, value)));
        map
    }
}

impl<K: Borrow<Q> + Ord, V, Q: Ord + ?Sized> Index<&Q> for SharedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry found for key")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One change: a value is put at a key, or the key is taken out.
    type Change = (u16, Option<u8>);

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        prop::collection::vec((0..600_u16, prop::option::weighted(0.7, any::<u8>())), 0..2_000)
    }

    fn change(map: &mut SharedMap<u16, u8>, plain: &mut BTreeMap<u16, u8>, (key, value): Change) {
        match value {
            Some(value) => assert_eq!(map.insert(key, value), plain.insert(key, value)),
            None => assert_eq!(map.remove(&key), plain.remove(&key)),
        }
    }

    fn assert_same(map: &SharedMap<u16, u8>, plain: &BTreeMap<u16, u8>) {
        assert!(map.iter().eq(plain), "{map:?} is not {plain:?}");
        assert_eq!((map.len(), map.is_empty()), (plain.len(), plain.is_empty()));
        assert!(map.blocks.values().all(|block| !block.is_empty() && block.len() <= LARGEST_BLOCK));
        assert!(map.blocks.iter().all(|(bound, block)| block.keys().all(|key| key >= bound)));
    }

    proptest! {
        #[test]
        fn it_has_what_a_plain_map_has_and_a_clone_keeps_what_it_had(
            first in changes(),
            second in changes(),
            (low, high) in (0..600_u16, 0..600_u16),
        ) {
            let (mut map, mut plain) = (SharedMap::default(), BTreeMap::new());
            first.into_iter().for_each(|it| change(&mut map, &mut plain, it));
            let (snapshot, plain_snapshot) = (map.clone(), plain.clone());
            second.into_iter().for_each(|it| change(&mut map, &mut plain, it));
            assert_same(&map, &plain);
            assert_same(&snapshot, &plain_snapshot);
            for key in 0..600 {
                assert_eq!(map.get(&key), plain.get(&key));
                assert_eq!(map.get_mut(&key), plain.get_mut(&key));
            }
            if low <= high {
                assert!(map.range(low..=high).eq(plain.range(low..=high)));
            }
        }
    }

    #[test]
    fn a_write_copies_one_block_of_a_map_whose_clone_lives() {
        let mut map: SharedMap<u32, u32> = (0..1_000).map(|key| (key, key)).collect();
        let snapshot = map.clone();
        map.insert(500, 0);
        let shared = map.blocks.values().zip(snapshot.blocks.values());
        assert_eq!(shared.filter(|(one, other)| !Arc::ptr_eq(one, other)).count(), 1);
        assert_eq!((snapshot[&500], map[&500]), (500, 0));
    }
}
