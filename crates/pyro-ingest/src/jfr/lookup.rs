//! From keys of a chunk's constant pools to frames and stacks.
//!
//! What a chunk's keys mean is for this chunk alone to say: what was found out in others only saves
//! work. Otherwise it would depend on which of them the same thread had read before.

use pyro_stacks::folded::Names;
use pyro_stacks::{Frame, FrameKind, java_class_name};
use rustc_hash::FxHashMap;

use super::keys::{ByKey, KeyMap};
use super::pools::Pools;
use super::stack::{RawFrame, StackShape};
use super::types::Named;
use crate::dictionary::{MethodNumber, StackIndex};

/// Keys that were looked up before. A chunk describes all its keys again, but within a
/// recording they mostly mean the same: what they were resolved to holds as long as methods and
/// kinds of frames do.
#[derive(Default)]
pub struct Lookup {
    /// Names as recordings write them, of all chunks.
    names: Names,
    /// Methods by class, name and kind of text.
    methods: FxHashMap<(u32, u32, FrameKind), MethodNumber>,
    /// Chunks begun so far.
    chunk: u32,
    /// What keys mean in the chunk: symbols, names of classes.
    symbols: ByKey<u32>,
    class_names: ByKey<u32>,
    /// What keys mean in the recording: names of a method's class and of itself, kinds of frames.
    method_names: ByKey<(u32, u32)>,
    methods_count: usize,
    kinds: KeyMap<u64, FrameKind>,
    shape: Option<StackShape>,
    /// The chunk's pool has every one of these methods.
    all_methods: bool,
    /// What keys were resolved to: frames, and stacks by the bytes that describe them.
    frames: KeyMap<RawFrame, u32>,
    described: Names,
    of_description: Vec<Option<Known>>,
    methods_of: Vec<u64>,
    described_bytes: usize,
    /// What keys of stacks meant last.
    stacks: ByKey<Seen>,
    raw: Vec<RawFrame>,
    root_first: Vec<u32>,
}

/// What a description means where the chunk has its methods.
#[derive(Clone, Copy)]
struct Known {
    stack: Option<i32>,
    /// Where the keys of its methods are.
    methods: (usize, usize),
}

/// A key of a stack in some chunk.
#[derive(Clone, Copy)]
struct Seen {
    chunk: u32,
    description: u32,
    stack: Option<i32>,
}

impl Lookup {
    /// Bytes of the stacks that are remembered, roughly: theirs, and those of what they are made of.
    pub fn held_bytes(&self) -> usize {
        self.described_bytes * 2 + self.methods_of.len() * 8
    }

    /// Forgets what keys mean: another recording begins.
    pub fn begin_recording(&mut self) {
        self.method_names.clear();
        self.methods_count = 0;
        self.kinds.clear();
        self.forget();
    }

