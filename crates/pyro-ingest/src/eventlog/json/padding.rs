//! Room behind a line, so that vector loads need no checks.

/// Bytes that must be readable behind the end of a line.
pub const PAD: usize = 64;

/// A copy of `line` that a [`Cursor`](super::Cursor) can read.
pub fn padded(line: &[u8]) -> Vec<u8> {
    let mut buf = Vec::with_capacity(line.len() + PAD);
    buf.extend_from_slice(line);
    buf.push(b'\n');
    buf.resize(line.len() + PAD, 0);
    buf
}
