//! Reading logs: files in turn, lines in turn, and what is wrong with them.

use std::io;
use std::path::Path;

use pyro_model::{Doubt, Error, IngestReport, Result, Severity};

use super::codec::{self, Ahead, Codec};
use super::counts::Counts;
use super::doubts::{At, Findings};
use super::event::{LineError, event};
use super::events::{self, Taken};
use super::lines::{Lines, Next};
use super::source::{self, Log};
use super::state::{App, Ends};
use super::tables::Tables;

/// Lines without an event after which a file that had none is refused.
const MAX_LINES_WITHOUT_EVENT: u64 = 100;
/// Bytes between two checks whether to go on.
const BYTES_BETWEEN_CHECKS: u64 = 8 << 20;

/// Reads logs into tables.
pub struct Reader<'a> {
    /// The tables.
    pub tables: Tables,
    /// Asked every few megabytes whether to go on.
    pub go_on: &'a mut dyn FnMut() -> bool,
    /// Whether files are read and decompressed on a thread of their own.
    pub beside: bool,
    /// Number of the next application.
    pub next_app: i32,
    /// Doubts so far.
    pub report: IngestReport,
    /// Figures so far.
    pub counts: Counts,
}

impl Reader<'_> {
    /// Reads one log as one application.
    ///
    /// # Errors
    /// If one of its files cannot be read or is no event log and no other holds an event, a table
    /// cannot be written, or `go_on` says no.
    pub fn log(&mut self, log: &Log) -> Result<()> {
        let mut app = App::new(self.next_app);
        let files: Vec<_> = log
            .parts
            .iter()
            .map(|part| part.display().to_string())
            .collect();
        let bytes = self.parts(&mut app, log, &files)?;
        let mut doubt = |code, severity, message: &str| {
            self.report
                .doubts
                .push(Doubt::new(code, severity, message).in_file(&files[0]));
        };
        if app.events == 0 {
            doubt(
                "eventlog_empty",
                Severity::Warning,
                "the event log holds no event",
            );
        } else {
            if !app.facts.started {
                doubt(
                    "eventlog_no_application_start",
                    Severity::Warning,
                    "there is no application start event",
                );
            }
            if !app.facts.ended {
                doubt(
                    "eventlog_no_application_end",
                    Severity::Warning,
                    "there is no application end event",
                );
            }
        }
        if app.sql.late > 0 {
            let message = format!(
                "{} event(s) about SQL executions came long after these had ended and were left out of their metrics",
                app.sql.late
            );
            let doubt = Doubt::new("eventlog_late_event", Severity::Info, message);
            self.report
                .doubts
                .push(doubt.in_file(&files[0]).times(app.sql.late));
        }
        if app.beyond > 0 {
            let message = format!(
                "{} metric(s) of tasks are beyond 2^53 (104 days, 9 PB) and were left out",
                app.beyond
            );
            let doubt = Doubt::new("eventlog_metric_too_large", Severity::Warning, message);
            self.report
                .doubts
                .push(doubt.in_file(&files[0]).times(app.beyond));
        }
        if app.facts.secrets_unknown {
            let message = "spark.redaction.regex or spark.redaction.string.regex is a pattern that \
                           only Java understands: what it alone calls secret is kept";
            let doubt = Doubt::new("secrets_kept", Severity::Warning, message);
            self.report.doubts.push(doubt.in_file(&files[0]));
        }
        self.report.doubts.extend(repeated(&app.ends, &files[0]));
        events::finish(&mut app, &files, bytes, &mut self.tables)?;
        self.next_app += 1;
        Ok(())
    }

    /// Reads the files of a log; returns their bytes, decompressed.
    ///
    /// A file that cannot be read is a doubt if another one holds events, else an error.
    fn parts(&mut self, app: &mut App, log: &Log, files: &[String]) -> Result<u64> {
        let mut bytes = 0;
        let mut refused = Vec::new();
        let mut first = None;
        for (part, file) in log.parts.iter().zip(files) {
            match self.part(app, part, file) {
                Ok(read) => bytes += read,
                Err(error) if log.is_at_fault(&error) => {
                    refused.push(source::refused(part, &error));
                    first = first.or(Some(error));
                }
                Err(error) => return Err(error),
            }
        }
        match first {
            Some(error) if app.events == 0 => Err(error),
            _ => {
                self.report.doubts.extend(refused);
                Ok(bytes)
            }
        }
    }

    /// Reads one file; returns its bytes, decompressed.
    fn part(&mut self, app: &mut App, path: &Path, file: &str) -> Result<u64> {
        let (source, codec) = codec::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => Error::Input(format!(
                "{file}: byte 0: {error}; decompress it first, then ingest the result"
            )),
            _ => Error::io(path, error),
        })?;
        self.counts.files += 1;
        self.counts.compressed_bytes += std::fs::metadata(path).map_or(0, |meta| meta.len());
        let source: Box<dyn io::Read> = if self.beside {
            Ahead::new(source).map_or_else(|source| source as _, |ahead| Box::new(ahead) as _)
        } else {
            source
        };
        self.stream(app, source, codec, file)
    }

    /// Reads the stream of one file; returns its bytes.
    ///
    /// # Errors
    /// If it is no event log, a table cannot be written, or `go_on` says no.
    pub fn stream(
        &mut self,
        app: &mut App,
        source: Box<dyn io::Read>,
        codec: Codec,
        file: &str,
    ) -> Result<u64> {
        let mut lines = Lines::new(source);
        let mut findings = Findings::default();
        let mut at = At { line: 0, byte: 0 };
        let mut checked = 0;
        let mut events = 0_u64;
        let fault = loop {
            at.line += 1;
            match lines.next() {
                Next::End(fault) => break fault,
                Next::TooLong { offset } => {
                    self.counts.lines += 1;
                    self.counts.unreadable_lines += 1;
                    findings.too_long(At { byte: offset, ..at });
                }
                Next::Line {
                    buf,
                    len,
                    offset,
                    ended,
                } => {
                    at.byte = offset;
                    self.counts.lines += 1;
                    match event(app, &mut self.tables, buf, len) {
                        Ok(None) => self.counts.blank_lines += 1,
                        Ok(Some((taken, name))) => {
                            events += 1;
                            self.counts.events += 1;
                            match taken {
                                Taken::Used => {}
                                Taken::Unneeded => self.counts.unneeded_events += 1,
                                Taken::Unknown => {
                                    self.counts.unknown_events += 1;
                                    findings.unknown(name, at);
                                }
                            }
                        }
                        Err(LineError::Stop(error)) => return Err(error),
                        Err(LineError::Line { .. }) if !ended => {
                            self.counts.unreadable_lines += 1;
                            self.truncated(file, at, "the last line is not complete");
                        }
                        Err(LineError::Line { position, why }) => {
                            self.counts.unreadable_lines += 1;
                            findings.broken(at, offset + position as u64, why);
                            if events == 0 && app.events == 0 && at.line >= MAX_LINES_WITHOUT_EVENT
                            {
                                return Err(not_a_log(file, codec, &findings));
                            }
                        }
                    }
                    if offset - checked > BYTES_BETWEEN_CHECKS {
                        checked = offset;
                        if !(self.go_on)() {
                            return Err(Error::Interrupted);
                        }
                    }
                }
            }
        };
        let bytes = lines.offset();
        self.counts.uncompressed_bytes += bytes;
        at.byte = bytes;
        if events == 0 && app.events == 0 && at.line > 1 && (bytes > 0 || fault.is_some()) {
            return Err(not_a_log(file, codec, &findings));
        }
        if let Some(fault) = fault {
            if fault.kind() == io::ErrorKind::UnexpectedEof {
                self.truncated(file, at, "the compressed data end early");
            } else {
                let message = format!(
                    "the file cannot be read beyond byte {bytes} of the uncompressed stream: {fault}"
                );
                let doubt = Doubt::new("eventlog_frame_corrupt", Severity::Warning, message);
                self.report
                    .doubts
                    .push(doubt.in_file(file).at_line(at.line).at_byte(bytes));
            }
        }
        self.report.doubts.extend(findings.into_doubts(file));
        Ok(bytes)
    }

    fn truncated(&mut self, file: &str, at: At, what: &str) {
        let message = format!(
            "{what}: line {}, byte {} of the uncompressed stream",
            at.line, at.byte
        );
        let doubt = Doubt::new("eventlog_truncated", Severity::Warning, message);
        self.report
            .doubts
            .push(doubt.in_file(file).at_line(at.line).at_byte(at.byte));
    }
}

