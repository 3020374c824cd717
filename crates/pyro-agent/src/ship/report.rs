//! A shipper's account of itself, and of a round.

use serde::Serialize;

/// What became of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Something waits for the store.
    pub waiting: bool,
    /// The folder or a file could not be read: there may be more.
    pub unread: bool,
    /// What was shipped could not be remembered.
    pub unsaved: bool,
}

impl Round {
    /// Whether the store has everything that is shipped.
    pub fn is_done(self) -> bool {
        !self.waiting && !self.unread
    }
}

/// Figures since this process began, but for what says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Chunks that the store took.
    pub chunks_count: u64,
    /// Bytes of files in them.
    pub payload_bytes: u64,
    /// Bytes of the objects.
    pub stored_bytes: u64,
    /// Attempts that failed.
    pub failed_puts_count: u64,
    /// What the last of them said.
    pub last_failure: Option<String>,
    /// The store has not answered since: Unix time, ns.
    pub away_since_wall_ns: Option<i64>,
    /// Bytes that wait for the store now.
    pub waiting_bytes: u64,
    /// When the oldest of them were cut: Unix time, ns.
    pub oldest_wall_ns: Option<i64>,
    /// Bytes that were dropped because too many were waiting, since the folder is shipped.
    pub dropped_bytes: u64,
    /// Bytes that were taken and could not be read when the store was ready, since the folder is shipped.
    pub lost_bytes: u64,
    /// Files that are shipped.
    pub files_count: u64,
    /// Files that are not: too many, not to be opened, or of the replaced kind and too large.
    pub files_left_out_count: u64,
    /// Why the folder, a file or the own memory could not be read or written last.
    pub last_problem: Option<String>,
}
