//! Constant pools of a chunk: where each value of interest begins, read when it is needed.

use std::borrow::Cow;
use std::num::NonZeroU32;

use super::bytes::{Cursor, Malformed, Read, Text};
use super::keys::ByKey;
use super::metadata::Metadata;
use super::shape::{Shape, Value, skip};
use super::stack::{RawFrame, StackShape};
use super::types::{Types, Values};

/// Offsets and lengths of values in the chunk, by key. Its header is at 0.
type Places = ByKey<(NonZeroU32, u32)>;

/// A thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thread {
    /// OS thread id.
    pub tid: i64,
    /// Java name, else the kernel's.
    pub name: Option<String>,
}

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
    stack: Option<StackShape>,
    method: Option<Shape<2>>,
    class: Option<Shape<1>>,
    symbol: Option<Shape<1>>,
    thread: Option<Shape<3>>,
    named: [Option<Shape<1>>; NAMED.len()],
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
    stacks: Places,
    methods: Places,
    classes: Places,
    symbols: Places,
    strings: Places,
    threads: Places,
    named: [Places; NAMED.len()],
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

    /// Notes where the values of one checkpoint event begin. `at` is the offset of its body.
    ///
    /// # Errors
    /// If the bytes are not a checkpoint; what came before stays noted.
    pub fn note(&mut self, types: &mut Types, body: &[u8], at: usize) -> Read<()> {
        let mut cursor = Cursor::new(body);
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
                    let offset = u32::try_from(at + start).ok().and_then(NonZeroU32::new);
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

/// The pools of one chunk.
pub struct Pools<'a> {
    bytes: &'a [u8],
    at: &'a Index,
    shapes: &'a Shapes,
}

impl<'a> Pools<'a> {
    /// Pools whose values begin `at` these places of a chunk's bytes.
    pub fn new(bytes: &'a [u8], at: &'a Index, shapes: &'a Shapes) -> Self {
        Self { bytes, at, shapes }
    }

    /// Bytes of a value of the chunk.
    fn value(&self, places: &Places, key: u64) -> Option<&'a [u8]> {
        let (offset, length) = places.get(key)?;
        let start = offset.get() as usize;
        self.bytes.get(start..start + length as usize)
    }

    /// The string itself, also where it is in the pool of strings.
    pub fn text(&self, text: Text<'_>) -> Option<String> {
        match text {
            Text::Pooled(key) => {
                let bytes = self.value(&self.at.strings, key)?;
                Cursor::new(bytes).text().ok()?.decode()
            }
            other => other.decode(),
        }
    }

    /// Bytes of a symbol, UTF-8 or what should be.
    pub fn symbol(&self, key: u64) -> Option<Cow<'a, [u8]>> {
        match fields(&self.shapes.symbol, self.value(&self.at.symbols, key)?)? {
            [Value::Text(Text::Utf8(bytes))] => Some(Cow::Borrowed(bytes)),
            [Value::Text(other)] => self.text(other).map(|text| Cow::Owned(text.into_bytes())),
            _ => None,
        }
    }

    /// Key of the symbol that names a class, with slashes.
    pub fn class_symbol(&self, key: u64) -> Option<u64> {
        let [name] = fields(&self.shapes.class, self.value(&self.at.classes, key)?)?;
        name.number()
    }

    /// Name of a class, with slashes.
    pub fn class(&self, key: u64) -> Option<String> {
        let bytes = self.symbol(self.class_symbol(key)?)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A method: keys of its class (or of the library of a native frame), and of the symbol that
    /// names it.
    pub fn method(&self, key: u64) -> Option<(u64, u64)> {
        let [class, name] = fields(&self.shapes.method, self.value(&self.at.methods, key)?)?;
        Some((class.number().unwrap_or(0), name.number()?))
    }

    /// Keys of all methods.
    pub fn method_keys(&self) -> impl Iterator<Item = u64> {
        self.at.methods.keys()
    }

    /// Whether there is a method with this key.
    pub fn has_method(&self, key: u64) -> bool {
        self.at.methods.get(key).is_some()
    }

    /// A thread. async-profiler uses the OS thread id as the key.
    pub fn thread(&self, key: u64) -> Option<Thread> {
        let [tid, java, os] = fields(&self.shapes.thread, self.value(&self.at.threads, key)?)?;
        let name = |value| {
            if let Value::Text(text) = value {
                self.text(text)
            } else {
                None
            }
        };
        let named = |text: &String| !text.is_empty();
        Some(Thread {
            tid: tid.number()? as i64,
            name: name(java).filter(named).or_else(|| name(os).filter(named)),
        })
    }

    /// A value of one of the pools of names.
    pub fn name(&self, pool: Named, key: u64) -> Option<String> {
        let pool = pool as usize;
        match fields(
            &self.shapes.named[pool],
            self.value(&self.at.named[pool], key)?,
        )? {
            [Value::Text(text)] => self.text(text),
            _ => None,
        }
    }

    /// Keys of one of the pools of names.
    pub fn keys(&self, pool: Named) -> impl Iterator<Item = u64> {
        self.at.named[pool as usize].keys()
    }

    /// Bytes that describe a stack.
    pub fn stack_bytes(&self, key: u64) -> Option<&'a [u8]> {
        self.value(&self.at.stacks, key)
    }

    /// How stacks are described, where the chunk has any.
    pub fn stack_shape(&self) -> Option<&StackShape> {
        self.shapes.stack.as_ref()
    }

    /// Appends the frames of a stack, leaf first, and says whether the profiler cut it.
    pub fn stack(&self, bytes: &[u8], frames: &mut Vec<RawFrame>) -> Option<bool> {
        self.shapes.stack.as_ref()?.read(bytes, frames)
    }
}

/// Fields of interest of a value.
fn fields<'v, const N: usize>(shape: &Option<Shape<N>>, value: &'v [u8]) -> Option<[Value<'v>; N]> {
    shape.as_ref()?.read(&mut Cursor::new(value)).ok()
}
