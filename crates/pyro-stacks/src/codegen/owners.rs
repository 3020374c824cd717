//! Whose names are: what is known of them beyond one method.

use rustc_hash::FxHashMap;

use super::code::Name;

/// What is known of names beyond one method.
#[derive(Debug, Default)]
pub struct Owners {
    of: FxHashMap<String, usize>,
    /// Lowest and highest number by `prefix_base` and operator.
    numbers: FxHashMap<(String, usize), (u32, u32)>,
}

impl Owners {
    /// Which operators use a name.
    pub fn get(&self, name: &str) -> Option<usize> {
        self.of.get(name).copied()
    }

    /// Notes that an operator uses a name.
    pub fn learn(&mut self, name: &Name<'_>, operator: usize) {
        self.of.entry(name.full.to_owned()).or_insert(operator);
        let seen = self.numbers.entry((stem(name), operator));
        let (low, high) = seen.or_insert((name.number, name.number));
        (*low, *high) = (name.number.min(*low), name.number.max(*high));
    }

    /// Which of the operators, the innermost last, a name belongs to: numbers count up while their
    /// code is generated, that of the outermost first.
    pub fn maker(&self, name: &Name<'_>, candidates: &[usize]) -> Option<usize> {
        let stem = stem(name);
        let range_of = |operator: usize| self.numbers.get(&(stem.clone(), operator));
        let (&innermost, outer) = candidates.split_last()?;
        if range_of(innermost).is_some_and(|&(low, _)| name.number >= low) {
            return Some(innermost);
        }
        let within = |&&o: &&usize| {
            range_of(o).is_some_and(|&(low, high)| (low..=high).contains(&name.number))
        };
        outer.iter().rev().find(within).copied()
    }
}

fn stem(name: &Name<'_>) -> String {
    format!("{}_{}", name.prefix, name.base)
}
