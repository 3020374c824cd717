//! Constant pools of a chunk: where each value of interest begins, read when it is needed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::bytes::{Cursor, Malformed, Read, Text};
use super::metadata::{Metadata, Shape, Step, Value, skip};

/// A hasher for integers, several times faster than the default; keys are the profiler's own.
#[derive(Default, Clone, Copy)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words
            .iter()
            .for_each(|&word| self.write_u64(u64::from_le_bytes(word)));
        rest.iter()
            .for_each(|&byte| self.write_u64(u64::from(byte)));
    }
    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_i32(&mut self, value: i32) {
        self.write_u64(value as u64);
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// A map with integers as keys.
pub type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// Offsets of values in the chunk, by key.
type Offsets = KeyMap<u64, u32>;

/// A thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thread {
    /// OS thread id.
    pub tid: i64,
    /// Java name, else the kernel's.
    pub name: Option<String>,
}

/// One frame of a stack: keys, not values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawFrame {
    /// Key of the method.
    pub method: u64,
    /// Source line, 0 if unknown.
    pub line: i32,
    /// Key of the frame type.
    pub kind: u64,
}

/// The pools of one chunk.
pub struct Pools<'a> {
    bytes: &'a [u8],
    /// Offsets and lengths.
    stacks: KeyMap<u64, (u32, u32)>,
    methods: Offsets,
    classes: Offsets,
    symbols: Offsets,
    strings: Offsets,
    threads: Offsets,
    named: [Offsets; NAMED.len()],
    shapes: Shapes,
}

/// Pools whose values have one field of interest, a name.
const NAMED: [(&str, &str); 3] = [
    ("jdk.types.FrameType", "description"),
    ("jdk.types.ThreadState", "name"),
    ("jdk.types.CompilerType", "compiler"),
];

/// A pool of [`NAMED`].
#[derive(Debug, Clone, Copy)]
pub enum Named {
    /// Kind of a frame.
    FrameType = 0,
    /// State of a thread.
    ThreadState = 1,
    /// Compiler of a compilation.
    Compiler = 2,
}

/// Shapes are absent where the recording has no such type.
struct Shapes {
    stack: Option<StackShape>,
    method: Option<Shape<2>>,
    class: Option<Shape<1>>,
    symbol: Option<Shape<1>>,
    thread: Option<Shape<3>>,
    named: [Option<Shape<1>>; NAMED.len()],
}

/// A stack trace: `truncated`, and `frames` somewhere.
struct StackShape {
    before_frames: Vec<(bool, Vec<Step>)>,
    /// Fields of a frame: which of method, line and type they are.
    frame: Vec<(Option<usize>, Step)>,
    /// Where each field is a compressed integer, as it commonly is: their number, and which of
    /// them are method, line and type.
    plain: Option<(usize, [usize; 3])>,
}

/// Fields of a frame, at most, that are read as plain integers; one more stays 0.
const PLAIN_FIELDS: usize = 7;

impl StackShape {
    fn compile(metadata: &Metadata) -> Option<Self> {
        let class = metadata.get(metadata.id("jdk.types.StackTrace")?)?;
        let at = class
            .fields
            .iter()
            .position(|field| field.name == "frames")?;
        let mut before_frames = Vec::new();
        for field in &class.fields[..at] {
            before_frames.push((field.name == "truncated", metadata.field_steps(field).ok()?));
        }
        let mut frame = Vec::new();
        for field in &metadata.get(class.fields[at].class)?.fields {
            let slot = ["method", "lineNumber", "type"]
                .iter()
                .position(|name| *name == field.name);
            for step in metadata.field_steps(field).ok()? {
                frame.push((slot, step));
            }
        }
        let all_varints = frame.iter().all(|(_, step)| *step == Step::Varint);
        let place = |slot| frame.iter().position(|(found, _)| *found == Some(slot));
        let plain = (all_varints && frame.len() <= PLAIN_FIELDS).then(|| {
            let places = [0, 1, 2].map(|slot| place(slot).unwrap_or(PLAIN_FIELDS));
            (frame.len(), places)
        });
        Some(Self {
            before_frames,
            frame,
            plain,
        })
    }
}

