//! What a chunk says of its types, made ready to read its values.

use std::collections::hash_map::Entry;

use super::bytes::{Cursor, Read};
use super::events::{Reader, Readers};
use super::keys::KeyMap;
use super::metadata::{Metadata, Step};
use super::pools::{Pool, Shapes};

/// The types of a chunk. The next one most often describes the same, word for word: these then
/// serve it, too.
pub struct Types {
    /// The description that all else follows from.
    description: Vec<u8>,
    metadata: Metadata,
    readers: Readers,
    shapes: Shapes,
    values: KeyMap<u64, Values>,
}

/// Values of a type in constant pools.
pub struct Values {
    /// Steps over one of them.
    pub steps: Vec<Step>,
    /// The pool, if it is of interest.
    pub pool: Option<Pool>,
}

impl Types {
    /// Reads the body of a metadata event, which begins behind its size and type.
    ///
    /// # Errors
    /// If the bytes are not a metadata event.
    pub fn parse(body: &[u8]) -> Read<Self> {
        let description = description(body)?;
        let metadata = Metadata::parse(description)?;
        Ok(Self {
            description: description.to_owned(),
            readers: Readers::of(&metadata),
            shapes: Shapes::of(&metadata),
            values: KeyMap::default(),
            metadata,
        })
    }

    /// Whether the body of a metadata event describes these types.
    pub fn are_described_by(&self, body: &[u8]) -> bool {
        description(body) == Ok(&self.description)
    }

    /// Name of a type.
    pub fn name(&self, id: u64) -> Option<&str> {
        self.metadata.get(id).map(|class| class.name.as_str())
    }

    /// The reader of a type of event, where that is of interest.
    #[inline]
    pub fn reader(&self, id: u64) -> Option<&Reader> {
        self.readers.get(id)
    }

    /// How to read values of pools.
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// Values of a type in constant pools.
    ///
    /// # Errors
    /// If the type is unknown, or nested beyond reason.
    pub fn values(&mut self, id: u64) -> Read<&Values> {
        let Self {
            metadata, values, ..
        } = self;
        let found: &Values = match values.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let steps = metadata.steps(id)?;
                let pool = metadata.get(id).and_then(|class| Pool::of(&class.name));
                place.insert(Values { steps, pool })
            }
        };
        Ok(found)
    }
}

/// The body of a metadata event behind its start, its duration and its number, which differ from
/// chunk to chunk.
fn description(body: &[u8]) -> Read<&[u8]> {
    let mut cursor = Cursor::new(body);
    cursor.skip_varints(3)?;
    Ok(&body[cursor.position()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description of no type, at some time.
    fn body(start: u8) -> Vec<u8> {
        // One string, which is the name of the root without attributes and elements.
        [&[start, 0, 7][..], &[1, 3, 4], b"root", &[0, 0, 0]].concat()
    }

    #[test]
    fn types_are_the_same_whenever_they_are_described() {
        let types = Types::parse(&body(1)).unwrap();
        assert!(types.are_described_by(&body(2)));
        let mut other = body(1);
        other[6] ^= 1;
        assert!(!types.are_described_by(&other));
        assert!(!types.are_described_by(&[]));
        assert!(types.name(5).is_none() && types.reader(5).is_none());
    }
}
