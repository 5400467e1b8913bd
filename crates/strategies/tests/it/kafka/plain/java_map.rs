//! Java's `HashMap` as its documentation draws it: a table of lists.

use std::fmt::Debug;

/// A type that has a hash in Java.
pub(crate) trait JavaKey: Clone + Eq + Debug {
    fn java_hash(&self) -> i32;
}

impl JavaKey for String {
    fn java_hash(&self) -> i32 {
        self.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
    }
}

/// A topic's partition.
impl JavaKey for (String, i32) {
    fn java_hash(&self) -> i32 {
        31_i32.wrapping_mul(31_i32.wrapping_add(self.1)).wrapping_add(self.0.java_hash())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct JavaMap<K, V> {
    table: Vec<Vec<(K, V)>>,
}

impl<K: JavaKey, V> Default for JavaMap<K, V> {
    fn default() -> Self {
        Self { table: (0..16).map(|_| Vec::new()).collect() }
    }
}

impl<K: JavaKey, V> JavaMap<K, V> {
    fn bucket(&self, key: &K) -> usize {
        let hash = key.java_hash().cast_unsigned();
        (hash ^ (hash >> 16)) as usize % self.table.len()
    }

    pub(crate) fn put(&mut self, key: K, value: V) {
        let bucket = self.bucket(&key);
        match self.table[bucket].iter_mut().find(|(known, _)| *known == key) {
            Some(entry) => entry.1 = value,
            None => self.table[bucket].push((key, value)),
        }
        if self.iter().count() * 4 > self.table.len() * 3 {
            let doubled = self.table.len() * 2;
            let entries: Vec<_> = std::mem::take(&mut self.table).into_iter().flatten().collect();
            self.table = (0..doubled).map(|_| Vec::new()).collect();
            for (key, value) in entries {
                let bucket = self.bucket(&key);
                self.table[bucket].push((key, value));
            }
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let bucket = self.bucket(key);
        self.table[bucket].iter_mut().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, key: &K) {
        let bucket = self.bucket(key);
        self.table[bucket].retain(|(known, _)| known != key);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.table.iter().flatten().map(|(key, value)| (key, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }
}
