//! Maps by keys of constant pools.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hasher for integers, several times faster than the default; keys are the profiler's own.
#[derive(Default, Clone, Copy)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words
            .iter()
            .for_each(|&word| self.write_u64(u64::from_le_bytes(word)));
        rest.iter()
            .for_each(|&byte| self.write_u64(u64::from(byte)));
    }
    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_i32(&mut self, value: i32) {
        self.write_u64(value as u64);
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// A map with integers as keys.
pub type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// Keys this close together are places in a list: 2 MiB of them for a pool, at most.
const NEAR: u64 = 1 << 18;

/// Values by keys of a constant pool. async-profiler numbers what it describes one by one, from 1
/// or, in each chunk, from a high number on: such keys need no hashing. The JDK's are hashed.
#[derive(Debug)]
pub struct ByKey<V> {
    /// Key of the first place; a multiple of [`NEAR`].
    base: u64,
    near: Vec<Option<V>>,
    far: KeyMap<u64, V>,
}

impl<V> Default for ByKey<V> {
    fn default() -> Self {
        Self {
            base: 0,
            near: Vec::new(),
            far: KeyMap::default(),
        }
    }
}

impl<V: Copy> ByKey<V> {
    /// The value with this key.
    #[inline]
    pub fn get(&self, key: u64) -> Option<V> {
        let place = key.wrapping_sub(self.base);
        if place < NEAR {
            self.near.get(place as usize).copied().flatten()
        } else {
            self.far.get(&key).copied()
        }
    }

    /// Takes a value in, in place of the one that had its key before.
    #[inline]
    pub fn insert(&mut self, key: u64, value: V) -> Option<V> {
        if self.near.is_empty() && self.far.is_empty() {
            self.base = key - key % NEAR;
        }
        let place = key.wrapping_sub(self.base);
        if place >= NEAR {
            return self.far.insert(key, value);
        }
        let place = place as usize;
        if place == self.near.len() {
            self.near.push(Some(value));
            return None;
        }
        if place > self.near.len() {
            self.near.resize(place + 1, None);
        }
        self.near[place].replace(value)
    }

    /// Forgets all values; their memory serves those to come.
    pub fn clear(&mut self) {
        self.near.clear();
        self.far.clear();
    }

    /// Keys that have a value; those near each other in their order.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        let near = self.near.iter().enumerate();
        let near = near.filter_map(|(place, value)| value.map(|_| self.base + place as u64));
        near.chain(self.far.keys().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    proptest::proptest! {
        #[test]
        fn values_are_found_by_near_and_far_keys(
            pairs in proptest::collection::vec(
                (proptest::prop_oneof![0..50_u64, 2 * NEAR - 3..2 * NEAR + 3, proptest::num::u64::ANY], 0..9),
                0..60,
            ),
        ) {
            let mut found = ByKey::default();
            let mut known = BTreeMap::new();
            for (key, value) in pairs {
                proptest::prop_assert_eq!(found.get(key), known.get(&key).copied());
                proptest::prop_assert_eq!(found.insert(key, value), known.insert(key, value));
                proptest::prop_assert_eq!(found.get(key), Some(value));
            }
            let mut keys: Vec<u64> = found.keys().collect();
            keys.sort_unstable();
            proptest::prop_assert!(keys.iter().eq(known.keys()));
            found.clear();
            proptest::prop_assert_eq!(found.keys().count(), 0);
            proptest::prop_assert_eq!(found.insert(7 * NEAR + 5, 1), None);
            proptest::prop_assert_eq!(found.get(7 * NEAR + 5), Some(1));
        }
    }
}
