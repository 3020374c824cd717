//! Sets of patterns of which the first that matches counts.

use regex::bytes::{RegexSet, RegexSetBuilder};

/// States of an automaton may take so much, as far as texts reach them. With the default
/// it runs over, and every text is then matched many times slower.
const AUTOMATON_BYTES: usize = 16 << 20;

/// Patterns in order, each belonging to the rule with the given number.
#[derive(Debug)]
pub(crate) struct Patterns {
    /// Those that begin with `^`, and the others: an automaton of anchored patterns alone forgets
    /// most of them after the first letters.
    sets: [Set; 2],
}

#[derive(Debug)]
struct Set {
    patterns: RegexSet,
    rules: Vec<usize>,
}

impl Patterns {
    /// Compiles `rules`, each a list of patterns; their classes (`\w`, `\b`) are those of ASCII.
    pub fn new<'a>(rules: impl Iterator<Item = &'a Vec<String>>) -> Result<Self, regex::Error> {
        let all: Vec<(usize, &str)> = rules
            .enumerate()
            .flat_map(|(rule, list)| list.iter().map(move |pattern| (rule, pattern.as_str())))
            .collect();
        let set = |anchored: bool| -> Result<Set, regex::Error> {
            let some = all
                .iter()
                .filter(|(_, pattern)| pattern.starts_with('^') == anchored);
            let (rules, patterns): (Vec<usize>, Vec<&str>) = some.copied().unzip();
            let patterns = RegexSetBuilder::new(patterns)
                .unicode(false)
                .dfa_size_limit(AUTOMATON_BYTES)
                .build()?;
            Ok(Set { patterns, rules })
        };
        Ok(Self {
            sets: [set(true)?, set(false)?],
        })
    }

    /// Number of the first rule that matches.
    pub fn first(&self, text: &str) -> Option<usize> {
        let first = |set: &Set| {
            let matches = set.patterns.matches(text.as_bytes());
            matches.iter().next().map(|pattern| set.rules[pattern])
        };
        self.sets.iter().filter_map(first).min()
    }
}
