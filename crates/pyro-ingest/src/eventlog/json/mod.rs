//! An on-demand reader of one line of JSON.
//!
//! Nothing is built that is not asked for. What is asked for is checked in full. What is
//! skipped is checked for its shape alone: strings must end, brackets must balance, scalars
//! must end in a delimiter. Control characters inside strings, the order of `,` and `:` inside
//! a skipped container, and `{` closed by `]` there are not looked for: that would cost a
//! multiple and no table is made from such bytes.

mod scan;
mod text;

pub use text::Text;

/// Bytes that must be readable behind the end of a line, so that vector loads need no checks.
pub const PAD: usize = 64;

/// Why a line cannot be read. Where is [`Cursor::position`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad(pub &'static str);

/// Result of reading JSON.
pub type Read<T> = Result<T, Bad>;

/// A place in one line of JSON.
#[derive(Clone)]
pub struct Cursor<'a> {
    // Invariant: at <= end, and buf.len() >= end + PAD, and buf[end] == b'\n'.
    buf: &'a [u8],
    at: usize,
    end: usize,
}

/// A copy of `line` that a [`Cursor`] can read.
pub fn padded(line: &[u8]) -> Vec<u8> {
    let mut buf = Vec::with_capacity(line.len() + PAD);
    buf.extend_from_slice(line);
    buf.push(b'\n');
    buf.resize(line.len() + PAD, 0);
    buf
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
        self.at = position;
    }

    #[inline(always)]
    fn peek(&self) -> u8 {
        // SAFETY: at <= end < buf.len().
        unsafe { *self.buf.get_unchecked(self.at) }
    }

    #[inline(always)]
    fn white(&mut self) {
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
            return Err(Bad("an object was expected"));
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
            Err(Bad("',' or '}' was expected"))
        }
    }

    /// Reads the rest of the object that is the line, and makes sure that nothing follows it.
    #[inline(always)]
    pub fn rest_of_line(&mut self, field: impl FnMut(&mut Self, &'a [u8]) -> Read<()>) -> Read<()> {
        self.rest_of_object(field)?;
        if self.finished() {
            Ok(())
        } else {
            Err(Bad("more text behind the event"))
        }
    }

    /// Reads the unsigned integers behind the given keys, in their order, where these stand here.
    ///
    /// A shortcut in front of [`rest_of_object`](Self::rest_of_object): it stops at the first
    /// pair that is not as expected, and leaves that and what follows to it.
    #[inline(always)]
    pub fn expected<const N: usize>(&mut self, key: &[u8; N], value: &mut Option<i64>) {
        let start = self.at;
        if self.literal(key) {
            match self.digits() {
                // A fraction, an exponent or too many digits: for the general way to read.
                Some(number) if matches!(self.peek(), b',' | b'}') => *value = Some(number),
                _ => self.at = start,
            }
        }
    }

    #[inline(always)]
    fn pairs(&mut self, field: &mut impl FnMut(&mut Self, &'a [u8]) -> Read<()>) -> Read<()> {
        loop {
            let key = self.string()?;
            if !self.eat(b':') {
                return Err(Bad("':' was expected"));
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
                Err(Bad("',' or '}' was expected"))
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
            return Err(Bad("an array was expected"));
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
                Err(Bad("',' or ']' was expected"))
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
            return Err(Bad("a string was expected"));
        }
        let start = self.at;
        let (close, escaped) =
            scan::string_end(self.buf, start, self.end).ok_or(Bad("a string does not end"))?;
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

    /// Reads an unsigned integer of 1 … 18 digits; the position is undefined where there is none.
    #[inline(always)]
    pub fn digits(&mut self) -> Option<i64> {
        let start = self.at;
        let mut value = 0_u64;
        loop {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        (self.at > start && self.at - start <= 18).then_some(value as i64)
    }

    /// The same, with or without quotes.
    #[inline(always)]
    pub fn digits_maybe_quoted(&mut self) -> Option<i64> {
        if self.peek() != b'"' {
            return self.digits();
        }
        self.at += 1;
        let value = self.digits()?;
        let closed = self.peek() == b'"';
        self.at += usize::from(closed);
        closed.then_some(value)
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

    /// Reads an integer; a fraction or exponent is cut off.
    #[inline(always)]
    pub fn integer(&mut self) -> Read<i64> {
        self.white();
        let negative = self.peek() == b'-';
        self.at += usize::from(negative);
        let start = self.at;
        let mut value = 0_u64;
        loop {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        let plain = self.at > start && self.at - start <= 18;
        if plain && !matches!(self.peek(), b'.' | b'e' | b'E') {
            return Ok(if negative {
                -(value as i64)
            } else {
                value as i64
            });
        }
        self.at = start - usize::from(negative);
        self.odd_integer()
    }

    #[cold]
    fn odd_integer(&mut self) -> Read<i64> {
        let start = self.at;
        self.skip_scalar()?;
        parse_integer(&self.buf[start..self.at]).ok_or(Bad("an integer was expected"))
    }

    /// Reads an integer or null.
    #[inline(always)]
    pub fn optional_integer(&mut self) -> Read<Option<i64>> {
        if self.peek().is_ascii_digit() {
            return self.integer().map(Some);
        }
        if self.null() {
            Ok(None)
        } else {
            self.integer().map(Some)
        }
    }

    /// Reads an integer, plain or in a string; anything else is moved over and gives `None`.
    #[inline(always)]
    pub fn loose_integer(&mut self) -> Read<Option<i64>> {
        self.white();
        match self.peek() {
            b'"' => Ok(parse_integer(self.string()?.raw)),
            b'0'..=b'9' | b'-' => self.integer().map(Some),
            _ => self.skip().map(|()| None),
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
            Err(Bad("true or false was expected"))
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
                    .ok_or(Bad("brackets do not balance"))?;
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

    fn skip_scalar(&mut self) -> Read<()> {
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
            Err(Bad("a value was expected"))
        }
    }
}

/// The integer that `digits` spell, a fraction cut off.
#[inline]
pub fn parse_integer(digits: &[u8]) -> Option<i64> {
    let (negative, rest) = match digits {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    if !rest.is_empty() && rest.len() <= 18 && rest.iter().all(u8::is_ascii_digit) {
        let value = rest
            .iter()
            .fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        return Some(if negative { -value } else { value });
    }
    let text = std::str::from_utf8(digits).ok()?;
    text.parse().ok().or_else(|| {
        let value: f64 = text.parse().ok()?;
        // Beyond 2^63 there is no integer to give.
        (value.abs() < 9.2e18).then_some(value as i64)
    })
}

#[cfg(test)]
mod tests;