    /// Takes in what the keys of a chunk mean; if one meant something else before, what they were
    /// of any is forgotten.
    ///
    /// What the JDK's recorder calls native are methods of Java classes; of async-profiler, which
    /// has C and C++ on its stacks, such methods are interpreted.
    pub fn begin_chunk(&mut self, pools: &Pools<'_>, async_profiler: bool) {
        self.chunk += 1;
        self.symbols.clear();
        self.class_names.clear();
        let mut same = pools.stack_shape() == self.shape.as_ref();
        let mut methods = 0;
        for key in pools.method_keys() {
            let old = self.method_names.get(key);
            let names = self.names_of(pools, key, old);
            if old != Some(names) {
                self.method_names.insert(key, names);
                same &= old.is_none();
            }
            self.methods_count += usize::from(old.is_none());
            methods += 1;
        }
        self.all_methods = methods == self.methods_count;
        let kind = |key| {
            let text = pools.name(Named::FrameType, key);
            let kind = match text.map(|text| FrameKind::from_description(&text)) {
                Some(FrameKind::Native) if !async_profiler => FrameKind::Interpreted,
                kind => kind.unwrap_or(FrameKind::Unknown),
            };
            (key, kind)
        };
        let kinds: KeyMap<u64, FrameKind> = pools.keys(Named::FrameType).map(kind).collect();
        same &= kinds == self.kinds;
        if !same {
            self.shape = pools.stack_shape().cloned();
            self.kinds = kinds;
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.frames.clear();
        self.described = Names::default();
        self.described_bytes = 0;
        self.of_description.clear();
        self.methods_of.clear();
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

    /// Number of the stack with this key, resolved at first sight; `None` where its pool is missing.
    #[inline]
    pub fn stack(&mut self, pools: &Pools<'_>, index: &mut StackIndex, key: u64) -> Option<i32> {
        match self.stacks.get(key) {
            Some(seen) if seen.chunk == self.chunk => seen.stack,
            before => self.new_stack(pools, index, key, before),
        }
    }

    fn new_stack(
        &mut self,
        pools: &Pools<'_>,
        index: &mut StackIndex,
        key: u64,
        before: Option<Seen>,
    ) -> Option<i32> {
        let bytes = pools.stack_bytes(key)?;
        let same = before.map(|seen| seen.description);
        let same = same.filter(|&before| {
            (before as usize) < self.described.len() && self.described.get(before) == bytes
        });
        let description = same.unwrap_or_else(|| self.described.number(bytes));
        let place = description as usize;
        if place == self.of_description.len() {
            self.described_bytes += bytes.len();
            self.of_description.push(None);
        }
        let stack = match self.of_description[place] {
            Some(known) if self.all_methods || self.has_methods(pools, known) => known.stack,
            _ => self.described_stack(pools, index, bytes, place),
        };
        let chunk = self.chunk;
        let seen = Seen {
            chunk,
            description,
            stack,
        };
        self.stacks.insert(key, seen);
        stack
    }

    /// Whether the chunk has all methods of a stack, as one that is whole does.
    fn has_methods(&self, pools: &Pools<'_>, known: Known) -> bool {
        let keys = &self.methods_of[known.methods.0..known.methods.1];
        keys.iter().all(|&key| pools.has_method(key))
    }

    fn described_stack(
        &mut self,
        pools: &Pools<'_>,
        index: &mut StackIndex,
        bytes: &[u8],
        place: usize,
    ) -> Option<i32> {
        let mut raw = std::mem::take(&mut self.raw);
        let mut root_first = std::mem::take(&mut self.root_first);
        raw.clear();
        root_first.clear();
        let stack = pools.stack(bytes, &mut raw).map(|truncated| {
            for frame in raw.iter().rev() {
                root_first.push(self.frame(pools, index, *frame));
            }
            let (Ok(number) | Err(number)) = index.stack(&root_first, truncated, None);
            number
        });
        let start = self.methods_of.len();
        self.methods_of.extend(raw.iter().map(|frame| frame.method));
        let methods = (start, self.methods_of.len());
        let known = Known { stack, methods };
        if self.has_methods(pools, known) {
            self.of_description[place] = Some(known);
        } else {
            self.methods_of.truncate(start);
        }
        (self.raw, self.root_first) = (raw, root_first);
        stack
    }

    fn frame(&mut self, pools: &Pools<'_>, index: &mut StackIndex, raw: RawFrame) -> u32 {
        let described = pools.has_method(raw.method);
        if described && let Some(&known) = self.frames.get(&raw) {
            return known;
        }
        let kind = self.kinds.get(&raw.kind).copied();
        let kind = kind.unwrap_or(FrameKind::Unknown);
        let names = match self.method_names.get(raw.method).filter(|_| described) {
            Some(names) => names,
            None => self.names_of(pools, raw.method, None),
        };
        let method = self.method(index, names, kind);
        let (Ok(frame) | Err(frame)) = index.frame((method, raw.line, kind));
        if described {
            self.frames.insert(raw, frame);
        }
        frame
    }

    /// Number of a method; names are decoded only at first sight.
    fn method(
        &mut self,
        index: &mut StackIndex,
        (class, name): (u32, u32),
        kind: FrameKind,
    ) -> MethodNumber {
        let names = &self.names;
        *self
            .methods
            .entry((class, name, kind.of_text()))
            .or_insert_with(|| {
                let [class, name] =
                    [class, name].map(|name| String::from_utf8_lossy(names.get(name)));
                let place = if kind.is_native() {
                    class.into_owned()
                } else {
                    java_class_name(&class)
                };
                let frame = Frame {
                    place: &place,
                    method: &name,
                    kind,
                };
                index.method(&frame, None)
            })
    }
}
