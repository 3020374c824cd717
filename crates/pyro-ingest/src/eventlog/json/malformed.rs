//! Why a line cannot be read.

/// Why a line cannot be read. Where is [`Cursor::position`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// Result of reading JSON.
pub type Read<T> = Result<T, Malformed>;
