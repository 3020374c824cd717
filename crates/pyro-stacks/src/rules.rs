//! Categories, wait classes and operators of stacks.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::frame::Frame;
use crate::patterns::Patterns;
use crate::roles::Roles;
use crate::waits::Waits;
use operators::{Claim, Operators};

mod operators;

/// A category, with what it means.
#[derive(Debug, Clone, Deserialize)]
pub struct Category {
    /// Name in table samples.
    pub name: String,
    /// What it covers.
    pub doc: String,
}

#[derive(Deserialize)]
struct CategoryFile {
    category: Vec<Category>,
    role: std::collections::BTreeMap<String, String>,
    rule: Vec<RuleText>,
}

#[derive(Deserialize)]
struct RuleText {
    category: String,
    #[serde(rename = "match")]
    patterns: Vec<String>,
    if_caller: Option<String>,
    unless_caller: Option<String>,
    #[serde(default)]
    anywhere: bool,
}

/// Category of rules that pass a frame over, so that its caller is asked.
const NEUTRAL: &str = "neutral";

/// Callers looked at for `if_caller` and `unless_caller`.
const CALLERS: usize = 4;

/// What one frame says, worked out once per distinct frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    category: Option<u16>,
    /// Bits of the caller patterns that the frame matches.
    callers: u64,
    wait: Option<u16>,
    /// A thread is here only while it waits.
    blocked: bool,
    /// The frame is outside Java.
    native: bool,
    claim: Claim,
}

/// What a stack says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verdict {
    category: u16,
    wait: Option<u16>,
    operator: Option<u16>,
    /// The leaf is where a thread is only while it waits.
    pub blocked: bool,
    /// n of the innermost `GeneratedIteratorForCodegenStage<n>`.
    pub codegen_stage_id: Option<i32>,
}

/// All rules, compiled.
pub struct Rules {
    roles: Roles,
    categories: Vec<Category>,
    rule_categories: Vec<Option<u16>>,
    rule_anywhere: Vec<bool>,
    /// Rules of frames that do, outside Java, what Java code asked for: neutral, with `anywhere`.
    rule_asked: Vec<bool>,
    rule_if: Vec<Option<u8>>,
    rule_unless: Vec<Option<u8>>,
    callers: Vec<Regex>,
    patterns: Patterns,
    by_role: Vec<(String, u16)>,
    other: u16,
    waits: Waits,
    operators: Operators,
}

static EMBEDDED: LazyLock<Rules> = LazyLock::new(|| {
    let text = [
        include_str!("../../../schema/roles.toml"),
        include_str!("../../../schema/categories.toml"),
        include_str!("../../../schema/operators.toml"),
        include_str!("../../../schema/wait_classes.toml"),
    ];
    Rules::parse(text[0], text[1], text[2], text[3]).expect("the embedded rules are tested")
});

