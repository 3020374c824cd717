//! Counting lines that cannot be read.

/// First place and number of lines that cannot be read.
#[derive(Default)]
pub struct Unreadable {
    /// How often.
    pub count: u64,
    /// First line, from 1.
    pub line: u64,
    /// Where that line begins.
    pub byte: u64,
}

impl Unreadable {
    /// Counts one more.
    pub fn note(&mut self, line: u64, byte: u64) {
        if self.count == 0 {
            (self.line, self.byte) = (line, byte);
        }
        self.count += 1;
    }
}
