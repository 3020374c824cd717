//! The text of `perf script`: samples of any events, with or without call chains.
//!
//! ```text
//! java 4711/4712 [001] 92.123456:   10101010 cpu-clock:ppp:
//!         7f5e1c0a1b2c java.lang.Thread.run+0x1c (/tmp/perf-4711.map)
//!                 1234 memcpy (inlined)
//!         7f5e2c0a1b2c [unknown] (/usr/lib/libfoo.so (deleted))
//! ```
//!
//! Which fields a line has is the user's choice (`-F`); what is missing stays unknown. A sample
//! ends with an empty line, or where the next begins. Other indented lines (source lines, branch
//! stacks) are passed over and counted.

mod head;
mod sample;
mod symbols;

use std::io::Read;

use super::lines::{Lines, Problem};
use super::name::{NameStyle, clean, write_name};
use super::stacks::Folded;
use head::{Head, OwnedHead};
pub use sample::Sample;
pub use symbols::{Symbol, Symbols};

/// Reads sample by sample.
pub struct PerfScript<R> {
    lines: Lines<R>,
    /// Symbols seen so far.
    pub symbols: Symbols,
    /// Names of the events seen so far, as perf prints them.
    pub events: Vec<Vec<u8>>,
    sample: Sample,
    /// The line read last is the head of the next sample.
    next: Option<OwnedHead>,
    /// Lines passed over.
    pub other_lines: u64,
    /// Samples read.
    pub samples: u64,
}

impl<R: Read> PerfScript<R> {
    /// Starts at the beginning of `input`, which need not be buffered.
    pub fn new(input: R) -> Self {
        Self {
            lines: Lines::new(input),
            symbols: Symbols::default(),
            events: Vec::new(),
            sample: Sample::default(),
            next: None,
            other_lines: 0,
            samples: 0,
        }
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    /// The sample read last.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }

    /// Reads the next sample; false at the end.
    ///
    /// # Errors
    /// If reading fails, or a line where a sample should begin is none of a sample's.
    pub fn read_sample(&mut self) -> Result<bool, Problem> {
        if !self.begin()? {
            return Ok(false);
        }
        self.samples += 1;
        let mut chain = false;
        while let Some(line) = self.lines.next_line()? {
            let indented = matches!(line.first(), Some(b' ' | b'\t'));
            let text = line.trim_ascii();
            if text.is_empty() {
                break;
            }
            // An indented line is rather a frame, one at the margin rather a head; but tools that
            // trim lines leave frames there, and perf indents heads of samples without a chain.
            let frame = if indented { symbols::parse(text) } else { None };
            let head = if frame.is_none() {
                Head::parse(text)
            } else {
                None
            };
            if let Some(head) = head {
                self.next = Some(head.owned(&mut self.events));
                break;
            }
            let frame = frame.or_else(|| match indented {
                true => symbols::parse_without_address(text),
                false => symbols::parse(text),
            });
            if let Some(frame) = frame {
                if !chain {
                    // The address on the head's own line is the first of the chain.
                    self.sample.stack.clear();
                    chain = true;
                }
                self.sample.stack.push(self.symbols.number(&frame));
            } else if indented || text[0] == b'#' {
                self.other_lines += 1;
            } else {
                let text = complaint(text);
                return Err(self.lines.problem(text));
            }
        }
        Ok(true)
    }

    /// Takes the head of the next sample; false at the end.
    fn begin(&mut self) -> Result<bool, Problem> {
        let head = match self.next.take() {
            Some(head) => head,
            None => loop {
                let Some(line) = self.lines.next_line()? else {
                    return Ok(false);
                };
                let text = line.trim_ascii();
                if text.is_empty() || text[0] == b'#' {
                    continue;
                }
                match Head::parse(text).or_else(|| Head::parse_without_pid(text)) {
                    Some(head) => break head.owned(&mut self.events),
                    None => {
                        let text = complaint(text);
                        return Err(self.lines.problem(text));
                    }
                }
            },
        };
        self.sample = head.sample;
        let frame = head
            .rest
            .ends_with(b")")
            .then(|| symbols::parse(&head.rest));
        if let Some(frame) = frame.flatten() {
            self.sample.stack.push(self.symbols.number(&frame));
        }
        Ok(true)
    }
}

#[cold]
fn complaint(text: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&text[..text.len().min(80)]);
    format!(
        "{shown:?} does not begin a sample; perf script writes `comm pid/tid [cpu] time: period event:`"
    )
}

/// Adds the samples of one event, or of the first seen: the thread's name, then the stack from the
/// root. Each weighs its period where perf printed it, or 1, as all do where `count` is asked for.
///
/// # Errors
/// As [`PerfScript::next_sample`].
pub fn fold<R: Read>(
    script: &mut PerfScript<R>,
    event: Option<&str>,
    count: bool,
    style: NameStyle,
    into: &mut Folded,
) -> Result<(), Problem> {
    // Names of each symbol's frames, root first.
    let mut names: Vec<Box<[u32]>> = Vec::new();
    let mut stack = Vec::new();
    let mut text = Vec::new();
    while script.read_sample()? {
        while names.len() < script.symbols.len() {
            let symbol = script.symbols.get(names.len() as u32);
            let frames = symbol.frames().into_iter().map(|frame| {
                text.clear();
                write_name(&frame, style, &mut text);
                into.name(&text)
            });
            names.push(frames.collect());
        }
        let sample = &script.sample;
        let wanted = match event {
            Some(event) => script.events[sample.event as usize] == event.as_bytes(),
            None => sample.event == 0,
        };
        if !wanted {
            continue;
        }
        stack.clear();
        if !sample.comm.is_empty() {
            text.clear();
            text.extend_from_slice(&sample.comm);
            clean(&mut text);
            stack.push(into.name(&text));
        }
        for &symbol in sample.stack.iter().rev() {
            stack.extend_from_slice(&names[symbol as usize]);
        }
        let weight = sample.period.filter(|_| !count).unwrap_or(1);
        into.add(&stack, weight);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
