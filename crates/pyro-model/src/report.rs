//! What an ingest function returns besides its tables.

use std::collections::BTreeMap;

use serde::Serialize;

/// How much a doubt weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know; numbers stand.
    Info,
    /// Numbers may be incomplete.
    Warning,
    /// Numbers are missing.
    Error,
}

/// A reason not to trust a number. Codes are those of `schema/doubts.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// Code in `schema/doubts.toml`.
    pub code: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// What and where.
    pub message: String,
    /// File concerned.
    pub file: Option<String>,
    /// First line concerned, from 1.
    pub line: Option<u64>,
    /// First byte concerned, in the uncompressed stream.
    pub byte_offset: Option<u64>,
    /// How many records or lines.
    pub count: u64,
}

impl Doubt {
    /// A doubt about one record, without a place; see the methods that add one.
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
            file: None,
            line: None,
            byte_offset: None,
            count: 1,
        }
    }

    /// Names the file.
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Names the first line, from 1.
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Names the first byte, in the uncompressed stream.
    pub fn at_byte(mut self, byte_offset: u64) -> Self {
        self.byte_offset = Some(byte_offset);
        self
    }

    /// Says how many records or lines it is about.
    pub fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }
}

/// Rows per table, doubts, and figures about the reading itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct IngestReport {
    /// Rows written, by table.
    pub tables: BTreeMap<&'static str, u64>,
    /// Doubts, in the order in which they arose.
    pub doubts: Vec<Doubt>,
    /// Figures about the reading (bytes, lines, …), by name.
    pub stats: BTreeMap<&'static str, serde_json::Value>,
}

impl IngestReport {
    /// The report as the JSON object that `pyrometer._core` returns.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialise")
    }
}
