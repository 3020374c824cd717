//! Frames and stacks, each once, with what the rules say about them: tables `frames` and
//! `stacks` of whatever profile is read.

use pyro_model::{FramesBuilder, ParquetSink, Result, StacksBuilder};
use pyro_stacks::folded::{Names, SequenceHash, Sequences};
use pyro_stacks::{Facts, Frame, FrameKind, Rules, Verdict};
use rustc_hash::FxHashMap;

/// Number of a method, with what it is part of.
pub(crate) type MethodNumber = u32;

/// A frame: a method at a line (0 if unknown), run in some way.
pub(crate) type FrameKey = (MethodNumber, i32, FrameKind);

/// Frames and stacks, each once and numbered as they come, with what the rules say about them.
pub(crate) struct StackIndex {
    rules: &'static Rules,
    names: Names,
    methods: FxHashMap<(u32, u32, FrameKind), MethodNumber>,
    /// Names of each method's place and of itself, its kind, and what the rules say about it.
    method_keys: Vec<(u32, u32, FrameKind)>,
    facts: Vec<Facts>,
    frames: FxHashMap<FrameKey, u32>,
    frame_keys: Vec<FrameKey>,
    stacks: Sequences,
    /// Whether the profiler cut them, and what the rules say about them.
    truncated: Vec<bool>,
    verdicts: Vec<Verdict>,
    leaf_first: Vec<Facts>,
}

impl StackIndex {
    /// An index without any.
    pub fn new(rules: &'static Rules) -> Self {
        Self {
            rules,
            names: Names::default(),
            methods: FxHashMap::default(),
            method_keys: Vec::new(),
            facts: Vec::new(),
            frames: FxHashMap::default(),
            frame_keys: Vec::new(),
            stacks: Sequences::default(),
            truncated: Vec::new(),
            verdicts: Vec::new(),
            leaf_first: Vec::new(),
        }
    }

    /// Methods, frames and stacks so far.
    pub fn counts(&self) -> [usize; 3] {
        let [methods, frames] = [self.facts.len(), self.frame_keys.len()];
        [methods, frames, self.verdicts.len()]
    }

    /// Number of a method; what the rules say about it is worked out at first sight, unless it is known.
    pub fn method(&mut self, frame: &Frame<'_>, facts: Option<Facts>) -> MethodNumber {
        let names = (
            self.names.number(frame.place.as_bytes()),
            self.names.number(frame.method.as_bytes()),
        );
        let key = (names.0, names.1, frame.kind.of_text());
        *self.methods.entry(key).or_insert_with(|| {
            let facts = facts.unwrap_or_else(|| self.rules.facts(frame));
            self.facts.push(facts);
            self.method_keys.push(key);
            (self.facts.len() - 1) as MethodNumber
        })
    }

    /// Place and name of a method, and a kind of frame with its text.
    pub fn method_of(&self, method: usize) -> (&str, &str, FrameKind) {
        let (place, name, kind) = self.method_keys[method];
        let text = |name: u32| std::str::from_utf8(self.names.get(name)).unwrap_or_default();
        (text(place), text(name), kind)
    }

    /// What the rules say about a method.
    pub fn facts_of(&self, method: usize) -> Facts {
        self.facts[method]
    }

    /// Number of a frame.
    ///
    /// # Errors
    /// The number that it got if it is new.
    pub fn frame(&mut self, key: FrameKey) -> std::result::Result<u32, u32> {
        let new = self.frame_keys.len() as u32;
        let number = *self.frames.entry(key).or_insert(new);
        if number < new {
            return Ok(number);
        }
        self.frame_keys.push(key);
        Err(new)
    }

    /// The frame with this number.
    pub fn frame_of(&self, frame: usize) -> FrameKey {
        self.frame_keys[frame]
    }

    /// Number of a stack of frames, root first; what the rules say about it is worked out at first
    /// sight, unless it is known.
    ///
    /// # Errors
    /// The number that it got if it is new.
    pub fn stack(
        &mut self,
        root_first: &[u32],
        truncated: bool,
        verdict: Option<Verdict>,
    ) -> std::result::Result<i32, i32> {
        let known = self.stacks.number(root_first, SequenceHash::of(root_first));
        let new = match known {
            Ok(known) => return Ok(known as i32),
            Err(new) => new as i32,
        };
        let verdict = verdict.unwrap_or_else(|| {
            self.leaf_first.clear();
            let methods = root_first
                .iter()
                .rev()
                .map(|&frame| self.frame_keys[frame as usize].0);
            self.leaf_first
                .extend(methods.map(|method| self.facts[method as usize]));
            self.rules.classify(&self.leaf_first)
        });
        self.verdicts.push(verdict);
        self.truncated.push(truncated);
        Err(new)
    }

    /// Frames of the stack with this number, root first, and whether the profiler cut it.
    pub fn stack_of(&self, stack: usize) -> (&[u32], bool) {
        (self.stacks.get(stack as u32), self.truncated[stack])
    }

    /// What the rules say about a stack.
    #[inline]
    pub fn verdict(&self, stack: i32) -> Verdict {
        self.verdicts[stack as usize]
    }
}

/// Writes tables `frames` and `stacks` as distinct ones appear.
///
/// Memory grows with the number of distinct stacks, not with the number of samples.
pub(crate) struct Dictionary {
    index: StackIndex,
    frame_sink: ParquetSink<FramesBuilder>,
    stack_sink: ParquetSink<StacksBuilder>,
}

impl Dictionary {
    /// Starts both tables in folder `out`.
    ///
    /// # Errors
    /// If they cannot be created.
    pub fn create(rules: &'static Rules, out: &str) -> Result<Self> {
        Ok(Self {
            index: StackIndex::new(rules),
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
    #[inline]
    pub fn verdict(&self, stack: i32) -> Verdict {
        self.index.verdict(stack)
    }

    /// Number of a method; what the rules say about it is worked out at first sight, unless it is known.
    pub fn method(&mut self, frame: &Frame<'_>, facts: Option<Facts>) -> MethodNumber {
        self.index.method(frame, facts)
    }

    /// Number of a frame.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn frame(&mut self, key: FrameKey) -> Result<u32> {
        let new = match self.index.frame(key) {
            Ok(known) => return Ok(known),
            Err(new) => new,
        };
        let (method, line, kind) = key;
        let (place, name, _) = self.index.method_of(method as usize);
        let place = Some(place).filter(|place| !place.is_empty());
        let rows = &mut self.frame_sink.rows;
        rows.frame_id.append_value(new as i32);
        rows.class_name
            .append_option(place.filter(|_| !kind.is_native()));
        rows.method.append_value(name);
        rows.line.append_option((line > 0).then_some(line));
        rows.kind.append_value(kind.name());
        rows.library
            .append_option(place.filter(|_| kind.is_native()));
        self.frame_sink.row_done()?;
        Ok(new)
    }

    /// Id of a stack of frames, root first; see [`StackIndex::stack`].
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn stack(
        &mut self,
        root_first: &[u32],
        truncated: bool,
        verdict: Option<Verdict>,
    ) -> Result<i32> {
        let new = match self.index.stack(root_first, truncated, verdict) {
            Ok(known) => return Ok(known),
            Err(new) => new,
        };
        let rows = &mut self.stack_sink.rows;
        rows.stack_id.append_value(new);
        let frames = rows.frame_ids.values();
        root_first
            .iter()
            .for_each(|&frame| frames.append_value(frame as i32));
        rows.frame_ids.append(true);
        rows.truncated.append_value(truncated);
        self.stack_sink.row_done()?;
        Ok(new)
    }
}
