//! Frames and stacks, each once, with what the rules say about them: tables `frames` and
//! `stacks` of whatever profile is read.

use pyro_model::{FramesBuilder, ParquetSink, Result, StacksBuilder};
use pyro_stacks::folded::{Names, SequenceHash, Sequences};
use pyro_stacks::{Facts, Frame, FrameKind, Rules, Verdict};
use rustc_hash::FxHashMap;

/// Number of a method, with what it is part of.
pub(crate) type MethodNumber = u32;

/// Writes tables `frames` and `stacks` as distinct ones appear.
///
/// Memory grows with the number of distinct stacks, not with the number of samples.
pub(crate) struct Dictionary {
    rules: &'static Rules,
    names: Names,
    methods: FxHashMap<(u32, u32, bool), MethodNumber>,
    /// Names of each method's place and of itself, and what the rules say about it.
    method_names: Vec<(u32, u32)>,
    facts: Vec<Facts>,
    frames: FxHashMap<(MethodNumber, i32, FrameKind), u32>,
    frame_methods: Vec<MethodNumber>,
    stacks: Sequences,
    verdicts: Vec<Verdict>,
    leaf_first: Vec<Facts>,
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
            rules,
            names: Names::default(),
            methods: FxHashMap::default(),
            method_names: Vec::new(),
            facts: Vec::new(),
            frames: FxHashMap::default(),
            frame_methods: Vec::new(),
            stacks: Sequences::default(),
            verdicts: Vec::new(),
            leaf_first: Vec::new(),
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
        self.verdicts[stack as usize]
    }

    /// Number of a method; what the rules say about it is worked out at first sight.
    pub fn method(&mut self, frame: &Frame<'_>) -> MethodNumber {
        let names = (
            self.names.number(frame.place.as_bytes()),
            self.names.number(frame.method.as_bytes()),
        );
        let key = (names.0, names.1, frame.kind.is_native());
        *self.methods.entry(key).or_insert_with(|| {
            self.facts.push(self.rules.facts(frame));
            self.method_names.push(names);
            (self.facts.len() - 1) as MethodNumber
        })
    }

    /// Number of a frame: a method at a line (0 if unknown), run in some way.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn frame(&mut self, method: MethodNumber, line: i32, kind: FrameKind) -> Result<u32> {
        let new = self.frame_methods.len() as u32;
        let number = *self.frames.entry((method, line, kind)).or_insert(new);
        if number < new {
            return Ok(number);
        }
        self.frame_methods.push(method);
        let (place, name) = self.method_names[method as usize];
        let text = |name: u32| std::str::from_utf8(self.names.get(name)).unwrap_or_default();
        let place = Some(text(place)).filter(|place| !place.is_empty());
        let rows = &mut self.frame_sink.rows;
        rows.frame_id.append_value(new as i32);
        rows.class_name
            .append_option(place.filter(|_| !kind.is_native()));
        rows.method.append_value(text(name));
        rows.line.append_option((line > 0).then_some(line));
        rows.kind.append_value(kind.name());
        rows.library
            .append_option(place.filter(|_| kind.is_native()));
        self.frame_sink.row_done()?;
        Ok(new)
    }

    /// Id of a stack of frames, root first.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn stack(&mut self, root_first: &[u32], truncated: bool) -> Result<i32> {
        let known = self.stacks.number(root_first, SequenceHash::of(root_first));
        let new = match known {
            Ok(known) => return Ok(known as i32),
            Err(new) => new as i32,
        };
        self.leaf_first.clear();
        let methods = root_first
            .iter()
            .rev()
            .map(|&frame| self.frame_methods[frame as usize]);
        self.leaf_first
            .extend(methods.map(|method| self.facts[method as usize]));
        self.verdicts.push(self.rules.classify(&self.leaf_first));
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
