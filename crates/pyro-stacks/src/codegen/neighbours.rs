//! Lines that say nothing of their operator: what stands around them may.

use rustc_hash::FxHashSet;

/// What a line says of itself; what it does not say, its neighbours may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// It works for this one.
    Operator(usize),
    /// It works for one of several operators, and cannot be known for which.
    OneOfSeveral,
    /// No name in it belongs to an operator.
    Nothing,
}

/// A line's word, and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// Its own word.
    pub says: Says,
    /// Lines of one segment stand in the same contexts.
    pub segment: usize,
    /// Operator of the innermost context, and whether that is in its own code for certain.
    pub top: Option<(usize, bool)>,
}

/// Gives lines that say nothing the operator of their neighbours, where these agree.
pub fn settle(verdicts: &[Option<Verdict>], opening: &FxHashSet<usize>) -> Vec<Option<usize>> {
    let operator_of = |verdict: &Verdict| match verdict.says {
        Says::Operator(operator) => Some(Some(operator)),
        Says::OneOfSeveral => Some(None),
        Says::Nothing => None,
    };
    // The next word in the same segment, from the end.
    let mut next: Vec<Option<Option<usize>>> = vec![None; verdicts.len()];
    let mut seen: Option<(usize, Option<usize>)> = None;
    for (at, verdict) in verdicts.iter().enumerate().rev() {
        let Some(verdict) = verdict else { continue };
        next[at] = seen
            .filter(|(segment, _)| *segment == verdict.segment)
            .map(|(_, operator)| operator);
        if let Some(operator) = operator_of(verdict) {
            seen = Some((verdict.segment, operator));
        }
    }
    let mut previous: Option<(usize, Option<usize>)> = None;
    let mut out = Vec::with_capacity(verdicts.len());
    for (at, verdict) in verdicts.iter().enumerate() {
        let Some(verdict) = verdict else {
            out.push(None);
            continue;
        };
        if let Some(operator) = operator_of(verdict) {
            previous = Some((verdict.segment, operator));
            out.push(operator);
            continue;
        }
        let before = previous
            .filter(|(segment, _)| *segment == verdict.segment)
            .map(|(_, operator)| operator);
        let top = verdict.top.map(|(operator, _)| operator);
        let ends_open = opening.contains(&verdict.segment);
        out.push(match (before, next[at]) {
            (Some(before), Some(next)) if before == next => before,
            (Some(before), None) if ends_open && before == top => top,
            (None, Some(next)) if next == top => top,
            (None, None) if ends_open && verdict.top.is_some_and(|(_, own)| own) => top,
            _ => None,
        });
    }
    out
}
