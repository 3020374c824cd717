//! Counting lines that cannot be read.

/// First place and number of a kind of trouble.
#[derive(Default)]
pub struct Trouble {
    /// How often.
    pub count: u64,
    /// First line, from 1.
    pub line: u64,
    /// Where that line begins.
    pub byte: u64,
}

impl Trouble {
    /// Counts one more.
    pub fn note(&mut self, line: u64, byte: u64) {
        if self.count == 0 {
            (self.line, self.byte) = (line, byte);
        }
        self.count += 1;
    }
}
