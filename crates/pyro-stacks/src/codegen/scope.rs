//! Which operator each line of a method works for.
//!
//! Comments open contexts: from `PRODUCE: X` on stands the code with which X produces rows, from
//! `CONSUME: X` on the code with which X takes one, both to the end of the block around the
//! comment. Inside a context stands code of other operators too: the values that X needs of its
//! child are worked out where X takes the row. Names show the operator: they begin with the prefix of the
//! operator whose code was being generated.

use rustc_hash::FxHashSet;

use super::code::{self, Name};
use super::comments::Kind;
use super::neighbours::{self, Says, Verdict};
use super::operator::{self, Operator};
use super::owners::Owners;

/// Notes with which an operator's own code begins, behind the values that its child still owed.
const OWN: [&str; 4] = [
    "generate join key for stream side",
    "generate grouping key",
    "do aggregate",
    "common sub-expressions",
];

/// A line of a method, as the search for its operator sees it.
#[derive(Debug)]
pub struct Row<'a> {
    /// What it is.
    pub kind: &'a Kind,
    /// As it is to be read.
    pub text: &'a str,
    /// Without comments and strings.
    pub code: &'a str,
    /// Expressions whose comments were left out behind this one.
    pub hidden: &'a [String],
}

impl<'a> Row<'a> {
    /// The expression that a label means, if this is its comment's line.
    pub fn expression(&self, label: Label) -> Option<&'a str> {
        match (self.kind, label.below.checked_sub(1)) {
            (Kind::Expression(text), None) => Some(text),
            (Kind::Expression(_), Some(nth)) => self.hidden.get(nth).map(String::as_str),
            _ => None,
        }
    }
}

/// Where the text of an expression stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Line of the comment.
    pub row: usize,
    /// 0 for the comment itself, else which of those left out behind it, from 1.
    pub below: usize,
}

/// What a method's lines are read with.
#[derive(Debug, Clone, Copy)]
pub struct Known<'s> {
    /// Operators that comments name.
    pub operators: &'s [Operator],
    /// With what their names begin.
    pub prefixes: &'s [String],
}

#[derive(Debug, Clone, Copy)]
struct Context {
    operator: usize,
    depth: i32,
    consumes: bool,
    /// Whether what follows is the operator's own code for certain.
    own: bool,
    /// Whether its own code is still to come, announced by a note: what stands here are values
    /// that its child owed.
    owed: bool,
}

/// Reads one method.
pub struct Scope<'s> {
    known: Known<'s>,
    owners: &'s mut Owners,
    stack: Vec<Context>,
    /// Open blocks, and whether a context began inside.
    blocks: Vec<bool>,
    segment: usize,
    /// Segments that end where a context opens.
    opening: FxHashSet<usize>,
    /// Whether code was seen since the last context opened.
    fresh: bool,
}

impl<'s> Scope<'s> {
    /// A method that works for `base`, as far as no comment says otherwise.
    pub fn new(known: Known<'s>, owners: &'s mut Owners, base: Option<usize>) -> Self {
        let context = |operator| Context {
            operator,
            depth: -1,
            consumes: false,
            own: true,
            owed: false,
        };
        Self {
            known,
            owners,
            stack: base.map(context).into_iter().collect(),
            blocks: Vec::new(),
            segment: 0,
            opening: FxHashSet::default(),
            fresh: false,
        }
    }

