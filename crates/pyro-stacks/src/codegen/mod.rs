//! Generated source → what each of its lines is for.
//!
//! Spark writes comments into the source of a stage (`spark.sql.codegen.comments`): the tree of
//! its plan, the operator whose code begins, the expression whose code follows. [`read`] puts
//! them back in place and follows them. A line that cannot be attributed is left out: a wrong operator
//! is worse than none.

mod blocks;
mod code;
mod comments;
mod expression;
mod method;
mod neighbours;
mod operator;
mod owners;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use comments::{Commented, Kind};
use method::Method;
pub use operator::Operator;
use owners::Owners;
use scope::{Known, Row, Scope};

/// Package and outer class of everything that Spark generates, as frames have it.
const OUTER: &str = "org.apache.spark.sql.catalyst.expressions.GeneratedClass$";
/// Class of a generated stage, without its number.
const STAGE: &str = "GeneratedIteratorForCodegenStage";

/// A source that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Generated {
    /// Class as frames name it.
    pub class_name: String,
    /// Number of the generated stage; `None` for other classes.
    pub codegen_stage_id: Option<i32>,
    /// Tree of the plan.
    pub tree: Option<String>,
    /// The source with its comments in place; a line is a line of what was compiled.
    pub source: String,
    /// Lines of the source.
    pub lines_count: usize,
    /// Operators that comments name.
    pub operators: Vec<Operator>,
    /// Names of the methods.
    pub methods: Vec<String>,
    /// Texts of expressions.
    pub expressions: Vec<String>,
    /// Lines that can be attributed, in order.
    pub lines: Vec<Line>,
}

/// What a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub line: usize,
    /// Index into [`Generated::methods`].
    pub method: usize,
    /// Index into [`Generated::operators`].
    pub operator: usize,
    /// Index into [`Generated::expressions`].
    pub expression: Option<usize>,
}

/// Reads what was compiled, `body`, with the comments that belong to its placeholders.
pub fn read(body: &str, comments: &BTreeMap<String, String>) -> Generated {
    let commented = comments::substitute(body, comments);
    let class = class_of(body).unwrap_or_default();
    let stage = class.strip_prefix(STAGE).and_then(|n| n.parse().ok());
    let tree = commented.iter().find_map(|line| match &line.kind {
        Kind::Tree(tree) => Some(tree.clone()),
        _ => None,
    });
    let texts: Vec<&str> = commented.iter().map(|line| line.text.as_str()).collect();
    let mut generated = Generated {
        class_name: format!("{OUTER}{class}"),
        codegen_stage_id: stage,
        source: texts.join("\n"),
        lines_count: commented.len(),
        ..Generated::default()
    };
    if let Some(stage) = stage {
        let nodes = operator::nodes(tree.as_deref().unwrap_or_default(), stage);
        generated.operators = operators(&commented, &nodes);
        Mapper::new(&commented, &mut generated).map();
    }
    generated.tree = tree;
    generated
}

/// The class that `generate` gives an instance of.
fn class_of(body: &str) -> Option<&str> {
    let rest = &body[body.find("return new ")? + "return new ".len()..];
    let name = &rest[..rest.find('(')?];
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

fn operators(commented: &[Commented], nodes: &[String]) -> Vec<Operator> {
    let mut found: Vec<Operator> = Vec::new();
    for line in commented {
        if let Kind::Produce(text) | Kind::Consume(text) = &line.kind
            && !found.iter().any(|operator| operator.text == *text)
        {
            found.push(Operator::new(text, nodes));
        }
    }
    found
}

struct Mapper<'a> {
    commented: &'a [Commented],
    code: Vec<String>,
    methods: Vec<Method>,
    /// Methods of a name.
    named: FxHashMap<String, Vec<usize>>,
    out: &'a mut Generated,
    prefixes: Vec<String>,
    owners: Owners,
    /// What a method works for, by its number: known from the lines that call it.
    bases: FxHashMap<usize, Option<usize>>,
    /// The same of inner classes, from the lines that instantiate them.
    classes: FxHashMap<String, usize>,
}

