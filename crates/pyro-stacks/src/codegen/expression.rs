//! Which expression each line of a method works out.
//!
//! Comments stand in the order in which the expressions were entered, parents first, and the
//! numbers of `value_N` count in that order too. Where a value is declared differs: before or
//! behind the code of the children. So numbers and comments are matched by their order.

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::Blocks;
use super::code;
use super::comments::Kind;
use super::scope::{Label, Row};

/// A value's declaration.
#[derive(Debug, Clone)]
struct Declared {
    number: u32,
    /// Its line.
    row: usize,
    /// Comments before it, in the unit.
    comments: usize,
    /// Index into the unit's comments.
    label: Option<usize>,
    name: String,
}

/// A stretch without a comment of any other kind; values of one prefix in it.
#[derive(Debug, Default)]
struct Unit {
    /// Lines of the comments.
    comments: Vec<usize>,
    declared: Vec<Declared>,
}

/// The line of the comment that names the expression, of every line that works one out.
pub fn labels(rows: &[Row<'_>]) -> Vec<Option<Label>> {
    let mut values: FxHashMap<String, Label> = FxHashMap::default();
    let blocks = Blocks::of(rows);
    let mut known = FxHashSet::default();
    for (start, end) in stretches(rows) {
        for unit in units(&rows[start..end], start, &mut known) {
            unit.matched(rows, &blocks, &mut values);
        }
    }
    let beside = beside(rows, &values);
    values.extend(beside);
    spread(rows, &values)
}

/// `isNull` variables: declared right before their value, or of it.
fn beside(rows: &[Row<'_>], values: &FxHashMap<String, Label>) -> Vec<(String, Label)> {
    let mut found = Vec::new();
    let mut before: Option<&str> = None;
    for row in rows {
        if !matches!(row.kind, Kind::Code) {
            before = None;
            continue;
        }
        let Some(name) = declared(row.code) else {
            before = before.filter(|_| row.code.trim().is_empty());
            continue;
        };
        match (name.base, before.take()) {
            ("value", Some(is_null)) => {
                found.extend(
                    values
                        .get(name.full)
                        .map(|label| (is_null.to_owned(), *label)),
                );
            }
            ("isNull", _) if row.code.trim_end().ends_with("== null;") => {
                let read = code::names(row.code).nth(1);
                let label = read.and_then(|read| values.get(read.full));
                found.extend(label.map(|label| (name.full.to_owned(), *label)));
            }
            ("isNull", _) => before = Some(name.full),
            _ => {}
        }
    }
    found
}

/// The name that a line declares, with its type.
fn declared(line: &str) -> Option<code::Name<'_>> {
    code::assigned(line).filter(|name| !line[..name.at].trim().is_empty())
}

/// Runs of lines between notes and contexts.
fn stretches(rows: &[Row<'_>]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, row) in rows.iter().enumerate() {
        if !matches!(row.kind, Kind::Code | Kind::Expression(_)) {
            found.push((start, at));
            start = at + 1;
        }
    }
    found.push((start, rows.len()));
    found
}

fn units<'a>(rows: &[Row<'a>], offset: usize, known: &mut FxHashSet<&'a str>) -> Vec<Unit> {
    let mut units: FxHashMap<&str, Unit> = FxHashMap::default();
    let mut done = Vec::new();
    // Comments whose first value is still to come.
    let mut waiting: Vec<usize> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        if matches!(row.kind, Kind::Expression(_)) {
            waiting.push(offset + at);
            continue;
        }
        let Some(name) = declared(row.code).filter(|name| name.base == "value") else {
            continue;
        };
        if !known.insert(name.full) {
            continue;
        }
        let unit = units.entry(name.prefix).or_default();
        // A number too low right behind a comment: another expression begins, generated earlier; or
        // the comment's has no value of its own, and this is a parent's. Only a leaf is certain.
        let mut sure = true;
        if let Some(latest) = waiting.last()
            && unit.declared.iter().any(|d| d.number > name.number)
        {
            done.push(std::mem::take(unit));
            sure = matches!(rows[latest - offset].kind, Kind::Expression(text) if is_leaf(text));
        }
        unit.comments.append(&mut waiting);
        unit.declared.push(Declared {
            number: name.number,
            row: offset + at,
            comments: if sure { unit.comments.len() } else { 0 },
            label: None,
            name: name.full.to_owned(),
        });
    }
    done.extend(units.into_values());
    done
}

/// A column of a row or batch.
fn is_leaf(text: &str) -> bool {
    ["input[", "columnVector["]
        .iter()
        .any(|head| text.starts_with(head) && text.ends_with(']') && text.matches('[').count() <= 3)
        && !text.contains(") ")
        && !text.contains("] ")
}

