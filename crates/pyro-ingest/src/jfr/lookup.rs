//! From keys of a chunk's constant pools to frames and stacks of the whole.

use pyro_model::Result;
use pyro_stacks::folded::Names;
use pyro_stacks::{Frame, FrameKind, java_class_name};
use rustc_hash::FxHashMap;

use super::keys::{ByKey, KeyMap};
use super::pools::{Named, Pools};
use super::stack::RawFrame;
use crate::dictionary::{Dictionary, MethodNumber};

/// Keys that were looked up before. A chunk describes all its keys again, but within a
/// recording they mostly mean the same: what they were resolved to holds as long as methods and
/// kinds of frames do.
#[derive(Default)]
pub struct Lookup {
    /// Names as recordings write them, of all chunks.
    names: Names,
    /// Methods by class and name, and whether they are native.
    methods: FxHashMap<(u32, u32, bool), MethodNumber>,
    /// Chunks begun so far.
    chunk: u32,
    /// What keys mean in the chunk: symbols, names of classes.
    symbols: ByKey<u32>,
    class_names: ByKey<u32>,
    /// What keys mean in the recording: names of a method's class and of itself, kinds of frames.
    method_names: ByKey<(u32, u32)>,
    kinds: KeyMap<u64, FrameKind>,
    /// What keys were resolved to: frames, and stacks by the bytes that describe them.
    frames: KeyMap<RawFrame, u32>,
    described: Names,
    of_description: Vec<Option<i32>>,
    /// Numbers of descriptions, and the last chunk that gave a stack this one.
    stacks: ByKey<(u32, u32)>,
    raw: Vec<RawFrame>,
    root_first: Vec<u32>,
}

impl Lookup {
    /// Forgets what keys mean: another recording begins.
    pub fn begin_recording(&mut self) {
        self.method_names.clear();
        self.kinds.clear();
        self.forget();
    }

    /// Takes in what the keys of a chunk mean; if one meant something else before, what they were
    /// of any is forgotten.
    pub fn begin_chunk(&mut self, pools: &Pools<'_>) {
        self.chunk += 1;
        self.symbols.clear();
        self.class_names.clear();
        let mut same = true;
        for key in pools.method_keys() {
            let old = self.method_names.get(key);
            let names = self.names_of(pools, key, old);
            if old != Some(names) {
                self.method_names.insert(key, names);
                same &= old.is_none();
            }
        }
        for key in pools.keys(Named::FrameType) {
            let text = pools.name(Named::FrameType, key);
            let kind = text.map_or(FrameKind::Unknown, |text| {
                FrameKind::from_description(&text)
            });
            same &= self.kinds.insert(key, kind).is_none_or(|old| old == kind);
        }
        if !same {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.frames.clear();
        self.described = Names::default();
        self.of_description.clear();
        self.stacks.clear();
    }

    /// Names of a method's class and of itself; most often those that it had `before`.
    fn names_of(&mut self, pools: &Pools<'_>, key: u64, before: Option<(u32, u32)>) -> (u32, u32) {
        let (class_before, name_before) = before.unzip();
        let found = pools.method(key).and_then(|(class_key, name)| {
            let name = self.symbol(pools, name, name_before)?;
            let class = match self.class_names.get(class_key) {
                Some(known) => known,
                None => {
                    let class = pools.class_symbol(class_key);
                    let class = class.and_then(|symbol| self.symbol(pools, symbol, class_before));
                    let class = class.unwrap_or_else(|| self.names.number(b""));
                    self.class_names.insert(class_key, class);
                    class
                }
            };
            Some((class, name))
        });
        found.unwrap_or_else(|| (self.names.number(b""), self.names.number(b"unknown")))
    }

    /// Number of a symbol's text. Methods share names, and a text is looked at once in a chunk:
    /// beside the name it had `before`, which is faster than to find it among all.
    fn symbol(&mut self, pools: &Pools<'_>, key: u64, before: Option<u32>) -> Option<u32> {
        if let Some(known) = self.symbols.get(key) {
            return Some(known);
        }
        let text = pools.symbol(key)?;
        let same = before.filter(|&before| *self.names.get(before) == *text);
        let number = same.unwrap_or_else(|| self.names.number(&text));
        self.symbols.insert(key, number);
        Some(number)
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
        match self.stacks.get(key) {
            Some((description, chunk)) if chunk == self.chunk => {
                Ok(self.of_description[description as usize])
            }
            before => self.new_stack(pools, dictionary, key, before.map(|(number, _)| number)),
        }
    }

    fn new_stack(
        &mut self,
        pools: &Pools<'_>,
        dictionary: &mut Dictionary,
        key: u64,
        before: Option<u32>,
    ) -> Result<Option<i32>> {
        let Some(bytes) = pools.stack_bytes(key) else {
            return Ok(None);
        };
        let same = before.filter(|&before| self.described.get(before) == bytes);
        let description = same.unwrap_or_else(|| self.described.number(bytes));
        if description as usize == self.of_description.len() {
            let stack = self.described_stack(pools, dictionary, bytes)?;
            self.of_description.push(stack);
        }
        self.stacks.insert(key, (description, self.chunk));
        Ok(self.of_description[description as usize])
    }

    fn described_stack(
        &mut self,
        pools: &Pools<'_>,
        dictionary: &mut Dictionary,
        bytes: &[u8],
    ) -> Result<Option<i32>> {
        let mut raw = std::mem::take(&mut self.raw);
        let mut root_first = std::mem::take(&mut self.root_first);
        raw.clear();
        root_first.clear();
        let stack = match pools.stack(bytes, &mut raw) {
            Some(truncated) => {
                for frame in raw.iter().rev() {
                    root_first.push(match self.frames.get(frame) {
                        Some(&known) => known,
                        None => self.new_frame(pools, dictionary, *frame)?,
                    });
                }
                Some(dictionary.stack(&root_first, truncated)?)
            }
            None => None,
        };
        (self.raw, self.root_first) = (raw, root_first);
        Ok(stack)
    }

    fn new_frame(
        &mut self,
        pools: &Pools<'_>,
        dictionary: &mut Dictionary,
        raw: RawFrame,
    ) -> Result<u32> {
        let kind = self.kinds.get(&raw.kind).copied();
        let kind = kind.unwrap_or(FrameKind::Unknown);
        let names = match self.method_names.get(raw.method) {
            Some(names) => names,
            None => self.names_of(pools, raw.method, None),
        };
        let method = self.method(dictionary, names, kind);
        let frame = dictionary.frame(method, raw.line, kind)?;
        self.frames.insert(raw, frame);
        Ok(frame)
    }

    /// Number of a method; names are decoded only at first sight.
    fn method(
        &mut self,
        dictionary: &mut Dictionary,
        (class, name): (u32, u32),
        kind: FrameKind,
    ) -> MethodNumber {
        let names = &self.names;
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
