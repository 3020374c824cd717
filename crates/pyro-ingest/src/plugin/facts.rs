//! What a plugin file says besides rows: counts and doubts.

use std::collections::BTreeMap;

use pyro_model::{Doubt, Severity};

/// Where the plugin notes that it ends all recording, as what it kept has reached its bound.
pub const KEPT_FULL: &str = "kept_full";

/// Where something was seen, first and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// How often.
    pub count: u64,
    /// First line, from 1.
    pub line: u64,
    /// First byte.
    pub byte: u64,
}

impl Seen {
    /// Counts one more.
    pub fn at(&mut self, line: u64, byte: u64) {
        if self.count == 0 {
            (self.line, self.byte) = (line, byte);
        }
        self.count += 1;
    }
}

/// What the reading of a file brought besides rows.
#[derive(Debug, Default)]
pub struct Facts {
    /// Bytes of the file.
    pub bytes: u64,
    /// Lines of the file.
    pub lines: u64,
    /// Lines that are no record.
    pub unreadable: Seen,
    /// Records dropped by the plugin, by kind.
    pub dropped: BTreeMap<String, u64>,
    /// CPU of the plugin, ns.
    pub own_cpu_ns: i64,
    /// Records of an unknown kind.
    pub unknown: Seen,
    /// The last line, if it is not whole.
    pub cut: Option<Seen>,
    /// Whether the last thing it says is `bye`.
    pub closed: bool,
    /// Whether no record names the host.
    pub anonymous: bool,
    /// Errors that the plugin noted: place, message, count.
    pub errors: BTreeMap<String, (String, u64)>,
}

impl Facts {
    /// Adds another file's figures.
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.unreadable.count += other.unreadable.count;
        self.own_cpu_ns = self.own_cpu_ns.saturating_add(other.own_cpu_ns);
        for (kind, count) in &other.dropped {
            let sum = self.dropped.entry(kind.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Reasons not to trust the rows of this file.
    pub fn doubts(&self, path: &str) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        let seen = |code, severity, text: String, seen: Seen| {
            Doubt::new(code, severity, text)
                .in_file(path)
                .at_line(seen.line)
                .at_byte(seen.byte)
                .times(seen.count)
        };
        if self.unreadable.count > 0 {
            let text = format!(
                "{} lines are not plugin records and were left out.",
                self.unreadable.count
            );
            doubts.push(seen(
                "plugin_line_unreadable",
                Severity::Warning,
                text,
                self.unreadable,
            ));
        }
        if self.unknown.count > 0 {
            let text = format!("{} records are of an unknown kind.", self.unknown.count);
            doubts.push(seen(
                "plugin_record_unknown",
                Severity::Info,
                text,
                self.unknown,
            ));
        }
        if let Some(cut) = self.cut {
            let text = "The file ends in the middle of a line: the JVM was killed while it wrote.";
            doubts.push(seen(
                "plugin_truncated",
                Severity::Warning,
                text.to_owned(),
                cut,
            ));
        } else if !self.closed {
            let text =
                "The JVM ended without closing its records; the last moments may be missing.";
            doubts.push(Doubt::new("plugin_truncated", Severity::Warning, text).in_file(path));
        }
        if self.anonymous {
            let text = "No record names the host; rows of this file carry an empty host name.";
            doubts
                .push(Doubt::new("plugin_process_unknown", Severity::Warning, text).in_file(path));
        }
        let full = self.errors.get(KEPT_FULL);
        if let Some((message, _)) = full {
            let count = self.dropped.values().copied().fold(0, u64::saturating_add);
            let text = format!("{message} ({count} records)");
            let doubt = Doubt::new("plugin_kept_full", Severity::Warning, text);
            doubts.push(doubt.in_file(path));
        }
        for (kind, count) in self.dropped.iter().filter(|_| full.is_none()) {
            let text = format!("The plugin dropped {count} records of kind {kind}.");
            let doubt = Doubt::new("plugin_records_dropped", Severity::Warning, text);
            doubts.push(doubt.in_file(path).times(*count));
        }
        let others = self.errors.iter().filter(|(place, _)| *place != KEPT_FULL);
        for (place, (message, count)) in others {
            let doubt = Doubt::new(
                "plugin_error",
                Severity::Warning,
                format!("{place}: {message}"),
            );
            doubts.push(doubt.in_file(path).times(*count));
        }
        doubts
    }
}
