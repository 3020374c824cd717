//! Lines of a text of any size, in memory bounded by its longest line.

use std::io::{self, Read};

use memchr::memchr;

/// Bytes read at once.
const BLOCK: usize = 256 << 10;
/// A longer line is no line of a profile.
const MAX_LINE: usize = 64 << 20;

/// Why a profile cannot be read further.
#[derive(Debug)]
pub enum Problem {
    /// Reading failed.
    Io(io::Error),
    /// A line is not what the format says.
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// Offset of its first byte.
        byte: u64,
        /// What is wrong with it.
        text: String,
    },
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Line { line, byte, text } => write!(f, "line {line} (byte {byte}): {text}"),
        }
    }
}

impl std::error::Error for Problem {}

/// Reads line by line; a line is valid until the next is asked for.
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// What of the buffer was not returned yet.
    start: usize,
    end: usize,
    /// Number of the line returned last, and its offset in the input.
    line: u64,
    byte: u64,
    /// Offset in the input of what comes next.
    next_byte: u64,
}

impl<R: Read> Lines<R> {
    /// Starts at the beginning of `input`, which need not be buffered.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BLOCK],
            start: 0,
            end: 0,
            line: 0,
            byte: 0,
            next_byte: 0,
        }
    }

    /// The next line without its end (`\n` or `\r\n`); `None` at the end of the input.
    ///
    /// # Errors
    /// If reading fails or the line is beyond any measure.
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, Problem> {
        let mut searched = 0;
        let length = loop {
            let rest = &self.buffer[self.start + searched..self.end];
            if let Some(at) = memchr(b'\n', rest) {
                break searched + at;
            }
            searched = self.end - self.start;
            if !self.fill()? {
                if searched == 0 {
                    return Ok(None);
                }
                break searched;
            }
        };
        let from = self.start;
        let taken = (length + 1).min(self.end - from);
        self.start += taken;
        self.line += 1;
        self.byte = self.next_byte;
        self.next_byte += taken as u64;
        let line = &self.buffer[from..from + length];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Reads on behind what is held; false at the end of the input.
    #[cold]
    fn fill(&mut self) -> Result<bool, Problem> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.end >= MAX_LINE {
                self.line += 1;
                self.byte = self.next_byte;
                return Err(self.problem(format!("longer than {} MiB", MAX_LINE >> 20)));
            }
            self.buffer.resize(2 * self.end, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.end += count;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Problem::Io(error)),
            }
        }
    }

    /// Number of the last line, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Bytes read so far, the last line's among them.
    pub fn bytes(&self) -> u64 {
        self.next_byte
    }

    /// A problem with the last line.
    pub fn problem(&self, text: impl Into<String>) -> Problem {
        Problem::Line {
            line: self.line,
            byte: self.byte,
            text: text.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<String> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push(String::from_utf8_lossy(line).into_owned());
        }
        assert_eq!(lines.bytes(), text.len() as u64);
        found
    }

    #[test]
    fn lines_end_with_or_without_a_break() {
        assert_eq!(all(b""), [""; 0]);
        assert_eq!(all(b"a"), ["a"]);
        assert_eq!(all(b"a\r\n\nb\n"), ["a", "", "b"]);
    }

    #[test]
    fn lines_longer_than_the_buffer_are_whole() {
        let long = "x".repeat(3 * BLOCK + 7);
        let text = format!("a\n{long}\nb");
        assert_eq!(all(text.as_bytes()), ["a", long.as_str(), "b"]);
    }

    #[test]
    fn a_problem_names_line_and_byte() {
        let mut lines = Lines::new(&b"ab\ncd\n"[..]);
        lines.next_line().unwrap();
        lines.next_line().unwrap();
        assert_eq!(lines.problem("bad").to_string(), "line 2 (byte 3): bad");
    }
}