impl Unit {
    fn matched(mut self, rows: &[Row<'_>], blocks: &Blocks, values: &mut FxHashMap<String, Label>) {
        // A number above all before it: of the latest comment, or of one dropped behind it.
        let mut highest = None;
        for declared in &mut self.declared {
            if highest.is_none_or(|highest| declared.number > highest) {
                highest = Some(declared.number);
                let latest = declared.comments.checked_sub(1);
                declared.label =
                    latest.filter(|&latest| blocks.beside(self.comments[latest], declared.row));
            }
        }
        self.late(blocks);
        self.declared.sort_by_key(|declared| declared.number);
        for (comment, &row) in self.comments.iter().enumerate() {
            let own = self.declared.iter().filter(|d| d.label == Some(comment));
            // As many values as texts: parents have the lower numbers.
            let hidden = rows[row].hidden;
            let nested = hidden.windows(2).all(|pair| pair[0].contains(&pair[1]));
            let all = nested && own.clone().count() == hidden.len() + 1;
            for (nth, declared) in own.enumerate() {
                let below = if all { nth } else { 0 };
                values.insert(declared.name.clone(), Label { row, below });
            }
        }
    }

    /// Values declared behind those of their children: each of a comment before it in the order
    /// of numbers, as far as that is certain.
    fn late(&mut self, blocks: &Blocks) {
        // A comment's first value bears the highest of its numbers.
        let mut first: Vec<Option<u32>> = vec![None; self.comments.len()];
        for declared in &self.declared {
            if let Some(label) = declared.label {
                first[label] = first[label].or(Some(declared.number));
            }
        }
        let eligible = |declared: &Declared| -> Vec<usize> {
            let number = declared.number;
            let behind = |other: &Option<u32>| other.is_none_or(|other| number < other);
            let fits = |&comment: &usize| {
                blocks.beside(self.comments[comment], declared.row)
                    && first[comment..].iter().all(behind)
                    && first[..comment]
                        .iter()
                        .flatten()
                        .all(|&other| other < number)
            };
            (0..declared.comments).filter(fits).collect()
        };
        let mut late: Vec<(u32, usize, Vec<usize>)> = (0..self.declared.len())
            .filter(|&at| self.declared[at].label.is_none())
            .map(|at| (self.declared[at].number, at, eligible(&self.declared[at])))
            .collect();
        late.sort();
        for group in late.chunk_by(|a, b| a.2 == b.2) {
            let (open, begun): (Vec<usize>, Vec<usize>) = group[0]
                .2
                .iter()
                .partition(|&&comment| first[comment].is_none());
            // Comments in adjacent lines: none is left out between them, each has one value.
            let adjacent = open
                .iter()
                .all(|&c| self.comments.get(c + 1) == Some(&(self.comments[c] + 1)));
            for (nth, (_, at, _)) in group.iter().enumerate() {
                self.declared[*at].label = match (&open[..], &begun[..]) {
                    // Its own, and those of texts left out below it.
                    ([], [only]) | ([only], []) => Some(*only),
                    (open, _) if open.len() == group.len() => Some(open[nth]),
                    (open, [rest]) if adjacent && group.len() > open.len() => {
                        Some(*open.get(nth).unwrap_or(rest))
                    }
                    // A comment that repeats its parent's text is left out by Spark: whose
                    // value this is cannot be known.
                    _ => None,
                };
            }
        }
    }
}

/// From values to lines: assignments, and what stands between lines of one expression.
fn spread(rows: &[Row<'_>], values: &FxHashMap<String, Label>) -> Vec<Option<Label>> {
    let own = |at: usize| -> Option<Label> {
        let name = code::assigned(rows[at].code)?;
        values.get(name.full).copied()
    };
    let is_value = |at: usize| {
        code::assigned(rows[at].code).is_some_and(|n| matches!(n.base, "value" | "isNull"))
    };
    let mut labels: Vec<Option<Label>> = vec![None; rows.len()];
    let mut next: Vec<Option<Label>> = vec![None; rows.len()];
    let mut coming = None;
    for at in (0..rows.len()).rev() {
        next[at] = coming;
        if !matches!(rows[at].kind, Kind::Code) {
            coming = None;
        } else if is_value(at) {
            coming = own(at);
        }
    }
    // Behind a comment, what comes first of it is meant.
    let (mut last, mut begun, mut statement): (Option<Label>, _, _) = (None, false, None);
    for at in 0..rows.len() {
        match rows[at].kind {
            Kind::Expression(_) => {
                (last, begun) = (Some(Label { row: at, below: 0 }), false);
            }
            Kind::Code if rows[at].code.trim().is_empty() => {}
            Kind::Code => {
                labels[at] = match statement {
                    Some(label) => label,
                    None if is_value(at) => own(at),
                    None => next[at].filter(|next| {
                        last.is_some_and(|l| l.row == next.row && (!begun || l == *next))
                    }),
                };
                if is_value(at) {
                    (last, begun) = (labels[at], true);
                }
                statement = code::goes_on(rows[at].code).then_some(labels[at]);
            }
            _ => last = None,
        }
    }
    labels
}
