//! What a secret looks like: our rules, and what was learnt.

use std::borrow::Cow;

use regex::bytes::Regex;

use super::learned::Learned;
use super::rules::{Declared, Rule, Striker, compiled};

/// Patterns that are learnt, at most: a process may read many runs.
const LEARNED: usize = 64;

/// Knows what a secret looks like.
#[derive(Clone)]
pub struct Redactor {
    hints: Regex,
    rules: Vec<Rule>,
    striker: Striker,
    learned: Vec<Learned>,
}

impl Redactor {
    pub(super) fn new() -> Result<Self, regex::Error> {
        let declared = Declared::read();
        let hints: Vec<String> = declared
            .hints
            .iter()
            .map(|hint| regex::escape(hint))
            .collect();
        Ok(Self {
            hints: compiled(&format!("(?i:{})", hints.join("|")))?,
            rules: declared
                .rules(&declared.name())
                .map(|(pattern, shortest)| {
                    compiled(&pattern).map(|pattern| Rule { pattern, shortest })
                })
                .collect::<Result<_, regex::Error>>()?,
            striker: Striker::new(&declared)?,
            learned: Vec::new(),
        })
    }

    /// Whether a pattern is known.
    pub(super) fn knows(&self, pattern: &str, of_names: bool) -> bool {
        self.learned.iter().any(|one| one.is(pattern, of_names))
    }

    /// One that knows a pattern more; `None` where it cannot be had.
    pub(super) fn with(&self, pattern: &str, of_names: bool) -> Option<Self> {
        let mut more = self.clone();
        more.learned.push(Learned::new(pattern, of_names).ok()?);
        (more.learned.len() <= LEARNED).then_some(more)
    }

    /// Whether a rule could find anything: where not, [`bytes`](Self::bytes) changes nothing.
    pub fn suspects(&self, text: &[u8]) -> bool {
        self.hints.is_match(text) || self.learned.iter().any(|one| one.suspects(text))
    }

    /// The text without what is secret in it.
    pub fn bytes<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut made = Cow::Borrowed(text);
        if self.suspects(text) {
            for rule in &self.rules {
                if let Some(struck) = self.striker.applied(rule, &made) {
                    made = Cow::Owned(struck);
                }
            }
            for learned in &self.learned {
                if let Some(struck) = learned.applied(&self.striker, &made) {
                    made = Cow::Owned(struck);
                }
            }
        }
        made
    }

    /// The text without what is secret in it.
    ///
    /// ```
    /// let redact = |text| pyro_model::redactor().text(text).into_owned();
    /// assert_eq!(redact("--password hunter2 x"), "--password *********(redacted) x");
    /// assert_eq!(redact("spark.sql.shuffle.partitions=200"), "spark.sql.shuffle.partitions=200");
    /// ```
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(made) => Cow::Owned(
                String::from_utf8(made)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            ),
        }
    }
}
