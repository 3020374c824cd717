//! Values read by the steps that their types compile to.

use super::bytes::{Cursor, Malformed, Read, Text};
use super::metadata::{Metadata, Step, merged};

/// Passes over what `steps` describe.
///
/// # Errors
/// If the bytes end before.
pub fn skip(cursor: &mut Cursor<'_>, steps: &[Step]) -> Read<()> {
    for step in steps {
        match step {
            Step::Varint => {
                cursor.varint()?;
            }
            Step::Varints(count) => cursor.skip_varints(*count)?,
            Step::Byte => {
                cursor.byte()?;
            }
            Step::Fixed(bytes) => {
                cursor.take(*bytes)?;
            }
            Step::Text => {
                cursor.text()?;
            }
            Step::Array(inner) => {
                let count = cursor.count()?;
                if let [Step::Varints(each)] = inner[..] {
                    cursor.skip_varints(count.checked_mul(each).ok_or(Malformed)?)?;
                } else {
                    (0..count).try_for_each(|_| skip(cursor, inner))?;
                }
            }
        }
    }
    Ok(())
}

/// A value of interest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// The type has no such field, or not one that can be kept.
    Absent,
    /// An integer, boolean or key.
    Number(u64),
    /// A string.
    Text(Text<'a>),
}

impl Value<'_> {
    /// The number, if it is one.
    pub fn number(self) -> Option<u64> {
        if let Self::Number(number) = self {
            Some(number)
        } else {
            None
        }
    }
}

/// A field of a type: one of interest with its slot, or what to pass over.
#[derive(Debug, Clone)]
enum Part {
    Number(usize),
    Byte(usize),
    Text(usize),
    Other(Vec<Step>),
}

impl Part {
    fn new(slot: Option<usize>, steps: Vec<Step>) -> Self {
        match (slot, &steps[..]) {
            (Some(slot), [Step::Varint]) => Self::Number(slot),
            (Some(slot), [Step::Byte]) => Self::Byte(slot),
            (Some(slot), [Step::Text]) => Self::Text(slot),
            _ => Self::Other(merged(steps)),
        }
    }
}

/// How to read `N` named fields of a type, whatever else it has.
#[derive(Debug, Clone)]
pub struct Shape<const N: usize> {
    parts: Vec<Part>,
}

impl<const N: usize> Shape<N> {
    /// Compiles the shape; `slot` gives the place of a field of interest by its name. Fields behind
    /// the last of these are not read at all.
    ///
    /// # Errors
    /// If the type, or one of its fields', is unknown.
    pub fn compile(
        metadata: &Metadata,
        id: u64,
        slot: impl Fn(&str) -> Option<usize>,
    ) -> Read<Self> {
        let class = metadata.get(id).ok_or(Malformed)?;
        let mut parts = Vec::new();
        for field in &class.fields {
            parts.push(Part::new(slot(&field.name), metadata.field_steps(field)?));
        }
        while matches!(parts.last(), Some(Part::Other(_))) {
            parts.pop();
        }
        Ok(Self { parts })
    }

    /// The shape of these fields of a type called `name`, where the chunk has it.
    pub fn of(metadata: &Metadata, name: &str, fields: [&str; N]) -> Option<Self> {
        let slot = |field: &str| fields.iter().position(|name| *name == field);
        Self::compile(metadata, metadata.id(name)?, slot).ok()
    }

    /// Reads the fields; the cursor ends behind the last of interest.
    ///
    /// # Errors
    /// If the bytes end before.
    #[inline]
    pub fn read<'a>(&self, cursor: &mut Cursor<'a>) -> Read<[Value<'a>; N]> {
        let mut values = [Value::Absent; N];
        self.read_each(cursor, |slot, value| values[slot] = value)?;
        Ok(values)
    }

    /// Hands over each field of interest that the type has, with its slot.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline]
    pub fn read_each<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        mut take: impl FnMut(usize, Value<'a>),
    ) -> Read<()> {
        for part in &self.parts {
            match part {
                Part::Number(slot) => take(*slot, Value::Number(cursor.varint()?)),
                Part::Byte(slot) => take(*slot, Value::Number(u64::from(cursor.byte()?))),
                Part::Text(slot) => take(*slot, Value::Text(cursor.text()?)),
                Part::Other(steps) => skip(cursor, steps)?,
            }
        }
        Ok(())
    }
}