impl<'a> Pools<'a> {
    /// Pools without any value, for a chunk whose types are known.
    pub fn new(bytes: &'a [u8], metadata: &Metadata) -> Self {
        let one = |name: &str, field: &str| {
            metadata
                .id(name)
                .and_then(|id| Shape::<1>::compile(metadata, id, &[field]).ok())
        };
        let method = metadata.id("jdk.types.Method");
        let thread = metadata.id("java.lang.Thread");
        let thread_fields = ["osThreadId", "javaName", "osName"];
        let shapes = Shapes {
            stack: StackShape::compile(metadata),
            method: method.and_then(|id| Shape::compile(metadata, id, &["type", "name"]).ok()),
            class: one("java.lang.Class", "name"),
            symbol: one("jdk.types.Symbol", "string"),
            thread: thread.and_then(|id| Shape::compile(metadata, id, &thread_fields).ok()),
            named: NAMED.map(|(name, field)| one(name, field)),
        };
        let empty = Offsets::default;
        Self {
            bytes,
            stacks: KeyMap::default(),
            methods: empty(),
            classes: empty(),
            symbols: empty(),
            strings: empty(),
            threads: empty(),
            named: NAMED.map(|_| empty()),
            shapes,
        }
    }

    /// Notes where the values of one checkpoint event begin. `at` is the offset of its body.
    ///
    /// # Errors
    /// If the bytes are not a checkpoint; what came before stays noted.
    pub fn note(&mut self, metadata: &Metadata, body: &[u8], at: usize) -> Read<()> {
        let mut cursor = Cursor::new(body);
        for _ in 0..3 {
            cursor.varint()?; // start, duration, distance to the previous checkpoint
        }
        cursor.byte()?; // kind of checkpoint
        for _ in 0..cursor.count()? {
            let class = cursor.varint()?;
            let count = cursor.count()?;
            let steps = metadata.steps(class)?;
            let name = metadata.get(class).map_or("", |class| class.name.as_str());
            if name == "jdk.types.StackTrace" {
                self.stacks.reserve(count);
                for _ in 0..count {
                    let key = cursor.varint()?;
                    let start = cursor.position();
                    skip(&mut cursor, &steps)?;
                    let length = u32::try_from(cursor.position() - start);
                    let offset = u32::try_from(at + start).map_err(|_| Malformed)?;
                    let place = (offset, length.map_err(|_| Malformed)?);
                    self.stacks.insert(key, place);
                }
                continue;
            }
            let mut pool = self.pool(name);
            if let Some(pool) = &mut pool {
                pool.reserve(count);
            }
            for _ in 0..count {
                let key = cursor.varint()?;
                let offset = u32::try_from(at + cursor.position()).map_err(|_| Malformed)?;
                skip(&mut cursor, &steps)?;
                if let Some(pool) = &mut pool {
                    pool.insert(key, offset);
                }
            }
        }
        Ok(())
    }

    fn pool(&mut self, name: &str) -> Option<&mut Offsets> {
        Some(match name {
            "jdk.types.Method" => &mut self.methods,
            "java.lang.Class" => &mut self.classes,
            "jdk.types.Symbol" => &mut self.symbols,
            "java.lang.String" => &mut self.strings,
            "java.lang.Thread" => &mut self.threads,
            _ => &mut self.named[NAMED.iter().position(|(known, _)| *known == name)?],
        })
    }