    /// The operator of every line, where it can be attributed; `labels` are the lines of the comments
    /// that name the expression of each.
    pub fn read(mut self, rows: &[Row<'_>], labels: &[Option<Label>]) -> Vec<Option<usize>> {
        let alone = !rows.iter().any(|row| opens(row.kind));
        let mut verdicts: Vec<Option<Verdict>> = Vec::with_capacity(rows.len());
        let mut statement = None;
        let text = |label: Label| rows[label.row].expression(label);
        for (at, row) in rows.iter().enumerate() {
            let verdict = match row.kind {
                Kind::Produce(text) => {
                    self.open(text, false, false);
                    None
                }
                Kind::Consume(text) => {
                    self.open(text, true, announced(&rows[at + 1..]));
                    None
                }
                Kind::Code if !row.code.trim().is_empty() => {
                    let verdict = self.code(row.code, labels[at].and_then(text), statement);
                    statement = code::goes_on(row.code).then_some(verdict.says);
                    Some(verdict)
                }
                Kind::Note => {
                    if let (true, Some(top)) = (begins_own(row), self.stack.last_mut()) {
                        (top.own, top.owed) = (true, false);
                    }
                    None
                }
                _ => None,
            };
            verdicts.push(verdict);
        }
        let settled = neighbours::settle(&verdicts, &self.opening);
        match (alone, self.stack.first()) {
            // Nothing else has code here.
            (true, Some(base)) => {
                let base = base.operator;
                let whole = verdicts.iter().map(|verdict| verdict.map(|_| base));
                whole.collect()
            }
            _ => settled,
        }
    }

    fn open(&mut self, text: &str, consumes: bool, announced: bool) {
        let Some(operator) = self.known.operators.iter().position(|o| o.text == text) else {
            return;
        };
        // An operator that only has its child produce has no code there.
        let idle = self
            .stack
            .last()
            .is_some_and(|top| !top.consumes && top.depth >= 0);
        if self.fresh && idle && !consumes {
            self.stack.pop();
        }
        let depth = self.depth();
        self.stack.push(Context {
            operator,
            depth,
            consumes,
            own: !consumes,
            owed: announced,
        });
        self.blocks.iter_mut().for_each(|holds| *holds = true);
        self.opening.insert(self.segment);
        self.segment += 1;
        self.fresh = true;
    }

    fn depth(&self) -> i32 {
        i32::try_from(self.blocks.len()).unwrap_or(i32::MAX)
    }

    fn code(&mut self, line: &str, label: Option<&str>, statement: Option<Says>) -> Verdict {
        let closing = line.len() - line.trim_start_matches([' ', '}']).len();
        self.braces(&line[..closing]);
        let says = statement.unwrap_or_else(|| self.says(line, label));
        let verdict = Verdict {
            says,
            segment: self.segment,
            top: self.stack.last().map(|top| (top.operator, top.own)),
        };
        self.braces(&line[closing..]);
        self.fresh = false;
        verdict
    }

    fn braces(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '{' => self.blocks.push(false),
                '}' => self.close(),
                _ => {}
            }
        }
    }

    fn close(&mut self) {
        let held = self.blocks.pop().unwrap_or(false);
        let (depth, before) = (self.depth(), self.stack.len());
        self.stack.retain(|context| context.depth <= depth);
        // Taking a row ends with handing it on: behind the block where that is done, nothing
        // of the operators that took it there follows.
        while held
            && self
                .stack
                .last()
                .is_some_and(|top| top.consumes && top.depth == depth)
        {
            self.stack.pop();
        }
        if self.stack.len() != before {
            self.segment += 1;
        }
    }

    fn says(&mut self, line: &str, label: Option<&str>) -> Says {
        let Some(top) = self.stack.last().copied() else {
            return Says::Nothing;
        };
        let first = line.trim_start();
        let hands_on = top.consumes && first.starts_with(&self.take_over(top.operator));
        if hands_on || first.starts_with("append(") || is_writer(line) {
            return Says::Operator(top.operator);
        }
        let Some((name, candidates)) = code::names(line)
            .filter(|name| !name.misleads())
            .map(|name| (name, self.candidates(name.prefix)))
            .find(|(_, candidates)| !candidates.is_empty())
        else {
            return Says::Nothing;
        };
        let does = !line[..name.at].contains('(') || first.starts_with("for (");
        let operator = match candidates[..] {
            [only] => Some(only),
            _ => self
                .one_of(&candidates, &name, line, top)
                .or_else(|| self.with_text(&candidates, label?)),
        };
        match operator {
            Some(operator) if does || operator == top.operator => {
                self.owners.learn(&name, operator);
                Says::Operator(operator)
            }
            None if does => Says::OneOfSeveral,
            _ => Says::Nothing,
        }
    }

    /// How the call begins with which an operator takes a row, where that is a method of its own.
    fn take_over(&self, operator: usize) -> String {
        format!("{}_doConsume_", self.known.prefixes[operator])
    }

    /// Operators with this prefix whose contexts are open, the outermost first.
    fn candidates(&self, prefix: &str) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for context in self.stack.iter().filter(|context| !context.owed) {
            let operator = context.operator;
            if self.known.prefixes[operator] == prefix && !found.contains(&operator) {
                found.push(operator);
            }
        }
        found
    }

    fn one_of(
        &self,
        candidates: &[usize],
        name: &Name<'_>,
        line: &str,
        top: Context,
    ) -> Option<usize> {
        if let Some(owner) = self.owners.get(name.full) {
            return Some(owner);
        }
        // What is read of an operator's row or relation is that operator's value.
        let handed_on = ["value", "isNull", "expr", "doConsume"];
        // `value_5 = isNull_5 ? …`: the halves of one column.
        let half = |read: &Name<'_>| read.base == "isNull" && read.number == name.number;
        let read = code::names(line)
            .filter(|read| read.prefix == name.prefix)
            .filter(|read| half(read) || !handed_on.iter().any(|b| read.base.starts_with(b)))
            .find_map(|read| self.owners.get(read.full));
        if read.is_some() {
            return read;
        }
        if top.own && candidates.contains(&top.operator) {
            return Some(top.operator);
        }
        self.owners.maker(name, candidates)
    }

    /// The only operator whose text holds that of an expression.
    fn with_text(&self, candidates: &[usize], expression: &str) -> Option<usize> {
        let wanted = operator::unbound(expression);
        if wanted.trim_matches('@').is_empty() {
            return None;
        }
        let holds = |&o: &usize| operator::unbound(&self.known.operators[o].text).contains(&wanted);
        let mut found = candidates.iter().copied().filter(holds);
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }
}

fn opens(kind: &Kind) -> bool {
    matches!(kind, Kind::Produce(_) | Kind::Consume(_))
}

fn begins_own(row: &Row<'_>) -> bool {
    *row.kind == Kind::Note && OWN.iter().any(|note| row.text.contains(note))
}

/// Whether a note says where the own code of an operator begins that takes a row here.
fn announced(rows: &[Row<'_>]) -> bool {
    let mut rows = rows.iter().take_while(|row| !opens(row.kind));
    rows.any(begins_own)
}

/// A row is written by the operator that wants it, whatever the shared writer is called.
fn is_writer(line: &str) -> bool {
    let name = code::names(line).next();
    name.is_some_and(|name| {
        name.base == "mutableStateArray"
            && line[..name.at].trim().is_empty()
            && line[name.at + name.full.len()..].starts_with('[')
            && line[name.at..].contains("].")
    })
}
