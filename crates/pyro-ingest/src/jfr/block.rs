//! What was read of a chunk, in pieces: rows, and the strings, frames and stacks that are new in them.
//!
//! Whoever reads chunks numbers strings and stacks in its own way, as it meets them. A block
//! describes what got a number since the block before, so that whoever puts the tables together
//! can translate, and finds what is new in the order of the file.

use pyro_stacks::{Facts, FrameKind, Verdict};

use super::recording::Seen;
use super::samples::Tallies;
use super::settings::Settings;
use super::unfreed::Native;
use crate::dictionary::FrameKey;
use crate::sample_rows::SampleColumns;

/// A method that is new.
pub struct NewMethod {
    /// Class or library.
    pub place: Box<str>,
    /// Name.
    pub name: Box<str>,
    /// A kind of frame with its text.
    pub kind: FrameKind,
    /// What the rules say about it.
    pub facts: Facts,
}

/// A stack that is new; its frames are the next ones of [`New::stack_frames`].
pub struct NewStack {
    /// How many frames.
    pub frames: usize,
    /// The profiler cut it.
    pub truncated: bool,
    /// What the rules say about it.
    pub verdict: Verdict,
}

/// What got a number since the block before, in order.
#[derive(Default)]
pub struct New {
    /// Numbers begin at 0 again.
    pub anew: bool,
    /// Strings.
    pub labels: Vec<Box<str>>,
    /// Methods.
    pub methods: Vec<NewMethod>,
    /// Frames.
    pub frames: Vec<FrameKey>,
    /// Stacks.
    pub stacks: Vec<NewStack>,
    /// Their frames, root first, one stack behind the other.
    pub stack_frames: Vec<u32>,
}

/// A compilation: a row of table `jit`.
pub struct Compilation {
    /// Host.
    pub host: String,
    /// Process.
    pub pid: i64,
    /// Start.
    pub start_mono_ns: Option<i64>,
    /// Length.
    pub duration_ns: i64,
    /// Compiler.
    pub compiler: Option<String>,
    /// Level.
    pub level: Option<i32>,
    /// Method.
    pub method: Option<String>,
    /// Size of what was made.
    pub code_bytes: Option<i64>,
    /// It worked.
    pub succeeded: Option<bool>,
}

/// The end of a chunk.
pub struct ChunkEnd {
    /// Offset in the chunk at which it breaks off, if it does.
    pub broken_at: Option<usize>,
    /// What the recording says of itself up to here.
    pub settings: Settings,
    /// Counts of what was read and not used.
    pub seen: Seen,
    /// Counts of rows.
    pub tallies: Tallies,
}

/// A piece of a chunk.
pub struct Block<'a> {
    /// Who read it: numbers are its own.
    pub worker: usize,
    /// What got a number.
    pub new: New,
    /// Samples.
    pub rows: SampleColumns,
    /// Calls of the native allocator.
    pub native: Vec<Native<'a>>,
    /// Compilations.
    pub compilations: Vec<Compilation>,
    /// The chunk ends with this block.
    pub end: Option<ChunkEnd>,
}
