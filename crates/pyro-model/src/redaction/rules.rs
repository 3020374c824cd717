//! Rules of `schema/redaction.toml`, compiled.

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

const DECLARED: &str = include_str!("../../../../schema/redaction.toml");
/// Bytes of a compiled rule, at most.
const COMPILED_BYTES: usize = 64 << 20;

#[derive(Deserialize)]
pub(super) struct Declared {
    replacement: String,
    spark: String,
    ours: String,
    whole: String,
    brief: String,
    begin: String,
    quoted: String,
    bare: String,
    kept: String,
    pub(super) hints: Vec<String>,
    pub(super) rules: Vec<DeclaredRule>,
}

#[derive(Deserialize)]
pub(super) struct DeclaredRule {
    pub(super) pattern: String,
    #[serde(default)]
    shortest: usize,
}

#[derive(Clone)]
pub(super) struct Rule {
    pub(super) pattern: Regex,
    pub(super) shortest: usize,
}

impl Declared {
    pub(super) fn read() -> Self {
        toml::from_str(DECLARED).expect("schema/redaction.toml is TOML")
    }

    /// What a word matches that names a secret.
    pub(super) fn name(&self) -> String {
        let words = format!("{}|{}", self.spark, self.ours);
        let (word, whole, begin) = (WORD, &self.whole, r"\b{start-half}");
        format!(
            r"(?i:{word}(?:{words}){word}|(?:{word}[\d_.$-]|{begin})(?:{whole})(?:[\d_.$-]{word})?)"
        )
    }

    /// What a word matches that may name one.
    fn brief(&self) -> String {
        let (word, brief) = (WORD, &self.brief);
        format!(r"(?i:(?:{word}(?:[_.$-]|-D)|\b{{start-half}})(?:{brief}))")
    }

    /// Patterns of the rules, for names that match `name`.
    pub(super) fn rules(&self, name: &str) -> impl Iterator<Item = (String, usize)> {
        self.rules.iter().map(move |rule| {
            let pattern = rule
                .pattern
                .replace("%START%", "")
                .replace("%BEGIN%", &self.begin)
                .replace("%WORD%", WORD)
                .replace("%NAME%", name)
                .replace("%BRIEF%", &self.brief())
                .replace("%QUOTED%", &self.quoted)
                .replace("%BARE%", &self.bare);
            (pattern, rule.shortest)
        })
    }
}

// Without bounds and what must not stand before: the search is leftmost and linear.
const WORD: &str = r"[\w.$-]*";

/// Knows what stays of a value that is struck, and which values stay.
#[derive(Clone)]
pub(super) struct Striker {
    kept: Regex,
    opening: Regex,
    closing: Regex,
    key_quote: Regex,
    replacement: Vec<u8>,
}

impl Striker {
    pub(super) fn new(declared: &Declared) -> Result<Self, regex::Error> {
        Ok(Self {
            kept: compiled(&format!("^(?:{})$", declared.kept))?,
            opening: compiled(r#"^\\{0,15}["']"#)?,
            closing: compiled(r#"\\*["']$"#)?,
            key_quote: compiled(r#"(\\*["'])\s*:\s*$"#)?,
            replacement: declared.replacement.clone().into_bytes(),
        })
    }

    /// What stands in place of a text that is secret as a whole. Lines keep their numbers:
    /// positions in generated code are told by them.
    pub(super) fn whole(&self, text: &[u8]) -> Vec<u8> {
        let lines = memchr::memchr_iter(b'\n', text).count();
        [self.replacement.as_slice(), &b"\n".repeat(lines)].concat()
    }

    /// The text with all that a rule strikes; `None` if that is nothing.
    pub(super) fn applied(&self, rule: &Rule, text: &[u8]) -> Option<Vec<u8>> {
        let mut made = Vec::new();
        let mut done = 0;
        for found in rule.pattern.captures_iter(text) {
            let (key, value) = (found.get(1)?, found.get(2)?);
            let Some(struck) = self.struck(rule.shortest, key.as_bytes(), value.as_bytes()) else {
                continue;
            };
            made.extend_from_slice(&text[done..value.start()]);
            made.extend_from_slice(&struck);
            done = value.end();
        }
        (done > 0).then(|| {
            made.extend_from_slice(&text[done..]);
            made
        })
    }

    /// What stands in place of a value; `None` where it stays.
    pub(super) fn struck(&self, shortest: usize, key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        let mut opening = self
            .opening
            .find(value)
            .map_or(&b""[..], |found| found.as_bytes());
        let body = &value[opening.len()..];
        let told = [key, value].concat();
        if value.len() < shortest
            || body.starts_with(&self.replacement[..9])
            || self.kept.is_match(&told)
        {
            return None;
        }
        let mut closing = &b""[..];
        if !opening.is_empty() {
            closing = self
                .closing
                .find(body)
                .map_or(closing, |found| found.as_bytes());
            if body == closing {
                return None;
            }
        } else if let Some(bare) = self.key_quote.captures(key) {
            // A number in JSON: what stands in its place must be JSON too.
            opening = bare.get(1)?.as_bytes();
            closing = opening;
        }
        let lines = memchr::memchr_iter(b'\n', value).count();
        Some([opening, &self.replacement, closing, &b"\n".repeat(lines)].concat())
    }
}

pub(super) fn compiled(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(COMPILED_BYTES)
        .build()
}
