//! Reading integers.

use super::cursor::Cursor;
use super::malformed::{Malformed, Read};

impl Cursor<'_> {
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
        parse_integer(&self.buf[start..self.at]).ok_or(Malformed("an integer was expected"))
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
