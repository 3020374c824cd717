//! What became of the chunks of a stream.

use serde::Serialize;

/// Figures of one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Bytes of the file that was made.
    pub bytes_count: u64,
    /// Chunks that arrived and are sound.
    pub chunks_count: u64,
    /// Chunks that arrived and are not.
    pub damaged_count: u64,
    /// Why the first of them is not.
    pub damage: Option<String>,
    /// Numbers of chunks between the others that never arrived.
    pub missing_count: u64,
    /// Bytes that missing and damaged chunks had, as far as a later chunk tells.
    pub missing_bytes: u64,
    /// Bytes that were dropped where the file was written, and never sent.
    pub dropped_bytes: u64,
    /// Bytes that arrived more than once, and are used once.
    pub repeated_bytes: u64,
    /// Bytes that arrived and cannot be used without those that are missing.
    pub left_out_bytes: u64,
    /// Where in the made file the first gap is.
    pub gap_at_byte: Option<u64>,
    /// The stream had ended with the last chunk that arrived.
    pub ended: bool,
    /// When the last chunk that arrived was cut: Unix time, ns.
    pub last_wall_ns: Option<i64>,
}
