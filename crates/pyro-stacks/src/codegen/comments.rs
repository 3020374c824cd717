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
}

/// Puts the comments into the lines of a body, which stay as many as they were.
pub fn substitute(body: &str, comments: &BTreeMap<String, String>) -> Vec<Commented> {
    body.split('\n').map(|line| one(line, comments)).collect()
}

fn one(line: &str, comments: &BTreeMap<String, String>) -> Commented {
    let trimmed = line.trim();
    let whole = trimmed
        .strip_prefix("/*")
        .and_then(|rest| rest.strip_suffix("*/"))
        .and_then(|name| comments.get(name));
    if let Some(comment) = whole {
        return Commented {
            text: joined(comment),
            kind: kind(comment),
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
