//! What a chunk says of its types, made ready to read its values, and where those of its constant
//! pools begin.

use std::collections::hash_map::Entry;
use std::num::NonZeroU32;

use super::bytes::{Cursor, Malformed, Read};
use super::events::{Reader, Readers};
use super::keys::{ByKey, KeyMap};
use super::metadata::{Metadata, Step, merged};
use super::shape::{Shape, skip};
use super::stack::StackShape;

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
                let steps = merged(metadata.steps(id)?);
                let pool = metadata.get(id).and_then(|class| Pool::of(&class.name));
                place.insert(Values { steps, pool })
            }
        };
        Ok(found)
    }
}

/// Offsets and lengths of values in the chunk, by key. Its header is at 0.
pub type Places = ByKey<(NonZeroU32, u32)>;

/// A pool of interest.
#[derive(Debug, Clone, Copy)]
pub enum Pool {
    /// Stacks.
    Stack,
    /// Methods.
    Method,
    /// Classes.
    Class,
    /// Names of classes and methods.
    Symbol,
    /// Strings.
    String,
    /// Threads.
    Thread,
    /// One of the pools whose values have one field of interest, a name.
    Named(Named),
}

/// A pool of names.
#[derive(Debug, Clone, Copy)]
pub enum Named {
    /// Kind of a frame.
    FrameType = 0,
    /// State of a thread.
    ThreadState = 1,
    /// Compiler of a compilation.
    Compiler = 2,
}

/// Types of pools of names, and their field of interest.
const NAMED: [(&str, &str); 3] = [
    ("jdk.types.FrameType", "description"),
    ("jdk.types.ThreadState", "name"),
    ("jdk.types.CompilerType", "compiler"),
];

impl Pool {
    /// The pool of the type called `name`.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "jdk.types.StackTrace" => Self::Stack,
            "jdk.types.Method" => Self::Method,
            "java.lang.Class" => Self::Class,
            "jdk.types.Symbol" => Self::Symbol,
            "java.lang.String" => Self::String,
            "java.lang.Thread" => Self::Thread,
            "jdk.types.FrameType" => Self::Named(Named::FrameType),
            "jdk.types.ThreadState" => Self::Named(Named::ThreadState),
            "jdk.types.CompilerType" => Self::Named(Named::Compiler),
            _ => return None,
        })
    }
}

/// How values of the pools are read; absent where the recording has no such type.
pub struct Shapes {
    /// Stacks.
    pub stack: Option<StackShape>,
    /// Methods: class and name.
    pub method: Option<Shape<2>>,
    /// Classes: name.
    pub class: Option<Shape<1>>,
    /// Names of classes and methods.
    pub symbol: Option<Shape<1>>,
    /// Threads: id, Java name, the kernel's name.
    pub thread: Option<Shape<3>>,
    /// Pools of names, by [`Named`].
    pub named: [Option<Shape<1>>; NAMED.len()],
}

impl Shapes {
    /// The shapes of these types.
    pub fn of(metadata: &Metadata) -> Self {
        let thread = ["osThreadId", "javaName", "osName"];
        Self {
            stack: StackShape::compile(metadata),
            method: Shape::of(metadata, "jdk.types.Method", ["type", "name"]),
            class: Shape::of(metadata, "java.lang.Class", ["name"]),
            symbol: Shape::of(metadata, "jdk.types.Symbol", ["string"]),
            thread: Shape::of(metadata, "java.lang.Thread", thread),
            named: NAMED.map(|(name, field)| Shape::of(metadata, name, [field])),
        }
    }
}

/// Where the values of a chunk's pools begin. Its memory serves one chunk after the other.
#[derive(Default)]
pub struct Index {
    /// Stacks.
    pub stacks: Places,
    /// Methods.
    pub methods: Places,
    /// Classes.
    pub classes: Places,
    /// Names of classes and methods.
    pub symbols: Places,
    /// Strings.
    pub strings: Places,
    /// Threads.
    pub threads: Places,
    /// Pools of names, by [`Named`].
    pub named: [Places; NAMED.len()],
}

impl Index {
    /// Forgets all values: another chunk begins.
    pub fn clear(&mut self) {
        let Self {
            stacks,
            methods,
            classes,
            symbols,
            strings,
            threads,
            named,
        } = self;
        [stacks, methods, classes, symbols, strings, threads]
            .into_iter()
            .chain(named)
            .for_each(Places::clear);
    }

    /// Notes where the values of one checkpoint event begin; positions of its body are the chunk's.
    ///
    /// # Errors
    /// If the bytes are not a checkpoint; what came before stays noted.
    pub fn note(&mut self, types: &mut Types, mut cursor: Cursor<'_>) -> Read<()> {
        cursor.skip_varints(3)?; // start, duration, distance to the previous checkpoint
        cursor.byte()?; // kind of checkpoint
        for _ in 0..cursor.count()? {
            let class = cursor.varint()?;
            let count = cursor.count()?;
            let Values { steps, pool } = types.values(class)?;
            let mut places = pool.map(|pool| self.places(pool));
            for _ in 0..count {
                let key = cursor.varint()?;
                let start = cursor.position();
                skip(&mut cursor, steps)?;
                if let Some(places) = &mut places {
                    let offset = u32::try_from(start).ok().and_then(NonZeroU32::new);
                    let length = u32::try_from(cursor.position() - start).ok();
                    places.insert(key, offset.zip(length).ok_or(Malformed)?);
                }
            }
        }
        Ok(())
    }

    fn places(&mut self, pool: Pool) -> &mut Places {
        match pool {
            Pool::Stack => &mut self.stacks,
            Pool::Method => &mut self.methods,
            Pool::Class => &mut self.classes,
            Pool::Symbol => &mut self.symbols,
            Pool::String => &mut self.strings,
            Pool::Thread => &mut self.threads,
            Pool::Named(named) => &mut self.named[named as usize],
        }
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
