//! Constant pools of a chunk: values of interest, read when they are needed.

use std::borrow::Cow;

use super::bytes::{Cursor, Text};
use super::shape::{Shape, Value};
use super::stack::{RawFrame, StackShape};
use super::types::{Index, Named, Places, Shapes};

/// A thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thread {
    /// OS thread id.
    pub tid: i64,
    /// Java name, else the kernel's.
    pub name: Option<String>,
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
    fn value(&self, places: &Places, key: u64) -> Option<Cursor<'a>> {
        let (offset, length) = places.get(key)?;
        let mut cursor = Cursor::at(self.bytes, offset.get() as usize);
        cursor.part(length as usize).ok()
    }

    /// The string itself, also where it is in the pool of strings.
    pub fn text(&self, text: Text<'_>) -> Option<String> {
        match text {
            Text::Pooled(key) => {
                let mut value = self.value(&self.at.strings, key)?;
                value.text().ok()?.decode()
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
        Some(self.value(&self.at.stacks, key)?.rest())
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
fn fields<'v, const N: usize>(
    shape: &Option<Shape<N>>,
    mut value: Cursor<'v>,
) -> Option<[Value<'v>; N]> {
    shape.as_ref()?.read(&mut value).ok()
}
