//! Spark event logs to tables: Spark 1.5 to 4.x, every codec, whole or cut, of any size.
//!
//! A log is read as a stream, line by line, without building documents; what is complete goes
//! to Parquet at once. Memory is that of what is open at one time in the application.

mod app;
mod codec;
mod doubts;
mod environment;
pub mod json;
mod lines;
mod plan;
mod properties;
mod source;
mod sql;
mod stage;
mod stage_info;
mod sums;
mod symbols;
mod tables;
mod task;
mod task_metrics;

use std::io;
use std::path::{Path, PathBuf};

use pyro_model::{Doubt, Error, IngestReport, Result, Severity};

use app::{App, Fail, Taken};
use codec::Codec;
use doubts::{At, Findings};
use json::{Bad, Cursor};
use lines::{Lines, Next};
use source::Log;
use tables::Tables;

/// Lines without an event after which a file that had none is refused.
const PATIENCE: u64 = 100;
/// Bytes between two questions whether to go on.
const BREATH: u64 = 8 << 20;

/// Reads the event logs at `paths` into the tables of folder `out`, which must exist.
///
/// `go_on` is asked every few megabytes.
///
/// # Errors
/// If a path does not exist or is no event log, a table cannot be written, or `go_on` says no.
/// No table is then left behind.
pub fn ingest(
    paths: &[PathBuf],
    out: &Path,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<IngestReport> {
    let (logs, doubts) = source::find(paths)?;
    let tables = Tables::create(out)?;
    let mut reader = Reader {
        tables,
        go_on,
        next_app: 0,
        report: IngestReport {
            doubts,
            ..Default::default()
        },
        counts: Counts::default(),
    };
    let mut refused = None;
    let mut read = 0;
    for log in &logs {
        match reader.log(log) {
            Ok(()) => read += 1,
            Err(Error::Input(why)) if !log.named => {
                let doubt = Doubt::new("eventlog_refused", Severity::Warning, why.clone());
                reader
                    .report
                    .doubts
                    .push(doubt.in_file(log.parts[0].display().to_string()));
                refused = refused.or(Some(why));
            }
            Err(error) => return Err(error),
        }
    }
    if let (0, Some(why)) = (read, refused) {
        return Err(Error::Input(why));
    }
    let Reader {
        tables,
        mut report,
        counts,
        ..
    } = reader;
    report.tables = tables.finish()?;
    report.stats = counts.stats();
    Ok(report)
}

/// Reads `bytes` as a log and throws its tables away: for tests and fuzzing, where making
/// files durable would take all the time.
#[doc(hidden)]
pub fn try_bytes(bytes: Vec<u8>, out: &Path) -> Result<IngestReport> {
    let codec = codec::detect(&bytes).unwrap_or(Codec::Plain);
    let source =
        codec::decode(io::Cursor::new(bytes), codec).map_err(|error| Error::io("bytes", error))?;
    let mut reader = Reader {
        tables: Tables::create(out)?,
        go_on: &mut || true,
        next_app: 0,
        report: IngestReport::default(),
        counts: Counts::default(),
    };
    let mut app = App::new(0);
    let read = reader.stream(&mut app, source, codec, "bytes")?;
    app.finish(&["bytes".to_owned()], read, &mut reader.tables)?;
    reader.tables.flush()?;
    Ok(IngestReport {
        stats: reader.counts.stats(),
        ..reader.report
    })
}

/// Figures about the reading.
#[derive(Default)]
struct Counts {
    files: u64,
    compressed_bytes: u64,
    uncompressed_bytes: u64,
    lines: u64,
    blank_lines: u64,
    events: u64,
    unneeded_events: u64,
    unknown_events: u64,
    unreadable_lines: u64,
}

impl Counts {
    fn stats(&self) -> std::collections::BTreeMap<&'static str, serde_json::Value> {
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

struct Reader<'a> {
    tables: Tables,
    go_on: &'a mut dyn FnMut() -> bool,
    next_app: i32,
    report: IngestReport,
    counts: Counts,
}

impl Reader<'_> {
    /// Reads one log as one application.
    fn log(&mut self, log: &Log) -> Result<()> {
        let mut app = App::new(self.next_app);
        let mut bytes = 0;
        let files: Vec<_> = log
            .parts
            .iter()
            .map(|part| part.display().to_string())
            .collect();
        for (part, file) in log.parts.iter().zip(&files) {
            bytes += self.part(&mut app, part, file)?;
        }
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
        app.finish(&files, bytes, &mut self.tables)?;
        self.next_app += 1;
        Ok(())
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
        self.stream(app, source, codec, file)
    }

    /// Reads the stream of one file; returns its bytes.
    fn stream(
        &mut self,
        app: &mut App,
        source: Box<dyn io::Read>,
        codec: Codec,
        file: &str,
    ) -> Result<u64> {
        let mut lines = Lines::new(source);
        let mut findings = Findings::default();
        let mut at = At { line: 0, byte: 0 };
        let mut asked = 0;
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
                        Err(Broken::Stop(error)) => return Err(error),
                        Err(Broken::Line { .. }) if !ended => {
                            self.counts.unreadable_lines += 1;
                            self.truncated(file, at, "the last line is not complete");
                        }
                        Err(Broken::Line { position, why }) => {
                            self.counts.unreadable_lines += 1;
                            findings.broken(at, offset + position as u64, why);
                            if events == 0 && app.events == 0 && at.line >= PATIENCE {
                                return Err(not_a_log(file, codec, &findings));
                            }
                        }
                    }
                    if offset - asked > BREATH {
                        asked = offset;
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
                self.truncated(file, at, "the compressed data stop early");
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

/// Why a line gave no event.
enum Broken {
    /// It is damaged, at a byte of it.
    Line { position: usize, why: &'static str },
    /// The tables cannot be written.
    Stop(Error),
}

/// Reads the line `buf[..len]`; `None` if it is blank.
fn event<'a>(
    app: &mut App,
    tables: &mut Tables,
    buf: &'a [u8],
    len: usize,
) -> std::result::Result<Option<(Taken, &'a [u8])>, Broken> {
    let mut line = Cursor::new(buf, len);
    if line.finished() {
        return Ok(None);
    }
    let bad = |line: &Cursor<'_>, Bad(why)| Broken::Line {
        position: line.position(),
        why,
    };
    let name = match name(&mut line) {
        Ok(name) => name,
        Err(why) => return Err(bad(&line, why)),
    };
    match app.event(tables, name, &mut line) {
        Ok(taken) => Ok(Some((taken, name))),
        Err(Fail::Line(why)) => Err(bad(&line, why)),
        Err(Fail::Tables(error)) => Err(Broken::Stop(error)),
    }
}

/// The event's name; `line` then stands where [`Cursor::rest_of_line`] can begin.
fn name<'a>(line: &mut Cursor<'a>) -> json::Read<&'a [u8]> {
    if line.literal(b"{\"Event\":") {
        return Ok(line.string()?.raw);
    }
    let mut name = None;
    let mut look = line.clone();
    let read = look.object(|look, key| {
        match key {
            b"Event" => name = Some(look.string()?.raw),
            _ => look.skip()?,
        }
        Ok(())
    });
    if let Err(why) = read {
        *line = look;
        return Err(why);
    }
    line.open()?;
    name.ok_or(Bad("there is no field \"Event\""))
}

#[cfg(test)]
mod tests;
