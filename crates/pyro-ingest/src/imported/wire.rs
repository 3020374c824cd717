//! Protocol Buffers' wire format, as far as reading profiles needs it.
//!
//! Source: <https://protobuf.dev/programming-guides/encoding/>.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// Varint, or a number of fixed width.
    Number(u64),
    /// Text, a message, or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// As a number; 0 where it is none.
    pub fn number(self) -> u64 {
        match self {
            Self::Number(number) => number,
            Self::Bytes(_) => 0,
        }
    }

    /// As bytes; none where it is a number.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Number(_) => &[],
        }
    }

    /// Appends the numbers of a repeated field, packed or one by one. `None` where they break off.
    pub fn numbers(self, into: &mut Vec<u64>) -> Option<()> {
        match self {
            Self::Number(number) => into.push(number),
            Self::Bytes(bytes) => {
                let mut rest = Fields::new(bytes);
                while rest.at < bytes.len() {
                    into.push(rest.varint()?);
                }
            }
        }
        Some(())
    }
}

/// Fields of a message, in order. Ends where the message does, or breaks off: then
/// [`broken_at`](Self::broken_at) is set.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Offset of the field that cannot be read.
    pub broken_at: Option<usize>,
}

impl<'a> Fields<'a> {
    /// Fields of a message.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            broken_at: None,
        }
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Number(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Number(u32::from_le_bytes(self.take(4)?.try_into().ok()?).into()),
            _ => return None,
        };
        (key >> 3 > 0).then_some((key >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() || self.broken_at.is_some() {
            return None;
        }
        let start = self.at;
        let field = self.field();
        if field.is_none() {
            self.broken_at = Some(start);
        }
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type_are_read() {
        let bytes = [
            0x08, 0x96, 0x01, // 1: 150
            0x12, 0x02, b'h', b'i', // 2: "hi"
            0x19, 1, 0, 0, 0, 0, 0, 0, 0, // 3: fixed64 1
            0x25, 2, 0, 0, 0, // 4: fixed32 2
        ];
        let read: Vec<_> = Fields::new(&bytes).collect();
        let expected = [
            (1, Value::Number(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Number(1)),
            (4, Value::Number(2)),
        ];
        assert_eq!(read, expected);
        let mut numbers = Vec::new();
        assert!(
            Value::Bytes(&[3, 0x8e, 2, 0x9e, 0xa7, 5])
                .numbers(&mut numbers)
                .is_some()
        );
        assert_eq!(numbers, [3, 270, 86942]);
    }

    #[test]
    fn a_cut_message_says_where() {
        let mut fields = Fields::new(&[0x08, 0x01, 0x12, 0x05, b'h']);
        assert_eq!(fields.by_ref().count(), 1);
        assert_eq!(fields.broken_at, Some(2));
        assert_eq!(Fields::new(&[0xff; 12]).count(), 0);
        assert!(Value::Bytes(&[0x80]).numbers(&mut Vec::new()).is_none());
    }
}
