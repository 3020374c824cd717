//! Distinct names and sequences, each kept once.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::interner::Interner;

/// Things of varying length, one behind the other.
#[derive(Debug, Clone)]
pub(super) struct Arena<T> {
    items: Vec<T>,
    ends: Vec<usize>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            ends: Vec::new(),
        }
    }
}

impl<T: Copy> Arena<T> {
    #[inline]
    pub(super) fn get(&self, number: u32) -> &[T] {
        let number = number as usize;
        let start = if number == 0 {
            0
        } else {
            self.ends[number - 1]
        };
        &self.items[start..self.ends[number]]
    }

    fn push(&mut self, items: &[T]) {
        self.items.extend_from_slice(items);
        self.ends.push(self.items.len());
    }
}

/// Distinct byte strings, numbered from 0.
#[derive(Debug, Default, Clone)]
pub struct Names {
    arena: Arena<u8>,
    numbers: Interner,
}

impl Names {
    /// Number of a name.
    #[inline]
    pub fn number(&mut self, name: &[u8]) -> u32 {
        let mut hasher = FxHasher::default();
        hasher.write(name);
        let arena = &self.arena;
        let found = self
            .numbers
            .find(hasher.finish(), |known| arena.get(known) == name);
        found.unwrap_or_else(|new| {
            self.arena.push(name);
            new
        })
    }

    /// The name with this number.
    ///
    /// # Panics
    /// If no name has it.
    #[inline]
    pub fn get(&self, number: u32) -> &[u8] {
        self.arena.get(number)
    }

    /// Distinct names.
    pub fn len(&self) -> usize {
        self.arena.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Hash of a sequence, which can grow at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SequenceHash(u64);

impl SequenceHash {
    /// Of a whole sequence.
    #[inline]
    pub fn of(sequence: &[u32]) -> Self {
        sequence
            .iter()
            .fold(Self::default(), |hash, &number| hash.with(number))
    }

    /// Of the same sequence with one more number.
    #[inline]
    pub fn with(self, number: u32) -> Self {
        let mixed = self.0.rotate_left(23) ^ (u64::from(number) + 1);
        Self(mixed.wrapping_mul(0xf135_7aea_2e62_a9c5))
    }
}

/// Distinct sequences of numbers, numbered from 0.
#[derive(Debug, Default, Clone)]
pub struct Sequences {
    arena: Arena<u32>,
    numbers: Interner,
}

impl Sequences {
    /// Number of a sequence with its hash.
    ///
    /// # Errors
    /// The number it got if it is new.
    #[inline]
    pub fn number(&mut self, sequence: &[u32], hash: SequenceHash) -> Result<u32, u32> {
        let arena = &self.arena;
        let found = self
            .numbers
            .find(hash.0, |known| arena.get(known) == sequence);
        found.inspect_err(|_| self.arena.push(sequence))
    }

    /// The sequence with this number.
    ///
    /// # Panics
    /// If no sequence has it.
    #[inline]
    pub fn get(&self, number: u32) -> &[u32] {
        self.arena.get(number)
    }

    /// Distinct sequences.
    pub fn len(&self) -> usize {
        self.arena.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same sequences of other numbers.
    pub(super) fn map(&self, to: impl Fn(u32) -> u32) -> Arena<u32> {
        Arena {
            items: self.arena.items.iter().map(|&number| to(number)).collect(),
            ends: self.arena.ends.clone(),
        }
    }
}
