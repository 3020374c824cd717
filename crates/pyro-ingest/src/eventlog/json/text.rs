//! Strings as they stand in JSON, decoded only where they are kept.

use std::borrow::Cow;

/// A JSON string, still escaped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Text<'a> {
    /// What stands between the quotes.
    pub raw: &'a [u8],
    /// Whether that holds backslashes.
    pub escaped: bool,
}

impl<'a> Text<'a> {
    /// The string that is meant. Bytes that are not UTF-8 and lone surrogates become U+FFFD.
    #[inline]
    pub fn decode(&self) -> Cow<'a, str> {
        if self.escaped {
            return Cow::Owned(unescape(self.raw));
        }
        // The lossy conversion alone has no fast path for ASCII.
        std::str::from_utf8(self.raw)
            .map_or_else(|_| String::from_utf8_lossy(self.raw), Cow::Borrowed)
    }

    /// The first `limit` characters of the string that is meant.
    pub fn decode_start(&self, limit: usize) -> String {
        // A character takes 12 bytes at most: a pair of \uXXXX.
        let raw = &self.raw[..self.raw.len().min(limit.saturating_mul(12))];
        let text = Text {
            raw,
            escaped: self.escaped,
        }
        .decode();
        text.chars().take(limit).collect()
    }

    /// No character at all.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }
}

fn unescape(raw: &[u8]) -> String {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(backslash) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..backslash]);
        rest = &rest[backslash + 1..];
        let Some((&kind, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        match kind {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let (character, used) = unicode(rest);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[used..];
            }
            other => out.push(other),
        }
    }
    out.extend_from_slice(rest);
    String::from_utf8(out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The character of the digits behind `\u`, and how many bytes spell it.
fn unicode(rest: &[u8]) -> (char, usize) {
    let unit = |rest: &[u8]| {
        let digits = std::str::from_utf8(rest.get(..4)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(rest) else {
        return (char::REPLACEMENT_CHARACTER, 0);
    };
    let character = |code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    if (0xD800..0xDC00).contains(&first)
        && rest.get(4..6) == Some(b"\\u")
        && let Some(second @ 0xDC00..0xE000) = unit(&rest[6..])
    {
        return (
            character(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)),
            10,
        );
    }
    (character(first), 4)
}
