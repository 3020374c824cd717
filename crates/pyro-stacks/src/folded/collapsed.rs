//! Collapsed stacks, as flame graph tools write them: a line `root;caller;leaf 12` a stack.
//!
//! A frame may hold any byte but `;` and line breaks; the weight is what follows the last space.
//! Of sorted text a line mostly repeats the one before: what both begin with is not read again.

use std::io::Read;

use memchr::memchr_iter;

use super::arena::SequenceHash;
use super::lines::{Lines, Problem};
use super::stacks::Folded;

/// How much was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines with a stack.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Reads text and adds its stacks.
///
/// # Errors
/// If reading fails, or a line does not end in a whole number; what came before stays added.
pub fn read(input: impl Read, into: &mut Folded) -> Result<Counts, Problem> {
    let mut lines = Lines::new(input);
    let mut last = Last::default();
    let mut counts = Counts::default();
    while let Some(line) = lines.next_line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let Some((stack, weight)) = split(line) else {
            let text = complaint(line);
            return Err(lines.problem(text));
        };
        last.follow(stack, into);
        into.add_hashed(&last.frames, last.hash(), weight);
        counts.lines += 1;
    }
    counts.bytes = lines.bytes();
    Ok(counts)
}

/// Stack and weight of a line.
#[inline]
fn split(line: &[u8]) -> Option<(&[u8], i64)> {
    let line = without_zero_fraction(line.trim_ascii_end());
    let (head, number) = line.split_at(line.len() - digits_at_end(line));
    let negative = head.ends_with(b" -");
    let head = if negative {
        &head[..head.len() - 1]
    } else {
        head
    };
    let (last, stack) = head.split_last()?;
    if number.is_empty() || !matches!(last, b' ' | b'\t') {
        return None;
    }
    // Below zero there is one number more than above.
    let mut below = 0_i64;
    for &digit in number {
        below = below
            .checked_mul(10)?
            .checked_sub(i64::from(digit - b'0'))?;
    }
    Some((
        stack,
        if negative {
            below
        } else {
            below.checked_neg()?
        },
    ))
}

fn digits_at_end(line: &[u8]) -> usize {
    line.iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count()
}

/// `12.00` is whole; another fraction would have to be rounded and is left in place.
#[inline]
fn without_zero_fraction(line: &[u8]) -> &[u8] {
    let (head, fraction) = line.split_at(line.len() - digits_at_end(line));
    match head.strip_suffix(b".") {
        Some(whole) if digits_at_end(whole) > 0 && fraction.iter().all(|&b| b == b'0') => whole,
        _ => line,
    }
}

#[cold]
fn complaint(line: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
    let dots = if line.len() > 80 { "…" } else { "" };
    format!(
        "no integer at the end of {shown:?}{dots}; a collapsed stack reads `root;caller;leaf 12`"
    )
}

/// The line before, as far as it may be repeated.
#[derive(Default)]
struct Last {
    text: Vec<u8>,
    frames: Vec<u32>,
    /// Where each frame ends in the text.
    ends: Vec<usize>,
    /// Hash of the stack up to each frame.
    hashes: Vec<SequenceHash>,
}

impl Last {
    fn hash(&self) -> SequenceHash {
        self.hashes.last().copied().unwrap_or_default()
    }

    /// Makes `stack` the last line.
    #[inline]
    fn follow(&mut self, stack: &[u8], into: &mut Folded) {
        let same = common_prefix(&self.text, stack);
        // A frame is repeated if the same text ends with a `;`, or the line, in both.
        let kept = self
            .ends
            .iter()
            .rposition(|&end| {
                end < same || (end == same && stack.get(end).is_none_or(|&b| b == b';'))
            })
            .map_or(0, |at| at + 1);
        let repeated = if kept == 0 { 0 } else { self.ends[kept - 1] };
        self.frames.truncate(kept);
        self.ends.truncate(kept);
        self.hashes.truncate(kept);
        self.text.truncate(repeated);
        self.text.extend_from_slice(&stack[repeated..]);
        if kept > 0 && repeated == stack.len() {
            return;
        }
        let mut start = if kept == 0 { 0 } else { repeated + 1 };
        let ends = memchr_iter(b';', &stack[start..]);
        let from = start;
        for end in ends.map(|at| from + at).chain([stack.len()]) {
            self.frame(&stack[start..end], end, into);
            start = end + 1;
        }
    }

    #[inline]
    fn frame(&mut self, name: &[u8], end: usize, into: &mut Folded) {
        let name = if name.is_empty() { b"[unknown]" } else { name };
        let frame = into.name(name);
        self.hashes.push(self.hash().with(frame));
        self.frames.push(frame);
        self.ends.push(end);
    }
}

/// Bytes that two texts begin with alike.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (words_a, _) = a.as_chunks::<8>();
    let (words_b, _) = b.as_chunks::<8>();
    let words = words_a
        .iter()
        .zip(words_b)
        .take_while(|(a, b)| a == b)
        .count();
    let start = words * 8;
    let rest = a[start..].iter().zip(&b[start..]);
    start + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Result<String, String> {
        let mut folded = Folded::default();
        read(text.as_bytes(), &mut folded).map_err(|problem| problem.to_string())?;
        let mut out = Vec::new();
        folded.write(&mut out).unwrap();
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn repeated_beginnings_are_told_apart_at_frames() {
        let text =
            "main;ab;c 1\nmain;ab 2\nmain;abc 3\nmain;ab;c;d 4\nmain 5\nmain;ab;c 6\n\nma 7\n";
        let sorted = "ma 7\nmain 5\nmain;ab 2\nmain;ab;c 7\nmain;ab;c;d 4\nmain;abc 3\n";
        assert_eq!(folded(text).unwrap(), sorted);
    }

    #[test]
    fn frames_hold_spaces_and_numbers() {
        let text =
            "a b 1;f(int, char) 12\r\n[tid=5];x 0\nneg -9223372036854775808\nzero;f 12.00\n;x 1\n";
        let sorted = "[tid=5];x 0\n[unknown];x 1\na b 1;f(int, char) 12\nneg -9223372036854775808\nzero;f 12\n";
        assert_eq!(folded(text).unwrap(), sorted);
    }

    #[test]
    fn a_line_without_a_weight_is_named() {
        for (bad, line) in [
            ("a;b", 1),
            ("a;b 1\na;b x\n", 2),
            ("a 1.5", 1),
            ("12", 1),
            ("a 99999999999999999999", 1),
        ] {
            let text = folded(bad).unwrap_err();
            assert!(text.starts_with(&format!("line {line} (byte ")), "{text}");
            assert!(text.contains("a;b") || text.contains("integer"), "{text}");
        }
    }
}