impl<'a> Mapper<'a> {
    fn new(commented: &'a [Commented], out: &'a mut Generated) -> Self {
        let code: Vec<String> = commented
            .iter()
            .map(|line| match line.kind {
                Kind::Code => code::blanked(&line.text),
                _ => String::new(),
            })
            .collect();
        let methods = method::methods(&code);
        let mut named: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (at, method) in methods.iter().enumerate() {
            named.entry(method.name.clone()).or_default().push(at);
        }
        let prefixes = out.operators.iter().map(Operator::prefix).collect();
        Self {
            commented,
            code,
            methods,
            named,
            out,
            prefixes,
            owners: Owners::default(),
            bases: FxHashMap::default(),
            classes: FxHashMap::default(),
        }
    }

    /// From `processNext` on to what it calls; what nothing calls comes last.
    fn map(mut self) {
        let mut done = vec![false; self.methods.len()];
        let mut queue: VecDeque<usize> = (0..self.methods.len())
            .filter(|&at| self.methods[at].name == "processNext")
            .collect();
        loop {
            while let Some(at) = queue.pop_front() {
                if !std::mem::replace(&mut done[at], true) {
                    queue.extend(self.one(at));
                }
            }
            // First of classes that are known by what instantiates them.
            let rest = (0..done.len()).filter(|&at| !done[at]);
            let known = |&at: &usize| self.classes.contains_key(&self.methods[at].class);
            match rest.clone().find(known).or_else(|| rest.clone().next()) {
                Some(at) => queue.push_back(at),
                None => break,
            }
        }
        self.out.lines.sort_by_key(|line| line.line);
        self.out.lines.dedup_by_key(|line| line.line);
    }

    fn base(&self, at: usize) -> Option<usize> {
        let method = &self.methods[at];
        if let Some(base) = self.bases.get(&at) {
            return *base;
        }
        if let Some(base) = self.classes.get(&method.class) {
            return Some(*base);
        }
        // Nothing calls it by its name: the only operator whose names begin as its does.
        let (prefix, _) = method.name.split_once('_')?;
        let mut of = (0..self.prefixes.len()).filter(|&o| self.prefixes[o] == prefix);
        let first = of.next();
        first.filter(|_| of.next().is_none())
    }

    /// Reads a method; gives the methods that it calls.
    fn one(&mut self, at: usize) -> Vec<usize> {
        let base = self.base(at);
        let method = &self.methods[at];
        let range = method.start..method.end.max(method.start);
        let rows: Vec<Row<'_>> = range
            .clone()
            .map(|line| Row {
                kind: &self.commented[line].kind,
                text: &self.commented[line].text,
                code: &self.code[line],
                hidden: &self.commented[line].hidden,
            })
            .collect();
        let known = Known {
            operators: &self.out.operators,
            prefixes: &self.prefixes,
        };
        let labels = expression::labels(&rows);
        let operators = Scope::new(known, &mut self.owners, base).read(&rows, &labels);
        let name = index(&mut self.out.methods, &method.name);
        let mut calls = Vec::new();
        for (offset, line) in range.clone().enumerate() {
            for word in code::called(&self.code[line]) {
                calls.push((word.to_owned(), operators[offset]));
            }
            let Some(operator) = operators[offset] else {
                continue;
            };
            let text = labels[offset].and_then(|label| rows[label.row].expression(label));
            let expression = text.map(|text| index(&mut self.out.expressions, text));
            self.out.lines.push(Line {
                line: line + 1,
                method: name,
                operator,
                expression,
            });
        }
        self.called(&calls)
    }

    fn called(&mut self, calls: &[(String, Option<usize>)]) -> Vec<usize> {
        let mut found = Vec::new();
        for (word, operator) in calls {
            if let Some(operator) = operator {
                self.classes.entry(word.clone()).or_insert(*operator);
            }
            for &at in self.named.get(word).map_or(&[][..], Vec::as_slice) {
                found.push(at);
                let base = self.bases.entry(at).or_insert(*operator);
                if base != operator {
                    // Several call it.
                    *base = None;
                }
            }
        }
        found
    }
}

fn index(texts: &mut Vec<String>, text: &str) -> usize {
    texts
        .iter()
        .position(|known| known == text)
        .unwrap_or_else(|| {
            texts.push(text.to_owned());
            texts.len() - 1
        })
}