/// The doubts about events that came again, and applications behind one another.
fn repeated(ends: &Ends, file: &str) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let count: u64 = ends.repeated.values().sum();
    if count > 0 {
        let names: Vec<_> = (ends.repeated.iter())
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let message = format!(
            "{count} event(s) are in the log more than once and were counted once: {}; \
             the same log may have been put together twice",
            names.join(", ")
        );
        doubts.push(
            Doubt::new("eventlog_repeated_event", Severity::Warning, message)
                .in_file(file)
                .times(count),
        );
    }
    if ends.other_applications > 0 {
        let message = format!(
            "{} application(s) stand in one log and are read as one: ids of their jobs, stages and tasks mean several; \
             ingest each log by itself",
            ends.other_applications + 1
        );
        doubts.push(
            Doubt::new("eventlog_several_applications", Severity::Warning, message)
                .in_file(file)
                .times(ends.other_applications),
        );
    }
    doubts
}

fn not_a_log(file: &str, codec: Codec, findings: &Findings) -> Error {
    let what = match codec {
        Codec::Plain => String::new(),
        codec => format!(" once decompressed ({codec:?})"),
    };
    Error::Input(format!(
        "{file}: not a Spark event log{what}: {}. A log has one JSON object with a field \"Event\" per line; \
         give the file that Spark wrote to spark.eventLog.dir",
        findings
            .first()
            .unwrap_or_else(|| "no line holds an event".to_owned())
    ))
}
