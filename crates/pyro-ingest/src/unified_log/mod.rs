//! What logs of HotSpot's unified logging (`-Xlog`) have in common.

pub mod decorations;
mod files;
mod unreadable;

pub use files::{OfProcess, by_process};
pub use unreadable::Unreadable;

/// Longest line that is read whole; what exceeds it is counted as unreadable.
pub const MAX_LINE_BYTES: u64 = 64 << 10;