impl Rules {
    /// The rules of this version.
    pub fn embedded() -> &'static Self {
        &EMBEDDED
    }

    /// Compiles rules from the texts of `roles.toml`, `categories.toml`, `operators.toml` and
    /// `wait_classes.toml`.
    ///
    /// # Errors
    /// Says which file, and what is wrong with it.
    pub fn parse(
        roles: &str,
        categories: &str,
        operators: &str,
        wait_classes: &str,
    ) -> Result<Self, String> {
        let file: CategoryFile =
            toml::from_str(categories).map_err(|error| format!("categories.toml: {error}"))?;
        let names: Vec<&str> = file
            .category
            .iter()
            .map(|category| category.name.as_str())
            .collect();
        let number = |name: &str| {
            let at = names.iter().position(|known| *known == name);
            at.map(|at| at as u16)
                .ok_or_else(|| format!("categories.toml: no category is called {name}"))
        };
        let regex = |text: &str| Regex::new(text).map_err(|error| error.to_string());
        let mut rule_categories = Vec::new();
        let (mut rule_if, mut rule_unless, mut callers) = (Vec::new(), Vec::new(), Vec::new());
        for rule in &file.rule {
            let neutral = rule.category == NEUTRAL;
            rule_categories.push(if neutral {
                None
            } else {
                Some(number(&rule.category)?)
            });
            for (numbers, pattern) in [
                (&mut rule_if, &rule.if_caller),
                (&mut rule_unless, &rule.unless_caller),
            ] {
                numbers.push(pattern.is_some().then_some(callers.len() as u8));
                callers.extend(pattern.as_deref().map(regex).transpose()?);
            }
        }
        if callers.len() > 64 {
            return Err("categories.toml: more than 64 patterns of callers".to_owned());
        }
        let by_role = file
            .role
            .iter()
            .map(|(role, name)| Ok((role.clone(), number(name)?)));
        let by_role = by_role.collect::<Result<Vec<_>, String>>()?;
        let other = number("other")?;
        let compile = |lists: Vec<&Vec<String>>| {
            Patterns::new(lists.into_iter()).map_err(|error| error.to_string())
        };
        let patterns = compile(file.rule.iter().map(|rule| &rule.patterns).collect())?;

        Ok(Self {
            roles: Roles::parse(roles).map_err(|error| format!("roles.toml: {error}"))?,
            rule_categories,
            rule_anywhere: file
                .rule
                .iter()
                .map(|r| r.anywhere && r.category != NEUTRAL)
                .collect(),
            rule_asked: file
                .rule
                .iter()
                .map(|r| r.anywhere && r.category == NEUTRAL)
                .collect(),
            rule_if,
            rule_unless,
            callers,
            patterns,
            by_role,
            other,
            waits: Waits::parse(wait_classes)
                .map_err(|error| format!("wait_classes.toml: {error}"))?,
            operators: Operators::parse(operators)
                .map_err(|error| format!("operators.toml: {error}"))?,
            categories: file.category,
        })
    }

    /// Roles of threads.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// All categories, in the order of the file.
    pub fn categories(&self) -> &[Category] {
        &self.categories
    }

    /// What one frame says by itself.
    pub fn facts(&self, frame: &Frame<'_>) -> Facts {
        let text = frame.text();
        let mut facts = Facts {
            category: self.patterns.first(&text).map(|rule| rule as u16),
            wait: self.waits.frame(&text),
            blocked: self.waits.blocked(&text),
            native: frame.kind.is_native(),
            ..Facts::default()
        };
        for (bit, pattern) in self.callers.iter().enumerate() {
            facts.callers |= u64::from(pattern.is_match(&text)) << bit;
        }
        let is_users = facts.category.is_some_and(|rule| {
            let category = self.rule_categories[usize::from(rule)];
            usize::from(rule) + 1 == self.rule_categories.len() && category.is_some()
        });
        facts.claim = self.operators.claim(frame, &text, is_users);
        facts
    }

    /// What a stack says, from its frames' facts, leaf first.
    ///
    /// The frame nearest the leaf that any rule names decides, for each question by itself;
    /// rules with `anywhere` go before, since all that their frames call is theirs.
    pub fn classify(&self, leaf_first: &[Facts]) -> Verdict {
        let category = self
            .dominant(leaf_first)
            .or_else(|| self.nearest(&leaf_first[self.asked_for(leaf_first)..]));
        let (operator, codegen_stage_id) =
            Operators::resolve(leaf_first.iter().map(|facts| facts.claim));
        Verdict {
            category: category.unwrap_or(self.other),
            wait: self
                .waits
                .frames_say(leaf_first.iter().map(|facts| facts.wait)),
            operator,
            blocked: leaf_first.first().is_some_and(|leaf| leaf.blocked),
            codegen_stage_id,
        }
    }

    /// The first rule of those that hold for all that a frame calls (`anywhere`).
    fn dominant(&self, frames: &[Facts]) -> Option<u16> {
        let rules = frames.iter().filter_map(|facts| facts.category);
        let rule = rules
            .filter(|&rule| self.rule_anywhere[usize::from(rule)])
            .min()?;
        self.rule_categories[usize::from(rule)]
    }

    /// How many frames from the leaf on are outside Java and do what Java code asked for.
    fn asked_for(&self, leaf_first: &[Facts]) -> usize {
        let outside = leaf_first.iter().take_while(|facts| facts.native).count();
        let asked = |facts: &Facts| {
            facts
                .category
                .is_some_and(|rule| self.rule_asked[usize::from(rule)])
        };
        let last = leaf_first[..outside].iter().rposition(asked);
        last.map_or(0, |at| at + 1)
    }

    /// The category of the frame nearest the leaf that has one.
    fn nearest(&self, leaf_first: &[Facts]) -> Option<u16> {
        leaf_first.iter().enumerate().find_map(|(at, facts)| {
            let rule = usize::from(facts.category?);
            let called_by = |bit: u8| {
                leaf_first[at + 1..]
                    .iter()
                    .take(CALLERS)
                    .any(|caller| caller.callers >> bit & 1 == 1)
            };
            let holds = self.rule_if[rule].is_none_or(called_by)
                && !self.rule_unless[rule].is_some_and(called_by);
            if holds {
                self.rule_categories[rule]
            } else {
                None
            }
        })
    }

    /// Category of a sample on CPU: what the stack says in a task thread; in another thread its
    /// role's, unless the stack is the profiler's own.
    pub fn category(&self, role: &str, verdict: &Verdict) -> &str {
        let by_role = self
            .by_role
            .iter()
            .find(|(known, _)| known == role)
            .map(|(_, category)| *category);
        let name = &self.categories[usize::from(verdict.category)].name;
        match by_role {
            Some(category) if name != "pyrometer" => &self.categories[usize::from(category)].name,
            _ => name,
        }
    }

    /// Rules of wait classes.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Wait class of a sleeping sample by its frames, `unclassified` where these say nothing.
    pub fn wait_class(&self, verdict: &Verdict) -> &str {
        self.waits.class_of_frames(verdict.wait)
    }

    /// Operator or place that the frames name.
    pub fn operator(&self, verdict: &Verdict) -> Option<&str> {
        verdict
            .operator
            .map(|operator| self.operators.name(operator))
    }
}

#[cfg(test)]
mod tests;
