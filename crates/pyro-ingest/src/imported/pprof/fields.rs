//! Fields of the outermost message, one after another: the samples of a large profile are never
//! decoded all at once.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// A field.
#[derive(Debug, PartialEq)]
pub struct Field<'a> {
    /// Its number in `profile.proto`.
    pub tag: u32,
    /// Offset of its content.
    pub at: usize,
    /// What it holds.
    pub content: Content<'a>,
}

/// What a field holds.
#[derive(Debug, PartialEq)]
pub enum Content<'a> {
    /// A text or a message.
    Bytes(&'a [u8]),
    /// A varint.
    Number(u64),
    /// A number of fixed width, which no field of a profile is.
    Other,
}

/// The fields of a message; an error is the offset of the one that cannot be read.
pub struct Fields<'a> {
    message: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Fields of a message.
    pub fn new(message: &'a [u8]) -> Self {
        Self {
            message,
            rest: message,
        }
    }

    fn field(&mut self) -> Option<Field<'a>> {
        let (tag, wire_type) = decode_key(&mut self.rest).ok()?;
        let mut at = self.message.len() - self.rest.len();
        let content = match wire_type {
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut self.rest).ok()?).ok()?;
                at = self.message.len() - self.rest.len();
                let (bytes, rest) = self.rest.split_at_checked(length)?;
                self.rest = rest;
                Content::Bytes(bytes)
            }
            WireType::Varint => Content::Number(decode_varint(&mut self.rest).ok()?),
            _ => {
                let context = DecodeContext::default();
                skip_field(wire_type, tag, &mut self.rest, context).ok()?;
                Content::Other
            }
        };
        Some(Field { tag, at, content })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, usize>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let start = self.message.len() - self.rest.len();
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field.ok_or(start))
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
            0x19, 1, 0, 0, 0, 0, 0, 0, 0, // 3: fixed64
            0x25, 2, 0, 0, 0, // 4: fixed32
        ];
        let read: Vec<_> = Fields::new(&bytes).map(Result::unwrap).collect();
        let field = |tag, at, content| Field { tag, at, content };
        let expected = [
            field(1, 1, Content::Number(150)),
            field(2, 5, Content::Bytes(b"hi")),
            field(3, 8, Content::Other),
            field(4, 17, Content::Other),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_cut_message_says_where() {
        let read: Vec<_> = Fields::new(&[0x08, 0x01, 0x12, 0x05, b'h']).collect();
        assert_eq!((read.len(), read[1].as_ref().err()), (2, Some(&2)));
        let garbage: Vec<_> = Fields::new(&[0xff; 12]).collect();
        assert_eq!(garbage, [Err(0)]);
    }
}
