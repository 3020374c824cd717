//! A place in a line, and what can be read there.

use super::malformed::{Malformed, Read};
use super::padding::PAD;
use super::scan;
use super::text::Text;

/// A place in one line of JSON.
#[derive(Clone)]
pub struct Cursor<'a> {
    // Invariant: at <= end, and buf.len() >= end + PAD, and buf[end] == b'\n'.
    pub(super) buf: &'a [u8],
    pub(super) at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    /// Reads `buf[..end]`.
    ///
    /// # Panics
    /// Unless `buf` goes on for [`PAD`] bytes behind `end`, the first of them a line feed.
    pub fn new(buf: &'a [u8], end: usize) -> Self {
        assert!(buf.len() >= end + PAD && buf[end] == b'\n');
        Self { buf, at: 0, end }
    }

    /// Offset of the next byte in the line.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Goes back to a position that [`position`](Self::position) gave.
    #[inline]
    pub fn rewind(&mut self, position: usize) {
        debug_assert!(position <= self.at);
        self.at = position.min(self.at);
    }

    #[inline(always)]
    pub(super) fn peek(&self) -> u8 {
        // SAFETY: at <= end < buf.len(): forward it goes over bytes that are no line feed, which
        // stands at the end, or to what `scan` found before the end; back to where it was.
        unsafe { *self.buf.get_unchecked(self.at) }
    }

    #[inline(always)]
    pub(super) fn white(&mut self) {
        // The line feed at the end is not among these.
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    #[inline(always)]
    fn eat(&mut self, byte: u8) -> bool {
        self.white();
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    /// Moves over `literal` if the line goes on with exactly these bytes, none of them a line feed.
    #[inline(always)]
    pub fn literal<const N: usize>(&mut self, literal: &[u8; N]) -> bool {
        const { assert!(N <= PAD) };
        debug_assert!(!literal.contains(&b'\n'));
        // SAFETY: at + N <= end + PAD <= buf.len().
        let here = unsafe { self.buf.get_unchecked(self.at..self.at + N) };
        // A match cannot reach past the end: the byte there is a line feed.
        let found = here == literal;
        self.at += if found { N } else { 0 };
        found
    }

    /// Whether only white space is left.
    pub fn finished(&mut self) -> bool {
        self.white();
        self.at == self.end
    }

    /// Reads an object; `field` is called at each value and must read or skip it.
    #[inline(always)]
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Read<()>) -> Read<()> {
        self.open()?;
        if self.eat(b'}') {
            return Ok(());
        }
        self.pairs(&mut field)
    }

    /// Moves into the object that stands here.
    #[inline(always)]
    pub fn open(&mut self) -> Read<()> {
        if !self.eat(b'{') {
            return Err(Malformed("an object was expected"));
        }
        self.white();
        Ok(())
    }

    /// Reads the rest of an object of which some pairs, or none, have been read.
    #[inline(always)]
    pub fn rest_of_object(
        &mut self,
        mut field: impl FnMut(&mut Self, &'a [u8]) -> Read<()>,
    ) -> Read<()> {
        let more = self.eat(b',');
        self.white();
        if more || self.peek() == b'"' {
            self.pairs(&mut field)
        } else if self.eat(b'}') {
            Ok(())
        } else {
            Err(Malformed("',' or '}' was expected"))
        }
    }

    /// Reads the rest of the object that is the line, and checks that nothing follows it.
    #[inline(always)]
    pub fn rest_of_line(&mut self, field: impl FnMut(&mut Self, &'a [u8]) -> Read<()>) -> Read<()> {
        self.rest_of_object(field)?;
        if self.finished() {
            Ok(())
        } else {
            Err(Malformed("more text behind the event"))
        }
    }

    #[inline(always)]
    fn pairs(&mut self, field: &mut impl FnMut(&mut Self, &'a [u8]) -> Read<()>) -> Read<()> {
        loop {
            let key = self.string()?;
            if !self.eat(b':') {
                return Err(Malformed("':' was expected"));
            }
            self.white();
            field(self, key.raw)?;
            if self.eat(b',') {
                self.white();
                continue;
            }
            return if self.eat(b'}') {
                Ok(())
            } else {
                Err(Malformed("',' or '}' was expected"))
            };
        }
    }

    /// Reads an array; `item` is called at each value and must read or skip it. Null is an empty one.
    #[inline(always)]
    pub fn array(&mut self, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        if self.null() {
            return Ok(());
        }
        if !self.eat(b'[') {
            return Err(Malformed("an array was expected"));
        }
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            self.white();
            item(self)?;
            if self.eat(b',') {
                continue;
            }
            return if self.eat(b']') {
                Ok(())
            } else {
                Err(Malformed("',' or ']' was expected"))
            };
        }
    }

    /// Moves over `null` if it stands here.
    #[inline]
    pub fn null(&mut self) -> bool {
        self.white();
        self.literal(b"null")
    }

    /// Whether an object stands here.
    pub fn at_object(&mut self) -> bool {
        self.white();
        self.peek() == b'{'
    }

    /// Reads a string.
    #[inline(always)]
    pub fn string(&mut self) -> Read<Text<'a>> {
        if !self.eat(b'"') {
            return Err(Malformed("a string was expected"));
        }
        let start = self.at;
        let (close, escaped) = scan::string_end(self.buf, start, self.end)
            .ok_or(Malformed("a string does not end"))?;
        self.at = close + 1;
        Ok(Text {
            raw: &self.buf[start..close],
            escaped,
        })
    }

    /// Moves over a string, behind its opening quote or from it; `None` if none stands here.
    #[inline(always)]
    pub fn string_from(&mut self, opened: bool) -> Option<()> {
        if !opened {
            if self.peek() != b'"' {
                return None;
            }
            self.at += 1;
        }
        let (close, _) = scan::string_end(self.buf, self.at, self.end)?;
        self.at = close + 1;
        Some(())
    }

    /// Reads a string or null.
    #[inline(always)]
    pub fn optional_string(&mut self) -> Read<Option<Text<'a>>> {
        if self.peek() != b'"' && self.null() {
            Ok(None)
        } else {
            self.string().map(Some)
        }
    }

    /// Reads a boolean.
    #[inline]
    pub fn boolean(&mut self) -> Read<bool> {
        self.white();
        if self.literal(b"true") {
            Ok(true)
        } else if self.literal(b"false") {
            Ok(false)
        } else {
            Err(Malformed("true or false was expected"))
        }
    }

    /// Moves over one value.
    #[inline]
    pub fn skip(&mut self) -> Read<()> {
        self.white();
        match self.peek() {
            b'"' => self.string().map(|_| ()),
            b'{' | b'[' => {
                self.at = scan::container_end(self.buf, self.at, self.end)
                    .ok_or(Malformed("brackets do not balance"))?;
                Ok(())
            }
            _ => self.skip_scalar(),
        }
    }

    /// Moves over one value and returns its bytes.
    pub fn raw(&mut self) -> Read<&'a [u8]> {
        self.white();
        let start = self.at;
        self.skip()?;
        Ok(&self.buf[start..self.at])
    }

    pub(super) fn skip_scalar(&mut self) -> Read<()> {
        let start = self.at;
        while matches!(self.peek(), b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.') {
            self.at += 1;
        }
        let scalar = &self.buf[start..self.at];
        let known = matches!(scalar, b"true" | b"false" | b"null" | b"NaN")
            || matches!(scalar.first(), Some(b'0'..=b'9' | b'-'));
        if known {
            Ok(())
        } else {
            Err(Malformed("a value was expected"))
        }
    }
}
