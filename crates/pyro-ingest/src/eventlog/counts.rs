//! Figures about the reading.

use std::collections::BTreeMap;

/// Figures about the reading.
#[derive(Default)]
pub struct Counts {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub compressed_bytes: u64,
    /// Bytes of JSON.
    pub uncompressed_bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Blank lines.
    pub blank_lines: u64,
    /// Events.
    pub events: u64,
    /// Events that no table needs.
    pub unneeded_events: u64,
    /// Events that are not known.
    pub unknown_events: u64,
    /// Lines that cannot be read.
    pub unreadable_lines: u64,
}

impl Counts {
    /// The figures by name.
    pub fn stats(&self) -> BTreeMap<&'static str, serde_json::Value> {
        [
            ("files_count", self.files),
            ("compressed_bytes", self.compressed_bytes),
            ("uncompressed_bytes", self.uncompressed_bytes),
            ("lines_count", self.lines),
            ("blank_lines_count", self.blank_lines),
            ("events_count", self.events),
            ("unneeded_events_count", self.unneeded_events),
            ("unknown_events_count", self.unknown_events),
            ("unreadable_lines_count", self.unreadable_lines),
        ]
        .into_iter()
        .map(|(name, count)| (name, count.into()))
        .collect()
    }
}
