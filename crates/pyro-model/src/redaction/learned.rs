//! Patterns of the user's own, learnt from what is read: `spark.redaction.regex` for names and
//! `spark.redaction.string.regex` for texts.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::rules::{Declared, Rule, Striker, compiled};

/// Bytes of a compiled pattern, at most: it comes from a log.
const COMPILED_BYTES: usize = 1 << 20;

/// How values stand beside names of any kind: the name is a group within the first.
static BESIDE_ANY: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let declared = Declared::read();
    let names = declared
        .rules
        .iter()
        .map(|rule| rule.pattern.contains("%NAME%"));
    let rules = declared.rules(r"(?<name>[\w.$-]+)").zip(names);
    rules
        .filter(|(_, of_a_name)| *of_a_name)
        .map(|((pattern, shortest), _)| Rule {
            pattern: compiled(&pattern).expect("patterns of schema/redaction.toml compile"),
            shortest,
        })
        .collect()
});

/// A pattern of the user's.
#[derive(Clone)]
pub(super) struct Learned {
    pattern: Regex,
    /// Whether it is of names of settings, and not of texts.
    of_names: bool,
}

impl Learned {
    pub(super) fn new(pattern: &str, of_names: bool) -> Result<Self, regex::Error> {
        let pattern = RegexBuilder::new(pattern)
            .unicode(false)
            .size_limit(COMPILED_BYTES)
            .build()?;
        Ok(Self { pattern, of_names })
    }

    pub(super) fn is(&self, pattern: &str, of_names: bool) -> bool {
        self.pattern.as_str() == pattern && self.of_names == of_names
    }

    pub(super) fn suspects(&self, text: &[u8]) -> bool {
        // A pattern may say where a name begins or ends, which a text does not show at once.
        let about_ends = |pattern: &str| pattern.contains(['^', '$', '\\']);
        (self.of_names && about_ends(self.pattern.as_str())) || self.pattern.is_match(text)
    }

    /// The text with all that this pattern strikes; `None` if that is nothing.
    pub(super) fn applied(&self, striker: &Striker, text: &[u8]) -> Option<Vec<u8>> {
        if !self.of_names {
            let made = self.pattern.replace_all(text, |found: &Captures<'_>| {
                // An empty match is none.
                match &found[0] {
                    [] => Vec::new(),
                    some => striker.whole(some),
                }
            });
            return matches!(made, Cow::Owned(_)).then(|| made.into_owned());
        }
        let mut made: Option<Vec<u8>> = None;
        for rule in BESIDE_ANY.iter() {
            let struck = self.struck(striker, rule, made.as_deref().unwrap_or(text));
            made = struck.or(made);
        }
        made
    }

    fn struck(&self, striker: &Striker, rule: &Rule, text: &[u8]) -> Option<Vec<u8>> {
        let mut made = Vec::new();
        let (mut done, mut at) = (0, 0);
        while let Some(found) = rule.pattern.captures_at(text, at) {
            // The name is a group of its own, within the first.
            let (key, name, value) = (found.get(1)?, found.name("name")?, found.get(3)?);
            // What stands as the value of a name that says nothing may be a name itself, and what
            // parts the two may have to stand before it.
            let parts = |last: &u8| !last.is_ascii_alphanumeric();
            let parted = key.as_bytes().last().is_some_and(parts);
            at = (key.end() - usize::from(parted)).max(at + 1);
            // Spark's own patterns are no secrets, though their values say the words.
            if name.as_bytes().starts_with(b"spark.redaction.")
                || !self.pattern.is_match(name.as_bytes())
            {
                continue;
            }
            let shortest = rule.shortest;
            if let Some(struck) = striker.struck(shortest, key.as_bytes(), value.as_bytes()) {
                made.extend_from_slice(&text[done..value.start()]);
                made.extend_from_slice(&struck);
                done = value.end();
                at = done;
            }
        }
        (done > 0).then(|| {
            made.extend_from_slice(&text[done..]);
            made
        })
    }
}
