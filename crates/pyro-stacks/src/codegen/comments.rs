//! Comments back into a generated source: what was compiled holds placeholders in their stead.

use std::collections::BTreeMap;

/// What a line of a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Code, or nothing.
    Code,
    /// An operator's production of rows begins: its text.
    Produce(String),
    /// An operator's consumption of a row begins: its text.
    Consume(String),
    /// The tree of the plan.
    Tree(String),
    /// The code of an expression follows.
    Expression(String),
    /// Any other comment.
    Note,
}

/// A line with its comments in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commented {
    /// As it is to be read; one line.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Of an expression's comment: the texts of those that Spark left out behind it, since its
    /// own holds theirs. Each holds the next.
    pub hidden: Vec<String>,
}

/// Puts the comments into the lines of a body, which stay as many as they were.
pub fn substitute(body: &str, comments: &BTreeMap<String, String>) -> Vec<Commented> {
    let mut lines: Vec<Commented> = body.split('\n').map(|line| one(line, comments)).collect();
    let names = body.split('\n').map(|line| alone(line).and_then(numbered));
    let places: BTreeMap<(&str, u32), usize> = names
        .enumerate()
        .filter_map(|(at, name)| Some((name?, at)))
        .collect();
    // Numbers count up in the order in which expressions were left, children first: the next
    // comment in place whose text holds a left out one's is its ancestor.
    for ((prefix, number), text) in left_out(comments, &places).into_iter().rev() {
        let above = places.range((prefix, number)..=(prefix, u32::MAX));
        let mut holders = above
            .map(|(_, &at)| at)
            .filter(|&at| match &lines[at].kind {
                Kind::Expression(holder) => holder.contains(&text),
                _ => false,
            });
        if let Some(at) = holders.next() {
            lines[at].hidden.push(text);
        }
    }
    lines
}

/// Expressions whose comments are in no line, by prefix and number.
fn left_out<'c>(
    comments: &'c BTreeMap<String, String>,
    places: &BTreeMap<(&str, u32), usize>,
) -> BTreeMap<(&'c str, u32), String> {
    let named = comments.iter().filter_map(|(name, comment)| {
        let name = numbered(name).filter(|name| !places.contains_key(name))?;
        match kind(comment) {
            Kind::Expression(text) => Some((name, text)),
            _ => None,
        }
    });
    named.collect()
}

/// Prefix and number of a placeholder's name, `filter_c_7`.
fn numbered(name: &str) -> Option<(&str, u32)> {
    let (prefix, number) = name.rsplit_once("_c_")?;
    Some((prefix, number.parse().ok()?))
}

/// What stands between the signs of a comment that is a line by itself.
fn alone(line: &str) -> Option<&str> {
    line.trim().strip_prefix("/*")?.strip_suffix("*/")
}

fn one(line: &str, comments: &BTreeMap<String, String>) -> Commented {
    let trimmed = line.trim();
    let whole = alone(line).and_then(|name| comments.get(name));
    if let Some(comment) = whole {
        return Commented {
            text: joined(comment),
            kind: kind(comment),
            hidden: Vec::new(),
        };
    }
    let kind = match trimmed.starts_with("//") {
        true => Kind::Note,
        false => Kind::Code,
    };
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("/*") {
        let Some(length) = rest[start + 2..].find("*/") else {
            break;
        };
        let (name, end) = (&rest[start + 2..start + 2 + length], start + length + 4);
        text.push_str(&rest[..start]);
        match comments.get(name) {
            // A comment to the end of the line would swallow the code behind it.
            Some(comment) => {
                let inner = plain(comment).replace("*/", "* /");
                text.push_str(&format!("/* {} */", joined(&inner)));
            }
            None => text.push_str(&rest[start..end]),
        }
        rest = &rest[end..];
    }
    text.push_str(rest);
    Commented {
        text: joined(&text),
        kind,
        hidden: Vec::new(),
    }
}

fn joined(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// A comment without its slashes and stars; its lines as they were.
fn plain(comment: &str) -> String {
    if let Some(inner) = comment.strip_prefix("/**\n * ") {
        let inner = inner.strip_suffix("\n */").unwrap_or(inner);
        return inner.replace("\n * ", "\n");
    }
    comment
        .strip_prefix("//")
        .map_or(comment, |text| text.strip_prefix(' ').unwrap_or(text))
        .to_owned()
}

fn kind(comment: &str) -> Kind {
    let text = plain(comment);
    if let Some(operator) = text.strip_prefix("PRODUCE: ") {
        Kind::Produce(operator.to_owned())
    } else if let Some(operator) = text.strip_prefix("CONSUME: ") {
        Kind::Consume(operator.to_owned())
    } else if text.starts_with("Codegened pipeline for stage ") {
        Kind::Tree(
            text.split_once('\n')
                .map_or_else(String::new, |(_, tree)| tree.to_owned()),
        )
    } else if text.starts_with("codegenStageId=") || text.starts_with("evaluate aggregate function")
    {
        Kind::Note
    } else {
        Kind::Expression(text)
    }
}
