//! A bounds-checked cursor over the bytes of a chunk.

/// The bytes are not what the format says: too short, or a value out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Set in all bytes of a compressed integer but the last.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Result of reading bytes.
pub type Read<T> = Result<T, Malformed>;

/// Bits of one in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Reads forward through a slice, up to an end. Integers are read eight bytes at a time: those
/// behind the end are looked at, but belong to nothing that is read.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

/// A string as JFR encodes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text<'a> {
    /// No string.
    Null,
    /// UTF-8, or what should be.
    Utf8(&'a [u8]),
    /// ISO 8859-1.
    Latin1(&'a [u8]),
    /// A number of UTF-16 units, each a varint.
    Utf16(usize, &'a [u8]),
    /// Key in the pool of strings.
    Pooled(u64),
}

impl Text<'_> {
    /// The string; what is not valid is replaced. Pooled ones are for the caller to look up.
    pub fn decode(self) -> Option<String> {
        match self {
            Self::Null | Self::Pooled(_) => None,
            Self::Utf8(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Self::Latin1(bytes) => Some(bytes.iter().map(|&b| char::from(b)).collect()),
            Self::Utf16(count, bytes) => {
                let mut cursor = Cursor::new(bytes);
                let units: Vec<u16> = (0..count)
                    .map_while(|_| cursor.varint().ok())
                    .map(|unit| unit as u16)
                    .collect();
                Some(String::from_utf16_lossy(&units))
            }
        }
    }
}

impl<'a> Cursor<'a> {
    /// Starts at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::at(bytes, 0)
    }

    /// Starts at `offset` of `bytes`.
    pub fn at(bytes: &'a [u8], offset: usize) -> Self {
        let end = bytes.len();
        Self {
            bytes,
            at: offset.min(end),
            end,
        }
    }

    /// Takes `count` bytes, to be read by themselves.
    #[inline]
    pub fn part(&mut self, count: usize) -> Read<Self> {
        let at = self.at;
        self.take(count)?;
        Ok(Self {
            bytes: self.bytes,
            at,
            end: self.at,
        })
    }

    /// The bytes left.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..self.end]
    }

    /// Offset of the next byte.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.end - self.at
    }

    /// Takes `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        let end = self
            .at
            .checked_add(count)
            .filter(|&end| end <= self.end)
            .ok_or(Malformed)?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// One byte.
    #[inline]
    pub fn byte(&mut self) -> Read<u8> {
        let byte = *self.bytes[..self.end].get(self.at).ok_or(Malformed)?;
        self.at += 1;
        Ok(byte)
    }

    /// A compressed integer: 7 bits a byte, lowest first; a ninth byte gives 8.
    #[inline]
    pub fn varint(&mut self) -> Read<u64> {
        let Some(word) = self.word() else {
            return self.varint_at_end();
        };
        let ends = !word & HIGH_BITS;
        if ends == 0 {
            return self.varint_at_end();
        }
        let length = ends.trailing_zeros() / 8 + 1;
        self.pass(length as usize)?;
        // Bits above the last byte out, then the groups of 7 together: by twos, fours, eights.
        let bits = word & (u64::MAX >> (64 - 8 * length)) & !HIGH_BITS;
        let bits = (bits & 0x007f_007f_007f_007f) | (bits & 0x7f00_7f00_7f00_7f00) >> 1;
        let bits = (bits & 0x0000_3fff_0000_3fff) | (bits & 0x3fff_0000_3fff_0000) >> 2;
        Ok((bits & 0x0fff_ffff) | (bits >> 4 & 0xff_ffff_f000_0000))
    }

    /// Passes over bytes.
    #[inline]
    fn pass(&mut self, count: usize) -> Read<()> {
        if count > self.end - self.at {
            return Err(Malformed);
        }
        self.at += count;
        Ok(())
    }

    /// The next 8 bytes, the end or not.
    #[inline]
    fn word(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// The same near the end of the bytes, or of nine bytes.
    #[cold]
    fn varint_at_end(&mut self) -> Read<u64> {
        let mut value = 0;
        for shift in (0..56).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Ok(value | u64::from(self.byte()?) << 56)
    }

    /// Passes over compressed integers without reading them: their last bytes are counted, eight
    /// bytes at a time.
    #[inline]
    pub fn skip_varints(&mut self, mut count: usize) -> Read<()> {
        while count > 0 {
            let mut ends = !self.word().unwrap_or(u64::MAX) & HIGH_BITS;
            let found = ((ends >> 7).wrapping_mul(ONES) >> 56) as usize;
            if found == 0 {
                self.varint_at_end()?;
                count -= 1;
            } else if found <= count {
                // What follows the last end belongs to an integer that is still to be counted.
                self.pass(8 - ends.leading_zeros() as usize / 8)?;
                count -= found;
            } else {
                (1..count).for_each(|_| ends &= ends - 1);
                return self.pass(ends.trailing_zeros() as usize / 8 + 1);
            }
        }
        Ok(())
    }

    /// A count of things that each take at least one byte.
    pub fn count(&mut self) -> Read<usize> {
        let count = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        if count <= self.remaining() {
            Ok(count)
        } else {
            Err(Malformed)
        }
    }

    /// The size of an event that begins at `start`, its own bytes among them.
    #[inline]
    pub fn count_from(&mut self, start: usize) -> Read<usize> {
        let size = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        if size <= self.end - start {
            Ok(size)
        } else {
            Err(Malformed)
        }
    }

    /// A big-endian 64-bit integer.
    pub fn be64(&mut self) -> Read<i64> {
        let bytes = self.take(8)?.try_into().map_err(|_| Malformed)?;
        Ok(i64::from_be_bytes(bytes))
    }

    /// A string.
    pub fn text(&mut self) -> Read<Text<'a>> {
        Ok(match self.byte()? {
            0 => Text::Null,
            1 => Text::Utf8(&[]),
            2 => Text::Pooled(self.varint()?),
            3 => {
                let length = self.count()?;
                Text::Utf8(self.take(length)?)
            }
            4 => {
                let count = self.count()?;
                let start = self.at;
                for _ in 0..count {
                    self.varint()?;
                }
                Text::Utf16(count, &self.bytes[start..self.at])
            }
            5 => {
                let length = self.count()?;
                Text::Latin1(self.take(length)?)
            }
            _ => return Err(Malformed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints() {
        let read = |bytes: &[u8]| Cursor::new(bytes).varint();
        assert_eq!(read(&[0x7f]), Ok(127));
        assert_eq!(read(&[0x80, 0x01]), Ok(128));
        assert_eq!(read(&[0xe3, 0xcb, 0x80, 0x80, 0x00]), Ok(9699));
        assert_eq!(read(&[0xff; 9]), Ok(u64::MAX));
        assert_eq!(read(&[0xff; 8]), Err(Malformed));
        assert_eq!(read(&[]), Err(Malformed));
    }

    fn written(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < 8 && value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    proptest::proptest! {
        #[test]
        fn varints_are_read_and_passed_over_alike(
            shifts in proptest::collection::vec((proptest::num::u64::ANY, 0_u32..64), 0..40),
        ) {
            let values: Vec<u64> = shifts.iter().map(|(value, shift)| value >> shift).collect();
            let bytes: Vec<u8> = values.iter().flat_map(|&value| written(value)).collect();
            let mut cursor = Cursor::new(&bytes);
            for (at, &value) in values.iter().enumerate() {
                let mut skipping = Cursor::new(&bytes);
                skipping.skip_varints(at).unwrap();
                proptest::prop_assert_eq!(skipping.position(), cursor.position());
                proptest::prop_assert_eq!(cursor.varint(), Ok(value));
            }
            let mut skipping = Cursor::new(&bytes);
            proptest::prop_assert_eq!(skipping.skip_varints(values.len() + 1), Err(Malformed));
        }
    }

    #[test]
    fn strings_of_every_encoding() {
        let read = |bytes: &[u8]| Cursor::new(bytes).text().unwrap().decode();
        assert_eq!(read(&[0]), None);
        assert_eq!(read(&[1]), Some(String::new()));
        assert_eq!(read(&[3, 3, b'a', 0xc3, 0xa9]), Some("aé".to_owned()));
        assert_eq!(read(&[4, 2, b'a', 0xe9, 0x01]), Some("aé".to_owned()));
        assert_eq!(read(&[5, 2, b'a', 0xe9]), Some("aé".to_owned()));
        assert_eq!(Cursor::new(&[2, 9]).text(), Ok(Text::Pooled(9)));
        assert_eq!(Cursor::new(&[3, 200, 1]).text(), Err(Malformed));
        assert_eq!(Cursor::new(&[9]).text(), Err(Malformed));
    }
}
