//! Frames and stacks of all recordings, each once, with what the rules say about them.

use std::collections::HashMap;

use pyro_model::{FramesBuilder, ParquetSink, Result, StacksBuilder};
use pyro_stacks::{Facts, Frame, FrameKind, Rules, Verdict, java_class_name};

use super::pools::{KeyMap, Method, Named, Pools, RawFrame};

/// Writes tables `frames` and `stacks` as distinct ones appear.
///
/// Memory grows with the number of distinct stacks, not with the number of samples.
pub struct Dictionary {
    rules: &'static Rules,
    names: HashMap<String, u32>,
    methods: HashMap<(u32, u32, bool), u32>,
    frames: KeyMap<(u32, i32, u8), i32>,
    frame_methods: Vec<u32>,
    facts: Vec<Facts>,
    stacks: KeyMap<Box<[i32]>, i32>,
    verdicts: Vec<Verdict>,
    frame_sink: ParquetSink<FramesBuilder>,
    stack_sink: ParquetSink<StacksBuilder>,
}

/// Keys of one chunk that were looked up before.
#[derive(Default)]
pub struct ChunkCache {
    frames: KeyMap<RawFrame, i32>,
    methods: KeyMap<(u64, bool), (u32, String, String)>,
    kinds: KeyMap<u64, FrameKind>,
    stacks: KeyMap<u64, Option<i32>>,
    raw: Vec<RawFrame>,
}

impl Dictionary {
    /// Starts both tables in folder `out`.
    ///
    /// # Errors
    /// If they cannot be created.
    pub fn create(rules: &'static Rules, out: &str) -> Result<Self> {
        Ok(Self {
            rules,
            names: HashMap::new(),
            methods: HashMap::new(),
            frames: KeyMap::default(),
            frame_methods: Vec::new(),
            facts: Vec::new(),
            stacks: KeyMap::default(),
            verdicts: Vec::new(),
            frame_sink: ParquetSink::create(out)?,
            stack_sink: ParquetSink::create(out)?,
        })
    }

    /// Writes both tables to the end; returns the rows of frames and stacks.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(self) -> Result<(u64, u64)> {
        Ok((self.frame_sink.finish()?, self.stack_sink.finish()?))
    }

    /// What the rules say about a stack.
    pub fn verdict(&self, stack: i32) -> Verdict {
        self.verdicts[stack as usize]
    }

    /// Id of the stack with this key, resolved at first sight; `None` where its pool is missing.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn stack(
        &mut self,
        pools: &Pools<'_>,
        cache: &mut ChunkCache,
        key: u64,
    ) -> Result<Option<i32>> {
        if let Some(&known) = cache.stacks.get(&key) {
            return Ok(known);
        }
        let mut raw = std::mem::take(&mut cache.raw);
        raw.clear();
        let stack = match pools.stack(key, &mut raw) {
            Some(truncated) => {
                let mut ids = Vec::with_capacity(raw.len());
                for frame in raw.iter().rev() {
                    let known = cache.frames.get(frame).copied();
                    ids.push(match known {
                        Some(id) => id,
                        None => self.frame(pools, cache, *frame)?,
                    });
                }
                Some(self.intern_stack(ids, truncated)?)
            }
            None => None,
        };
        cache.raw = raw;
        cache.stacks.insert(key, stack);
        Ok(stack)
    }

    fn intern_stack(&mut self, root_first: Vec<i32>, truncated: bool) -> Result<i32> {
        if let Some(&known) = self.stacks.get(root_first.as_slice()) {
            return Ok(known);
        }
        let id = self.verdicts.len() as i32;
        let facts: Vec<Facts> = root_first
            .iter()
            .rev()
            .map(|&frame| self.frame_facts(frame))
            .collect();
        self.verdicts.push(self.rules.classify(&facts));
        let rows = &mut self.stack_sink.rows;
        rows.stack_id.append_value(id);
        rows.frame_ids.values().append_slice(&root_first);
        rows.frame_ids.append(true);
        rows.truncated.append_value(truncated);
        self.stack_sink.row_done()?;
        self.stacks.insert(root_first.into_boxed_slice(), id);
        Ok(id)
    }

    fn frame_facts(&self, frame: i32) -> Facts {
        self.facts[self.frame_methods[frame as usize] as usize]
    }

    fn frame(&mut self, pools: &Pools<'_>, cache: &mut ChunkCache, raw: RawFrame) -> Result<i32> {
        let kind = *cache.kinds.entry(raw.kind).or_insert_with(|| {
            let text = pools.name(Named::FrameType, raw.kind);
            text.map_or(FrameKind::Unknown, |text| {
                FrameKind::from_description(&text)
            })
        });
        // Distinct methods are few: the names are cheap to keep, dear to decode.
        let (number, place, method) = cache
            .methods
            .entry((raw.method, kind.is_native()))
            .or_insert_with(|| {
                let unknown = || Method {
                    class: String::new(),
                    name: "unknown".to_owned(),
                };
                let Method { class, name } = pools.method(raw.method).unwrap_or_else(unknown);
                let place = if kind.is_native() {
                    class
                } else {
                    java_class_name(&class)
                };
                (
                    self.method_number(&Frame {
                        place: &place,
                        method: &name,
                        kind,
                    }),
                    place,
                    name,
                )
            });
        if let Some(&known) = self.frames.get(&(*number, raw.line, kind as u8)) {
            cache.frames.insert(raw, known);
            return Ok(known);
        }
        let id = self.frame_methods.len() as i32;
        self.frames.insert((*number, raw.line, kind as u8), id);
        self.frame_methods.push(*number);
        let rows = &mut self.frame_sink.rows;
        let place = Some(place.as_str()).filter(|place| !place.is_empty());
        rows.frame_id.append_value(id);
        rows.class_name
            .append_option(place.filter(|_| !kind.is_native()));
        rows.method.append_value(method);
        rows.line.append_option((raw.line > 0).then_some(raw.line));
        rows.kind.append_value(kind.name());
        rows.library
            .append_option(place.filter(|_| kind.is_native()));
        self.frame_sink.row_done()?;
        cache.frames.insert(raw, id);
        Ok(id)
    }

    /// Number of a method, its facts worked out at first sight.
    fn method_number(&mut self, frame: &Frame<'_>) -> u32 {
        let key = (
            self.name(frame.place),
            self.name(frame.method),
            frame.kind.is_native(),
        );
        if let Some(&known) = self.methods.get(&key) {
            return known;
        }
        let number = self.facts.len() as u32;
        self.facts.push(self.rules.facts(frame));
        self.methods.insert(key, number);
        number
    }

    fn name(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.names.get(text) {
            return known;
        }
        let number = self.names.len() as u32;
        self.names.insert(text.to_owned(), number);
        number
    }
}
