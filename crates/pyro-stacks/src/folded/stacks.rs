//! Distinct names and stacks, and their weights.

use std::io::{self, Write};

use super::arena::{Arena, Names, SequenceHash, Sequences};

/// Distinct stacks with the sum of their weights.
#[derive(Debug, Default, Clone)]
pub struct Folded {
    names: Names,
    stacks: Sequences,
    weights: Vec<i64>,
}

impl Folded {
    /// Number of a name.
    #[inline]
    pub fn name(&mut self, name: &[u8]) -> u32 {
        self.names.number(name)
    }

    /// Adds weight to a stack, given root first.
    #[inline]
    pub fn add(&mut self, root_first: &[u32], weight: i64) {
        self.add_hashed(root_first, SequenceHash::of(root_first), weight);
    }

    /// The same where the hash is known.
    #[inline]
    pub(super) fn add_hashed(&mut self, root_first: &[u32], hash: SequenceHash, weight: i64) {
        match self.stacks.number(root_first, hash) {
            Ok(known) => {
                let sum = &mut self.weights[known as usize];
                *sum = sum.saturating_add(weight);
            }
            Err(_) => self.weights.push(weight),
        }
    }

    /// Distinct stacks.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether there is no stack.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Distinct names.
    pub fn names_count(&self) -> usize {
        self.names.len()
    }

    /// Sum of all weights.
    pub fn total(&self) -> i64 {
        self.weights
            .iter()
            .fold(0, |sum, &weight| sum.saturating_add(weight))
    }

    /// Text of a name.
    pub fn name_of(&self, name: u32) -> &[u8] {
        self.names.get(name)
    }

    /// Stacks, root first, with their weights, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], i64)> {
        (0..self.len()).map(|at| (self.stacks.get(at as u32), self.weights[at]))
    }

    /// Stacks in the order of their names from the root on: those with the same callers are
    /// neighbours, whatever order they came in.
    pub fn sorted(&self) -> Sorted<'_> {
        let mut by_name: Vec<u32> = (0..self.names.len() as u32).collect();
        by_name.sort_unstable_by_key(|&name| self.names.get(name));
        let mut rank = vec![0_u32; by_name.len()];
        for (at, &name) in by_name.iter().enumerate() {
            rank[name as usize] = at as u32;
        }
        let ranked = self.stacks.map(|name| rank[name as usize]);
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| ranked.get(a).cmp(ranked.get(b)));
        Sorted {
            folded: self,
            by_name,
            ranked,
            order,
        }
    }

    /// Writes a line for each stack, sorted: `root;caller;leaf 12`.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut line = Vec::with_capacity(1 << 10);
        let sorted = self.sorted();
        for (frames, weight) in sorted.iter() {
            line.clear();
            for (at, &frame) in frames.iter().enumerate() {
                if at > 0 {
                    line.push(b';');
                }
                line.extend_from_slice(sorted.name(frame));
            }
            writeln!(line, " {weight}")?;
            out.write_all(&line)?;
        }
        Ok(())
    }
}

/// Stacks in the order of their names. A frame is the rank of its name.
pub struct Sorted<'a> {
    folded: &'a Folded,
    by_name: Vec<u32>,
    ranked: Arena<u32>,
    order: Vec<u32>,
}

impl Sorted<'_> {
    /// Frames, root first, and weights.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], i64)> {
        self.order
            .iter()
            .map(|&stack| (self.ranked.get(stack), self.folded.weights[stack as usize]))
    }

    /// Text of the name with this rank.
    pub fn name(&self, rank: u32) -> &[u8] {
        self.folded.names.get(self.by_name[rank as usize])
    }

    /// Number that the name with this rank has in the [`Folded`].
    pub fn number_of(&self, rank: u32) -> u32 {
        self.by_name[rank as usize]
    }

    /// Distinct names.
    pub fn names_count(&self) -> usize {
        self.by_name.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_the_same_stack_add_up_and_lines_are_sorted() {
        let mut folded = Folded::default();
        let [b, a, c] = [&b"b"[..], b"a", b"c d"].map(|name| folded.name(name));
        assert_eq!(folded.name(b"a"), a);
        folded.add(&[b, c], 2);
        folded.add(&[b], 1);
        folded.add(&[a, b], i64::MAX);
        folded.add(&[b, c], 3);
        folded.add(&[], 7);
        let mut text = Vec::new();
        folded.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text, format!(" 7\na;b {}\nb 1\nb;c d 5\n", i64::MAX));
        assert_eq!((folded.len(), folded.total()), (4, i64::MAX));
    }
}
