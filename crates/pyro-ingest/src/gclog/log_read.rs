//! What reading one file came to.

use pyro_model::{Doubt, Severity};

use crate::unified_log::Unreadable;

/// What reading one file came to.
#[derive(Default)]
pub struct LogRead {
    /// Bytes.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Lines of a unified log.
    pub decorated: u64,
    /// Pauses before any line that names the collector.
    pub pauses_without_collector: u64,
    /// Lines that cannot be read.
    pub unreadable: Unreadable,
    /// Number and offset of a last line that is not whole.
    pub truncated: Option<(u64, u64)>,
}

impl LogRead {
    /// The doubts that follow about the file.
    pub fn doubts(&self, path: &str) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        if self.lines > 0 && self.decorated == 0 {
            let text = format!(
                "{path}: none of {} lines is of a unified GC log (-Xlog:gc*,safepoint)",
                self.lines
            );
            doubts.push(
                Doubt::new("gc_log_unreadable", Severity::Warning, text)
                    .in_file(path)
                    .times(self.lines),
            );
        } else if self.unreadable.count > 0 {
            let Unreadable { count, line, byte } = self.unreadable;
            let text =
                format!("{path}: {count} unreadable lines, the first at line {line}, byte {byte}");
            let doubt = Doubt::new("gc_log_unreadable", Severity::Warning, text);
            doubts.push(doubt.in_file(path).at_line(line).at_byte(byte).times(count));
        }
        if let Some((line, byte)) = self.truncated {
            let text =
                format!("{path}: ends in the middle of line {line}, which begins at byte {byte}");
            let doubt = Doubt::new("gc_log_truncated", Severity::Warning, text);
            doubts.push(doubt.in_file(path).at_line(line).at_byte(byte));
        }
        if self.pauses_without_collector > 0 {
            let count = self.pauses_without_collector;
            let text = format!("{path}: {count} pauses before any line that names the collector");
            doubts.push(
                Doubt::new("gc_collector_unknown", Severity::Info, text)
                    .in_file(path)
                    .times(count),
            );
        }
        doubts
    }
}
