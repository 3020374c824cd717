//! Lines of a byte stream, in memory that grows only with the longest line.

use std::io::{self, Read};

use super::json::PAD;

/// Bytes read at once.
const BLOCK: usize = 1 << 20;
/// A line longer than this is passed over: memory stays bounded whatever the input.
const LONGEST: usize = 96 << 20;

/// What comes next in a stream.
#[derive(Debug)]
pub enum Next<'a> {
    /// A line: `buf[..len]`, followed by a line feed and at least [`PAD`] readable bytes in all.
    Line {
        /// The line and what follows it.
        buf: &'a [u8],
        /// Length of the line without its line feed.
        len: usize,
        /// Offset of the line in the stream.
        offset: u64,
        /// The stream had a line feed behind it.
        ended: bool,
    },
    /// A line longer than can be taken.
    TooLong {
        /// Offset of the line in the stream.
        offset: u64,
    },
    /// The end of the stream, or the error that ended it.
    End(Option<io::Error>),
}

/// Cuts a stream into lines.
pub struct Lines<R> {
    source: R,
    buf: Vec<u8>,
    start: usize,
    searched: usize,
    filled: usize,
    offset: u64,
    ended: bool,
    fault: Option<io::Error>,
}

impl<R: Read> Lines<R> {
    /// Reads from `source`, which need not be buffered.
    pub fn new(source: R) -> Self {
        let buf = vec![0; BLOCK + PAD];
        Self {
            source,
            buf,
            start: 0,
            searched: 0,
            filled: 0,
            offset: 0,
            ended: false,
            fault: None,
        }
    }

    /// Bytes returned so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next line.
    pub fn next(&mut self) -> Next<'_> {
        let offset = self.offset;
        loop {
            if let Some(feed) = memchr::memchr(b'\n', &self.buf[self.searched..self.filled]) {
                let (start, end) = (self.start, self.searched + feed);
                self.start = end + 1;
                self.searched = self.start;
                self.offset += (self.start - start) as u64;
                if end - start > LONGEST {
                    return Next::TooLong { offset };
                }
                return Next::Line {
                    buf: &self.buf[start..end + PAD],
                    len: end - start,
                    offset,
                    ended: true,
                };
            }
            self.searched = self.filled;
            if self.ended {
                let (start, len) = (self.start, self.filled - self.start);
                if len == 0 {
                    return Next::End(self.fault.take());
                }
                self.buf[self.filled] = b'\n';
                self.start = self.filled;
                self.offset += len as u64;
                return Next::Line {
                    buf: &self.buf[start..start + len + PAD],
                    len,
                    offset,
                    ended: false,
                };
            }
            if self.filled - self.start > LONGEST {
                self.pass_over();
                return Next::TooLong { offset };
            }
            self.fill();
        }
    }

    /// Reads a block behind what is held, after freeing room for it.
    fn fill(&mut self) {
        self.buf.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.searched -= self.start;
        self.start = 0;
        if self.buf.len() < self.filled + BLOCK / 2 + PAD {
            self.buf.resize(self.buf.len() * 2, 0);
        }
        let room = self.buf.len() - PAD;
        loop {
            match self.source.read(&mut self.buf[self.filled..room]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.ended = true;
                    self.fault = Some(error);
                }
            }
            return;
        }
    }

    /// Moves behind the next line feed, holding one block at a time.
    fn pass_over(&mut self) {
        loop {
            self.offset += (self.filled - self.start) as u64;
            self.start = 0;
            self.searched = 0;
            self.filled = 0;
            self.fill();
            if let Some(feed) = memchr::memchr(b'\n', &self.buf[..self.filled]) {
                self.start = feed + 1;
                self.searched = feed + 1;
                self.offset += (feed + 1) as u64;
                return;
            }
            if self.ended {
                self.offset += self.filled as u64;
                self.start = self.filled;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let bytes = self.1.min(self.0.len()).min(buf.len());
            buf[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    proptest! {
        #[test]
        fn lines_put_together_are_the_stream(text in "[ab\n]{0,200}", step in 1_usize..50) {
            let mut lines = Lines::new(Drip(text.as_bytes(), step));
            let mut out = Vec::new();
            loop {
                match lines.next() {
                    Next::Line { buf, len, offset, ended } => {
                        prop_assert_eq!(offset, out.len() as u64);
                        prop_assert!(buf.len() >= len + PAD && buf[len] == b'\n');
                        out.extend_from_slice(&buf[..len]);
                        if ended { out.push(b'\n') }
                    }
                    Next::End(fault) => { prop_assert!(fault.is_none()); break }
                    Next::TooLong { .. } => prop_assert!(false),
                }
            }
            prop_assert_eq!(out, text.as_bytes());
            prop_assert_eq!(lines.offset(), text.len() as u64);
        }
    }

    #[test]
    fn a_line_of_many_blocks_is_whole_and_one_beyond_measure_passed_over() {
        let long = [
            vec![b'x'; 3 * BLOCK],
            b"\n".to_vec(),
            vec![b'y'; LONGEST + 3 * BLOCK],
            b"\nz".to_vec(),
        ]
        .concat();
        let mut lines = Lines::new(long.as_slice());
        assert!(matches!(lines.next(), Next::Line { len, ended: true, .. } if len == 3 * BLOCK));
        let second = 3 * BLOCK as u64 + 1;
        assert!(matches!(lines.next(), Next::TooLong { offset } if offset == second));
        let third = long.len() as u64 - 1;
        assert!(
            matches!(lines.next(), Next::Line { len: 1, offset, ended: false, .. } if offset == third)
        );
        assert!(matches!(lines.next(), Next::End(None)));
    }
}
