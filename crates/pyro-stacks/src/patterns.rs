//! Sets of patterns of which the first that matches counts.

use regex::RegexSet;

/// Patterns in order, each belonging to the rule with the given number.
#[derive(Debug)]
pub(crate) struct Patterns {
    set: RegexSet,
    rules: Vec<usize>,
}

impl Patterns {
    /// Compiles `rules`, each a list of patterns.
    pub fn new<'a>(rules: impl Iterator<Item = &'a Vec<String>>) -> Result<Self, regex::Error> {
        let (mut patterns, mut numbers) = (Vec::new(), Vec::new());
        for (number, list) in rules.enumerate() {
            patterns.extend(list.iter().map(String::as_str));
            numbers.extend(list.iter().map(|_| number));
        }
        Ok(Self {
            set: RegexSet::new(patterns)?,
            rules: numbers,
        })
    }

    /// Number of the first rule that matches.
    pub fn first(&self, text: &str) -> Option<usize> {
        self.set
            .matches(text)
            .iter()
            .next()
            .map(|pattern| self.rules[pattern])
    }
}
