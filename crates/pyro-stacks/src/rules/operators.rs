//! Operators of stacks, from `schema/operators.toml`.

use regex::Regex;
use serde::Deserialize;

use crate::frame::Frame;
use crate::patterns::Patterns;

#[derive(Deserialize)]
struct File {
    operator: Vec<Rule>,
    #[serde(default)]
    place: Vec<Rule>,
    classes: Option<Classes>,
    guest: Option<Guest>,
    codegen: Codegen,
}

#[derive(Deserialize)]
struct Rule {
    name: String,
    #[serde(default)]
    weight: Weight,
    #[serde(rename = "match")]
    patterns: Vec<String>,
}

/// Operators whose class bears their name: `NAME` in the pattern stands for each.
#[derive(Deserialize)]
struct Classes {
    pattern: String,
    names: Vec<String>,
}

#[derive(Deserialize)]
struct Guest {
    user: String,
}

#[derive(Deserialize)]
struct Codegen {
    class: String,
    fused: String,
    pipeline: String,
    prefix: Vec<Prefix>,
}

#[derive(Deserialize)]
struct Prefix {
    operator: String,
    #[serde(rename = "match")]
    patterns: Vec<String>,
}

/// How much a frame decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Weight {
    /// What it calls is its own.
    #[default]
    Own,
    /// It asks others for rows: guests that it calls are none of its own.
    Pull,
    /// Works for the operator that called it, where one did.
    Guest,
    /// As a guest, but code of SQL: it goes before other guests.
    Pulled,
    /// What it calls is its own, and it is that of the operator or guest that called it, if any.
    Lent,
    /// Counts only where no other frame says more.
    Fallback,
}

/// What one frame says of the operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    operator: Option<(u16, Weight)>,
    codegen_stage_id: Option<i32>,
}

/// The rules, compiled.
pub(crate) struct Operators {
    names: Vec<String>,
    rules: Vec<(u16, Weight)>,
    patterns: Patterns,
    user: Option<u16>,
    codegen_class: Regex,
    pipeline: Regex,
    prefixes: Vec<u16>,
    prefix_patterns: Patterns,
    fused: u16,
}

impl Operators {
    /// Compiles the text of `operators.toml`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let regex = |text: &str| Regex::new(text).map_err(|error| error.to_string());
        let compile =
            |lists: &[Vec<String>]| Patterns::new(lists.iter()).map_err(|error| error.to_string());
        let mut names = Vec::new();
        let (mut rules, mut patterns) = (Vec::new(), Vec::new());
        let of_classes = file.classes.iter().flat_map(|classes| {
            classes.names.iter().map(|name| Rule {
                name: name.clone(),
                weight: Weight::Own,
                patterns: vec![classes.pattern.replace("NAME", name)],
            })
        });
        for rule in file
            .place
            .into_iter()
            .chain(of_classes)
            .chain(file.operator)
        {
            rules.push((intern(&mut names, &rule.name), rule.weight));
            patterns.push(rule.patterns);
        }
        let prefix = file.codegen.prefix;
        let lists: Vec<_> = prefix.iter().map(|rule| rule.patterns.clone()).collect();
        Ok(Self {
            rules,
            patterns: compile(&patterns)?,
            user: file.guest.map(|guest| intern(&mut names, &guest.user)),
            codegen_class: regex(&file.codegen.class)?,
            pipeline: regex(&file.codegen.pipeline)?,
            prefixes: prefix
                .iter()
                .map(|rule| intern(&mut names, &rule.operator))
                .collect(),
            prefix_patterns: compile(&lists)?,
            fused: intern(&mut names, &file.codegen.fused),
            names,
        })
    }

    /// What a frame says by itself; `is_users`: it is a user's own code.
    pub fn claim(&self, frame: &Frame<'_>, text: &str, is_users: bool) -> Claim {
        let named = self.patterns.first(text).map(|rule| self.rules[rule]);
        if !frame.kind.is_native()
            && let Some(found) = self.codegen_class.captures(frame.place)
        {
            let prefix = self
                .prefix_patterns
                .first(frame.method)
                .filter(|_| !self.pipeline.is_match(frame.method));
            let generated = prefix.map_or(self.fused, |rule| self.prefixes[rule]);
            return Claim {
                operator: named.or(Some((generated, Weight::Own))),
                codegen_stage_id: found.get(1).and_then(|n| n.as_str().parse().ok()),
            };
        }
        let users = || self.user.filter(|_| is_users);
        Claim {
            operator: named.or_else(|| users().map(|user| (user, Weight::Guest))),
            codegen_stage_id: None,
        }
    }

    /// The operator of a stack, and the number of its innermost code generation stage.
    ///
    /// The frame nearest the leaf that names an operator decides. Code outside SQL (a guest)
    /// gives way to the operator that called it, unless that operator only asks for rows.
    /// Operators that whole-stage code generation fused into one method cannot be distinguished:
    /// they come out as `WholeStageCodegen` with the number of the stage.
    pub fn resolve(leaf_first: impl Iterator<Item = Claim>) -> (Option<u16>, Option<i32>) {
        let (mut pulled, mut guest, mut lent, mut fallback) = (None, None, None, None);
        let (mut own, mut stage) = (None, None);
        for claim in leaf_first {
            stage = stage.or(claim.codegen_stage_id);
            if own.is_some() {
                continue;
            }
            match claim.operator {
                Some((operator, Weight::Own)) => own = Some(operator),
                Some((operator, Weight::Pull)) => own = pulled.or(guest).or(Some(operator)),
                Some((operator, Weight::Pulled)) => pulled = pulled.or(Some(operator)),
                Some((operator, Weight::Guest)) => guest = guest.or(Some(operator)),
                Some((operator, Weight::Lent)) => {
                    (pulled, guest) = (None, None);
                    lent = Some(operator);
                }
                Some((operator, Weight::Fallback)) => fallback = fallback.or(Some(operator)),
                None => {}
            }
        }
        (own.or(pulled).or(guest).or(lent).or(fallback), stage)
    }

    /// Name of an operator or place.
    pub fn name(&self, number: u16) -> &str {
        &self.names[usize::from(number)]
    }
}

fn intern(names: &mut Vec<String>, name: &str) -> u16 {
    let known = names.iter().position(|known| known == name);
    let at = known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    at as u16
}
