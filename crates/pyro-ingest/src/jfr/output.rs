//! What the events of chunks become: rows and the like, sent on in blocks of bounded size.

use pyro_stacks::{Rules, Verdict};
use rustc_hash::FxHashMap;

use super::block::{Block, ChunkEnd, Compilation, New, NewMethod, NewStack};
use super::lookup::Lookup;
use super::pools::Pools;
use super::samples::{Alike, Origin, Sample, Tallies};
use super::unfreed::Native;
use crate::dictionary::StackIndex;
use crate::sample_rows::{Label, SampleRows};
use pyro_model::Table as _;

/// Things of one sort in a block, at most.
const BLOCK_ROWS: usize = 8192;
/// Frames of new stacks in a block, at most (plus those of one stack).
const BLOCK_FRAMES: usize = 256 << 10;

/// Whoever takes the blocks needs no more of them: something failed.
#[derive(Debug)]
pub struct Stopped;

/// Takes blocks.
pub type Take<'t, 'a> = &'t mut dyn FnMut(Block<'a>) -> Result<(), Stopped>;

/// What one thread has found in chunks, and its numbers for it.
pub struct Output<'a> {
    worker: usize,
    rules: &'static Rules,
    rows: SampleRows,
    alike: Alike,
    tallies: Tallies,
    lookup: Lookup,
    stacks: StackIndex,
    /// Roles of threads, by the number of the name.
    roles: FxHashMap<Label, &'static str>,
    native: Vec<Native<'a>>,
    compilations: Vec<Compilation>,
    /// Bytes of stacks that may be remembered.
    remembered_bytes: usize,
    /// What the blocks so far described: strings, and methods, frames and stacks.
    sent_labels: usize,
    sent: [usize; 3],
    new: New,
}

impl<'a> Output<'a> {
    /// Nothing so far, of thread `worker`.
    pub fn new(worker: usize, rules: &'static Rules, remembered_bytes: usize) -> Self {
        Self {
            worker,
            rules,
            rows: SampleRows::default(),
            alike: Alike::default(),
            tallies: Tallies::default(),
            lookup: Lookup::default(),
            stacks: StackIndex::new(rules),
            roles: FxHashMap::default(),
            native: Vec::new(),
            compilations: Vec::new(),
            remembered_bytes,
            sent_labels: 0,
            sent: [0; 3],
            new: New::default(),
        }
    }

    /// Forgets what keys of constant pools mean: another recording begins.
    pub fn begin_recording(&mut self) {
        self.lookup.begin_recording();
    }

    /// Takes in what the keys of a chunk mean.
    pub fn begin_chunk(&mut self, pools: &Pools<'_>, async_profiler: bool) {
        if self.lookup.held_bytes() > self.remembered_bytes {
            *self = Self::new(self.worker, self.rules, self.remembered_bytes);
            self.new.anew = true;
        }
        self.lookup.begin_chunk(pools, async_profiler);
    }

    /// Number of a string.
    pub fn label(&mut self, text: &str) -> Label {
        self.rows.label(text)
    }

    /// Number of a thread's name, and the thread's role by it.
    pub fn thread_name(&mut self, name: &str) -> (Label, &'static str) {
        let label = self.rows.label(name);
        let rules = self.rules;
        let role = self.roles.entry(label);
        (label, role.or_insert_with(|| rules.roles().of(name)))
    }

    /// The stack with this key of the chunk's pool, and what the rules say about it.
    #[inline]
    pub fn stack(&mut self, pools: &Pools<'_>, key: u64) -> Option<(i32, Verdict)> {
        let stack = self.lookup.stack(pools, &mut self.stacks, key)?;
        Some((stack, self.stacks.verdict(stack)))
    }

    /// Appends a sample.
    ///
    /// # Errors
    /// If nobody needs it.
    #[inline]
    pub fn sample(
        &mut self,
        origin: Origin,
        sample: &Sample<'_>,
        take: Take<'_, 'a>,
    ) -> Result<(), Stopped> {
        let (rows, tallies) = (&mut self.rows, &mut self.tallies);
        self.alike.append(rows, tallies, self.rules, origin, sample);
        if self.rows.len() < BLOCK_ROWS {
            return Ok(());
        }
        self.send(None, take)
    }

    /// Appends a call of the native allocator.
    ///
    /// # Errors
    /// If nobody needs it.
    pub fn native(&mut self, native: Native<'a>, take: Take<'_, 'a>) -> Result<(), Stopped> {
        self.native.push(native);
        if self.native.len() < BLOCK_ROWS {
            return Ok(());
        }
        self.send(None, take)
    }

    /// Appends a compilation.
    ///
    /// # Errors
    /// If nobody needs it.
    pub fn compilation(
        &mut self,
        compilation: Compilation,
        take: Take<'_, 'a>,
    ) -> Result<(), Stopped> {
        self.compilations.push(compilation);
        if self.compilations.len() < BLOCK_ROWS {
            return Ok(());
        }
        self.send(None, take)
    }

    /// Ends a chunk.
    ///
    /// # Errors
    /// If nobody needs it.
    pub fn end_chunk(&mut self, mut end: ChunkEnd, take: Take<'_, 'a>) -> Result<(), Stopped> {
        end.tallies = std::mem::take(&mut self.tallies);
        self.send(Some(end), take)
    }

    /// Sends what there is.
    fn send(&mut self, end: Option<ChunkEnd>, take: Take<'_, 'a>) -> Result<(), Stopped> {
        while self.describe() {
            take(self.block(None))?;
        }
        let mut block = self.block(end);
        block.rows = self.rows.take();
        self.alike.clear();
        block.native = std::mem::take(&mut self.native);
        block.compilations = std::mem::take(&mut self.compilations);
        take(block)
    }

    /// A block of what was described.
    fn block(&mut self, end: Option<ChunkEnd>) -> Block<'a> {
        Block {
            worker: self.worker,
            new: std::mem::take(&mut self.new),
            rows: Default::default(),
            native: Vec::new(),
            compilations: Vec::new(),
            end,
        }
    }

    /// Describes what got a number; whether there is more than fits into a block.
    fn describe(&mut self) -> bool {
        let (new, stacks) = (&mut self.new, &self.stacks);
        let labels = self.rows.labels_count();
        let texts = (self.sent_labels..labels).map(|label| self.rows.label_text(label).into());
        new.labels.extend(texts);
        self.sent_labels = labels;
        let [methods, frames, count] = stacks.counts();
        new.methods.extend((self.sent[0]..methods).map(|method| {
            let (place, name, kind) = stacks.method_of(method);
            NewMethod {
                place: place.into(),
                name: name.into(),
                kind,
                facts: stacks.facts_of(method),
            }
        }));
        let keys = (self.sent[1]..frames).map(|frame| stacks.frame_of(frame));
        new.frames.extend(keys);
        self.sent[..2].copy_from_slice(&[methods, frames]);
        while self.sent[2] < count {
            if new.stack_frames.len() >= BLOCK_FRAMES {
                return true;
            }
            let (frames, truncated) = stacks.stack_of(self.sent[2]);
            new.stack_frames.extend_from_slice(frames);
            new.stacks.push(NewStack {
                frames: frames.len(),
                truncated,
                verdict: stacks.verdict(self.sent[2] as i32),
            });
            self.sent[2] += 1;
        }
        false
    }
}
