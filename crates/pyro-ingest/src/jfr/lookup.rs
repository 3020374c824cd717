//! From keys of a chunk's constant pools to frames and stacks of the whole.

use pyro_model::Result;
use pyro_stacks::folded::Names;
use pyro_stacks::{Frame, FrameKind, java_class_name};
use rustc_hash::FxHashMap;

use super::pools::{KeyMap, Named, Pools, RawFrame};
use crate::dictionary::{Dictionary, MethodNumber};

/// Keys that were looked up before. Every chunk has its own keys, but mostly the same names.
#[derive(Default)]
pub struct Lookup {
    /// Names as recordings write them, of all chunks.
    names: Names,
    /// Methods by class and name, and whether they are native.
    methods: FxHashMap<(u32, u32, bool), MethodNumber>,
    chunk: Keys,
    raw: Vec<RawFrame>,
    root_first: Vec<u32>,
}

/// Keys of one chunk.
#[derive(Default)]
struct Keys {
    frames: KeyMap<RawFrame, u32>,
    methods: KeyMap<(u64, bool), MethodNumber>,
    classes: KeyMap<u64, u32>,
    kinds: KeyMap<u64, FrameKind>,
    stacks: KeyMap<u64, Option<i32>>,
}

impl Lookup {
    /// Forgets the keys of the chunk before.
    pub fn begin_chunk(&mut self) {
        let keys = &mut self.chunk;
        keys.frames.clear();
        keys.methods.clear();
        keys.classes.clear();
        keys.kinds.clear();
        keys.stacks.clear();
    }

    /// Id of the stack with this key, resolved at first sight; `None` where its pool is missing.
    ///
    /// # Errors
    /// If a table cannot be written.
    #[inline]
    pub fn stack(
        &mut self,
        pools: &Pools<'_>,
        dictionary: &mut Dictionary,
        key: u64,
    ) -> Result<Option<i32>> {
        match self.chunk.stacks.get(&key) {
            Some(&known) => Ok(known),
            None => self.new_stack(pools, dictionary, key),
        }
    }

    fn new_stack(
        &mut self,
        pools: &Pools<'_>,
        dictionary: &mut Dictionary,
        key: u64,
    ) -> Result<Option<i32>> {
        let mut raw = std::mem::take(&mut self.raw);
        let mut root_first = std::mem::take(&mut self.root_first);
        raw.clear();
        root_first.clear();
        let stack = match pools.stack(key, &mut raw) {
            Some(truncated) => {
                for frame in raw.iter().rev() {
                    root_first.push(match self.chunk.frames.get(frame) {
                        Some(&known) => known,
                        None => self.new_frame(pools, dictionary, *frame)?,
                    });
                }
                Some(dictionary.stack(&root_first, truncated)?)
            }
            None => None,
        };
        (self.raw, self.root_first) = (raw, root_first);
        self.chunk.stacks.insert(key, stack);
        Ok(stack)
    }

    fn new_frame(
        &mut self,
        pools: &Pools<'_>,
        dictionary: &mut Dictionary,
        raw: RawFrame,
    ) -> Result<u32> {
        let kind = *self.chunk.kinds.entry(raw.kind).or_insert_with(|| {
            let text = pools.name(Named::FrameType, raw.kind);
            text.map_or(FrameKind::Unknown, |text| {
                FrameKind::from_description(&text)
            })
        });
        let key = (raw.method, kind.is_native());
        let method = match self.chunk.methods.get(&key) {
            Some(&known) => known,
            None => {
                let method = self.method(pools, dictionary, raw.method, kind);
                self.chunk.methods.insert(key, method);
                method
            }
        };
        let frame = dictionary.frame(method, raw.line, kind)?;
        self.chunk.frames.insert(raw, frame);
        Ok(frame)
    }

    /// A method that the chunk has not shown yet; names are decoded only if no chunk has.
    fn method(
        &mut self,
        pools: &Pools<'_>,
        dictionary: &mut Dictionary,
        key: u64,
        kind: FrameKind,
    ) -> MethodNumber {
        let names = &mut self.names;
        let (class, name) = match pools.method(key) {
            Some((class_key, name)) => {
                let class = *self.chunk.classes.entry(class_key).or_insert_with(|| {
                    let class = pools.class_bytes(class_key);
                    names.number(&class.unwrap_or_default())
                });
                (class, names.number(&name))
            }
            None => (names.number(b""), names.number(b"unknown")),
        };
        let native = kind.is_native();
        *self
            .methods
            .entry((class, name, native))
            .or_insert_with(|| {
                let [class, name] =
                    [class, name].map(|name| String::from_utf8_lossy(names.get(name)));
                let place = if native {
                    class.into_owned()
                } else {
                    java_class_name(&class)
                };
                dictionary.method(&Frame {
                    place: &place,
                    method: &name,
                    kind,
                })
            })
    }
}
