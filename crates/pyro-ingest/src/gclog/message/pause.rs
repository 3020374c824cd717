//! Lines that end a pause.

use super::kinds::{Message, Pause};
use super::size::size;
use crate::unified_log::decorations::decimal;

/// `Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.456ms`. The line that announces a pause
/// has neither sizes nor a length, and one that was cut has sizes without a length.
pub(super) fn pause<'a>(gc_id: i64, generation: &str, text: &'a str) -> Message<'a> {
    let (head, last) = text.rsplit_once(' ').unwrap_or(("", text));
    let duration = last
        .strip_suffix("ms")
        .and_then(|number| decimal(number, 6));
    let Some(duration_ns) = duration else {
        let whole = last.ends_with(')') && !last.contains("->") || !last.contains(['(', '>', '.']);
        return if whole {
            Message::Other
        } else {
            Message::Broken
        };
    };
    let (head, heap_bytes) = match head.rsplit_once(' ') {
        Some((before, sizes)) => match heap(sizes) {
            Some(bytes) => (before, Some(bytes)),
            None => (head, None),
        },
        None => (head, None),
    };
    let words = head.split(" (").next().unwrap_or(head).trim();
    let mut parentheses = Groups(head.get(words.len()..).unwrap_or("").trim());
    let (first, second) = (parentheses.next(), parentheses.next());
    let mut kind = format!("{generation}{}", words.to_lowercase());
    // G1 names the sort of a young pause first and the cause second; others only the cause.
    let cause = match (words, first, second) {
        ("Young", Some(sort), Some(cause)) => {
            match sort {
                "Normal" => {}
                "Mixed" => kind = "mixed".to_owned(),
                other => kind = format!("{kind} {}", other.to_lowercase()),
            }
            Some(cause)
        }
        ("Init Mark" | "Final Mark", Some(detail), None) => {
            kind = format!("{kind} ({})", detail.to_lowercase());
            None
        }
        ("Mark Start", Some(_), None) => None, // ZGC: (Major) or (Minor); the cycle has the cause
        (_, cause, _) => cause,
    };
    Message::Pause(Pause {
        gc_id,
        kind,
        cause,
        heap_bytes,
        duration_ns,
    })
}

/// Top-level parenthesised groups: `(A) (System.gc())` gives `A`, `System.gc()`.
struct Groups<'a>(&'a str);

impl<'a> Iterator for Groups<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start().strip_prefix('(')?;
        let mut depth = 1;
        for (at, byte) in text.bytes().enumerate() {
            depth += match byte {
                b'(' => 1,
                b')' => -1,
                _ => 0,
            };
            if depth == 0 {
                self.0 = &text[at + 1..];
                return Some(&text[..at]);
            }
        }
        None
    }
}

/// `24M->4M(256M)`.
fn heap(text: &str) -> Option<(i64, i64, i64)> {
    let (before, rest) = text.split_once("->")?;
    let (after, rest) = rest.split_once('(')?;
    Some((size(before)?, size(after)?, size(rest.strip_suffix(')')?)?))
}