    fn cursor(&self, offsets: &Offsets, key: u64) -> Option<Cursor<'a>> {
        offsets
            .get(&key)
            .map(|&offset| Cursor::at(self.bytes, offset as usize))
    }

    fn values<const N: usize>(
        &self,
        shape: &Option<Shape<N>>,
        offsets: &Offsets,
        key: u64,
    ) -> Option<[Value<'a>; N]> {
        shape.as_ref()?.read(&mut self.cursor(offsets, key)?).ok()
    }

    /// The string itself, also where it is in the pool of strings.
    pub fn text(&self, text: Text<'_>) -> Option<String> {
        self.direct(text)?.decode()
    }

    fn direct<'t>(&self, text: Text<'t>) -> Option<Text<'t>>
    where
        'a: 't,
    {
        match text {
            Text::Pooled(key) => self.cursor(&self.strings, key)?.text().ok(),
            other => Some(other),
        }
    }

    /// Bytes of a symbol, UTF-8 or what should be.
    fn symbol(&self, key: u64) -> Option<Cow<'a, [u8]>> {
        match self.values(&self.shapes.symbol, &self.symbols, key)? {
            [Value::Text(text)] => match self.direct(text)? {
                Text::Utf8(bytes) => Some(Cow::Borrowed(bytes)),
                other => other.decode().map(|text| Cow::Owned(text.into_bytes())),
            },
            _ => None,
        }
    }

    /// Name of a class, with slashes.
    pub fn class_bytes(&self, key: u64) -> Option<Cow<'a, [u8]>> {
        let [name] = self.values(&self.shapes.class, &self.classes, key)?;
        self.symbol(name.number()?)
    }

    /// The same as text.
    pub fn class(&self, key: u64) -> Option<String> {
        let bytes = self.class_bytes(key)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A method: key of its class (or of the library of a native frame), and its name.
    pub fn method(&self, key: u64) -> Option<(u64, Cow<'a, [u8]>)> {
        let [class, name] = self.values(&self.shapes.method, &self.methods, key)?;
        Some((class.number().unwrap_or(0), self.symbol(name.number()?)?))
    }

    /// A thread. async-profiler uses the OS thread id as the key.
    pub fn thread(&self, key: u64) -> Option<Thread> {
        let [tid, java, os] = self.values(&self.shapes.thread, &self.threads, key)?;
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
        match self.values(&self.shapes.named[pool], &self.named[pool], key)? {
            [Value::Text(text)] => self.text(text),
            _ => None,
        }
    }

    /// Keys of all methods.
    pub fn method_keys(&self) -> impl Iterator<Item = u64> {
        self.methods.keys().copied()
    }

    /// Keys of one of the pools of names.
    pub fn keys(&self, pool: Named) -> impl Iterator<Item = u64> {
        self.named[pool as usize].keys().copied()
    }

    /// Bytes that describe a stack.
    pub fn stack_bytes(&self, key: u64) -> Option<&'a [u8]> {
        let (offset, length) = *self.stacks.get(&key)?;
        let start = offset as usize;
        self.bytes.get(start..start + length as usize)
    }

    /// Appends the frames of a stack, leaf first, and says whether the profiler cut it.
    pub fn stack(&self, bytes: &[u8], frames: &mut Vec<RawFrame>) -> Option<bool> {
        let shape = self.shapes.stack.as_ref()?;
        let cursor = &mut Cursor::new(bytes);
        let mut truncated = false;
        for (is_truncated, steps) in &shape.before_frames {
            if *is_truncated {
                truncated = cursor.byte().ok()? != 0;
            } else {
                skip(cursor, steps).ok()?;
            }
        }
        let count = cursor.count().ok()?;
        if let Some((width, places)) = shape.plain {
            let mut fields = [0; PLAIN_FIELDS + 1];
            for _ in 0..count {
                for field in &mut fields[..width] {
                    *field = cursor.varint().ok()?;
                }
                let [method, line, kind] = places.map(|place| fields[place]);
                frames.push(RawFrame {
                    method,
                    line: line as i32,
                    kind,
                });
            }
            return Some(truncated);
        }
        for _ in 0..count {
            let mut values = [0; 3];
            for (slot, step) in &shape.frame {
                let value = match step {
                    Step::Varint => cursor.varint().ok()?,
                    Step::Byte => u64::from(cursor.byte().ok()?),
                    other => {
                        skip(cursor, std::slice::from_ref(other)).ok()?;
                        continue;
                    }
                };
                if let Some(slot) = *slot {
                    values[slot] = value;
                }
            }
            let [method, line, kind] = values;
            frames.push(RawFrame {
                method,
                line: line as i32,
                kind,
            });
        }
        Some(truncated)
    }
}
