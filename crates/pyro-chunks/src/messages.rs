//! What a message of an Arrow IPC stream is to whoever reads on behind a gap. No number in it is believed.

use std::collections::BTreeSet;

use crate::units::{u16_at, u32_at};

/// A schema with more fields is none.
const MAX_FIELDS: usize = 4096;
/// One with fields in fields in fields has no more levels.
const MAX_DEPTH: usize = 8;

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// The schema, with the numbers of its dictionaries.
    Schema(BTreeSet<i64>),
    /// The words of a dictionary: all of them, or those that are added to it.
    Dictionary {
        /// Its number.
        id: i64,
        /// They are added.
        is_delta: bool,
    },
    /// Rows, or anything else that may need each dictionary.
    Rows,
    /// The mark of the end.
    End,
}

/// Reads a whole message; `None` if it is none.
pub fn read(message: &[u8]) -> Option<Message> {
    let length = u32_at(message, 4)? as usize;
    if length == 0 {
        return Some(Message::End);
    }
    let root = Table::at(message.get(8..)?.get(..length)?, 0)?;
    let kind = root.field(1)?.and_then(|at| root.bytes.get(at));
    let Some((kind, header)) = kind.zip(root.field(2)?) else {
        return Some(Message::Rows);
    };
    let header = Table::at(root.bytes, header)?;
    match kind {
        1 => {
            let mut ids = BTreeSet::new();
            let mut left = MAX_FIELDS;
            dictionaries(header, 1, MAX_DEPTH, &mut left, &mut ids)?;
            Some(Message::Schema(ids))
        }
        2 => {
            let is_delta = header.field(2)?.and_then(|at| header.bytes.get(at));
            Some(Message::Dictionary {
                id: header.number(0)?,
                is_delta: is_delta.is_some_and(|&byte| byte != 0),
            })
        }
        _ => Some(Message::Rows),
    }
}

/// Numbers of the dictionaries of a list of fields, the one of this number in a table, and of fields in them.
fn dictionaries(
    of: Table,
    list: usize,
    depth: usize,
    left: &mut usize,
    ids: &mut BTreeSet<i64>,
) -> Option<()> {
    let Some(list) = of.field(list)? else {
        return Some(());
    };
    let list = list.checked_add(u32_at(of.bytes, list)? as usize)?;
    for number in 0..u32_at(of.bytes, list)? as usize {
        *left = left.checked_sub(1)?;
        let field = Table::at(of.bytes, list + 4 + 4 * number)?;
        if let Some(dictionary) = field.field(4)? {
            ids.insert(Table::at(of.bytes, dictionary)?.number(0)?);
        }
        dictionaries(field, 5, depth.checked_sub(1)?, left, ids)?;
    }
    Some(())
}

/// A table of a flat buffer.
#[derive(Clone, Copy)]
struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    fields: usize,
}

impl<'a> Table<'a> {
    /// The one that is referred to from a place.
    fn at(bytes: &'a [u8], from: usize) -> Option<Self> {
        let at = from.checked_add(u32_at(bytes, from)? as usize)?;
        let back = i64::from(u32_at(bytes, at)? as i32);
        let fields = usize::try_from(i64::try_from(at).ok()? - back).ok()?;
        Some(Self { bytes, at, fields })
    }

    /// Where a field is, if the table has it.
    fn field(&self, number: usize) -> Option<Option<usize>> {
        let entry = 4 + 2 * number;
        let known = usize::from(u16_at(self.bytes, self.fields)?);
        if known < entry + 2 {
            return Some(None);
        }
        let place = usize::from(u16_at(self.bytes, self.fields + entry)?);
        Some((place != 0).then_some(self.at + place))
    }

    /// A number of 64 bits, which is zero where it is not told.
    fn number(&self, field: usize) -> Option<i64> {
        let Some(at) = self.field(field)? else {
            return Some(0);
        };
        let bytes = self.bytes.get(at..)?.get(..8)?;
        Some(i64::from_le_bytes(bytes.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_panics(mut bytes in prop::collection::vec(0..24u8, 8..200), length: u8) {
            bytes[4..8].copy_from_slice(&u32::from(length).to_le_bytes());
            let _ = read(&bytes);
        }
    }
}
