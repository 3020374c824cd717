//! What a chunk says of itself.

use serde::{Deserialize, Serialize};

/// Whose streams these are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Source {
    /// Application id.
    pub app: String,
    /// Executor id, `driver`, or `host` for streams of no single executor.
    pub executor: String,
    /// Tells apart two lives of one executor id: the birth of its raw folder.
    pub attempt: String,
    /// Name of the host.
    pub host: String,
}

/// How a stream may be cut, and what is left of it behind a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Lines of text. Lines behind a gap are read as ever.
    Lines,
    /// Messages of an Arrow IPC stream. Behind a gap, those whose dictionaries came again.
    Messages,
    /// Chunks of a JFR recording, each complete in itself.
    Recording,
    /// Bytes of unknown meaning: nothing behind a gap.
    Bytes,
    /// A file that is replaced: every chunk is a whole version.
    Whole,
}

impl Kind {
    /// Whether what begins whole behind a gap can be read without what is missing.
    pub fn resumes(self) -> bool {
        matches!(self, Self::Lines | Self::Recording | Self::Messages)
    }
}

/// The header of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Whose stream it is.
    #[serde(flatten)]
    pub source: Source,
    /// Name of the file in the raw folder; folders are separated by `/`.
    pub file: String,
    /// How often a file of this name was begun anew before.
    pub generation: u32,
    /// How the stream is cut.
    pub kind: Kind,
    /// Number of the chunk in its stream, from 0.
    pub sequence: u64,
    /// Where in the file the payload begins.
    pub offset: u64,
    /// Bytes of the payload, uncompressed.
    pub length: u64,
    /// Bytes right before `offset` that were dropped where the file was written.
    pub skipped_bytes: u64,
    /// The payload begins where a line, message or JFR chunk does.
    pub begins_whole: bool,
    /// The payload ends where a line, message or JFR chunk does.
    pub ends_whole: bool,
    /// The stream had ended with this chunk when it was cut.
    pub last: bool,
    /// When it was cut: Unix time, ns.
    pub cut_wall_ns: i64,
    /// The payload is a zstd frame.
    pub zstd: bool,
}
