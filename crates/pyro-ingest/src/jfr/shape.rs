//! Values read by the steps that their types compile to.

use super::bytes::{Cursor, Malformed, Read, Text};
use super::metadata::{Metadata, Step};

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
                if inner.iter().all(|step| *step == Step::Varint) {
                    cursor.skip_varints(count.checked_mul(inner.len()).ok_or(Malformed)?)?;
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

/// How to read `N` named fields of a type, whatever else it has.
#[derive(Debug, Clone)]
pub struct Shape<const N: usize> {
    fields: Vec<(Option<usize>, Vec<Step>)>,
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
        let mut fields = Vec::new();
        for field in &class.fields {
            let steps = metadata.field_steps(field)?;
            let scalar = matches!(steps[..], [Step::Varint | Step::Byte | Step::Text]);
            fields.push((slot(&field.name).filter(|_| scalar), steps));
        }
        while fields.last().is_some_and(|(slot, _)| slot.is_none()) {
            fields.pop();
        }
        Ok(Self { fields })
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
        self.read_into(cursor, &mut values)?;
        Ok(values)
    }

    /// The same in place; values of fields that the type lacks stay as they are.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline]
    pub fn read_into<'a>(&self, cursor: &mut Cursor<'a>, values: &mut [Value<'a>; N]) -> Read<()> {
        for (slot, steps) in &self.fields {
            let Some(slot) = *slot else {
                skip(cursor, steps)?;
                continue;
            };
            values[slot] = match steps[0] {
                Step::Varint => Value::Number(cursor.varint()?),
                Step::Byte => Value::Number(u64::from(cursor.byte()?)),
                _ => Value::Text(cursor.text()?),
            };
        }
        Ok(())
    }
}
