//! GC and safepoint logs of HotSpot's unified logging (JDK 9 and later) → tables
//! `gc_pauses`, `gc_ages`, `gc_concurrent` and `safepoints`.
//!
//! Any decorations, any of G1, Parallel, Serial, CMS, ZGC (generational or not) and
//! Shenandoah. A pause is written when it ends, so its start is the line's stamp less the
//! length. Nothing is dropped in silence: lines that should have been understood and were
//! not become one doubt per file, with the first line and byte.

mod log_read;
mod message;
mod process;
mod sinks;
mod spaces;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use crate::unified_log::decorations::{self, Decorations};
use crate::unified_log::{MAX_LINE_BYTES, OfProcess, by_process};
use log_read::LogRead;
use message::{Message, Safepoint};
use process::Process;
use pyro_model::{Error, IngestReport, ParquetSink, Result};
use sinks::Sinks;

/// Reads GC and safepoint logs, rotated ones in any order, and writes their tables to `out`;
/// `hosts` are those of the files, as far as they are known.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_gc(paths: &[String], hosts: &[Option<String>], out: &str) -> Result<IngestReport> {
    let mut sinks = Sinks {
        pauses: ParquetSink::create(out)?,
        ages: ParquetSink::create(out)?,
        concurrent: ParquetSink::create(out)?,
        safepoints: ParquetSink::create(out)?,
    };
    let mut report = IngestReport::default();
    let (mut bytes, mut lines) = (0, 0);
    for OfProcess { host, pid, files } in by_process(paths, hosts) {
        // What earlier files of a process said (its collector) holds for later ones.
        let mut process = Process {
            host: host.map(str::to_owned),
            pid,
            ..Process::default()
        };
        for path in files {
            let file = File::open(path).map_err(|error| Error::io(path, error))?;
            let read = read_log(
                BufReader::with_capacity(256 << 10, file),
                &mut process,
                &mut sinks,
            );
            let read = read.map_err(|error| match error {
                LogError::Read(error) => Error::io(path, error),
                LogError::Write(error) => error,
            })?;
            bytes += read.bytes;
            lines += read.lines;
            report.doubts.extend(read.doubts(path));
        }
    }
    report.tables.insert("gc_pauses", sinks.pauses.finish()?);
    report.tables.insert("gc_ages", sinks.ages.finish()?);
    let concurrent = sinks.concurrent.finish()?;
    report.tables.insert("gc_concurrent", concurrent);
    report
        .tables
        .insert("safepoints", sinks.safepoints.finish()?);
    report.stats.insert("bytes", bytes.into());
    report.stats.insert("lines", lines.into());
    Ok(report)
}

enum LogError {
    Read(std::io::Error),
    Write(Error),
}

impl From<Error> for LogError {
    fn from(error: Error) -> Self {
        Self::Write(error)
    }
}

fn read_log(
    mut input: impl BufRead,
    process: &mut Process,
    sinks: &mut Sinks,
) -> std::result::Result<LogRead, LogError> {
    let mut read = LogRead::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let got = input
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut buffer)
            .map_err(LogError::Read)?;
        if got == 0 {
            return Ok(read);
        }
        let (at, whole) = (read.bytes, buffer.ends_with(b"\n"));
        read.bytes += got as u64;
        read.lines += 1;
        let text = std::str::from_utf8(&buffer).ok();
        let taken = match text {
            Some(text) => read_line(text.trim_end(), process, sinks, &mut read)?,
            None => Taken::Unreadable,
        };
        if !whole && (got as u64) < MAX_LINE_BYTES && taken != Taken::Row {
            read.truncated = Some((read.lines, at)); // HotSpot ends every line
        } else if taken == Taken::Unreadable {
            read.unreadable.note(read.lines, at);
        }
    }
}

/// What became of a line.
#[derive(PartialEq)]
enum Taken {
    /// A pause or a safepoint was written.
    Row,
    /// A line of no interest, or one that only adds to what is known of the process.
    Line,
    /// Not understood.
    Unreadable,
}

/// Takes one line in.
fn read_line(
    text: &str,
    process: &mut Process,
    sinks: &mut Sinks,
    read: &mut LogRead,
) -> Result<Taken> {
    let (stamps, message) = match decorations::split(text) {
        Some((stamps, message)) => (stamps, message::parse(message)),
        // No decorations were asked for, or the line continues the one before, indented.
        None if text.is_empty() || text.starts_with([' ', '\t']) => return Ok(Taken::Line),
        None => match message::parse(text) {
            Message::Other | Message::Broken => return Ok(Taken::Unreadable),
            message => (Decorations::default(), message),
        },
    };
    read.decorated += 1;
    process.pid = process.pid.or(stamps.pid);
    let stamps = process.resolve(stamps);
    match message {
        Message::Collector(name) => process.collector = Some(name),
        Message::Cycle { gc_id, cause } => {
            process.causes.insert(gc_id, cause.to_owned());
        }
        Message::Pause(pause) => {
            read.pauses_without_collector += u64::from(process.collector.is_none());
            sinks.pause(process, stamps, &pause)?;
            return Ok(Taken::Row);
        }
        Message::Space {
            gc_id,
            space,
            sizes,
        } => process.spaces.note(gc_id, space, sizes),
        Message::Age { gc_id, age, bytes } => {
            sinks.age(process, stamps, gc_id, (age, bytes))?;
            return Ok(Taken::Row);
        }
        Message::Concurrent(phase) => {
            sinks.concurrent(process, stamps, &phase)?;
            return Ok(Taken::Row);
        }
        Message::RegionSize(bytes) => process.region_bytes = Some(bytes),
        Message::Safepoint(safepoint) => {
            sinks.safepoint(process, stamps, &safepoint)?;
            return Ok(Taken::Row);
        }
        Message::Entering(operation) => process.entering = Some(operation.to_owned()),
        Message::Stopped {
            total_ns,
            reaching_ns,
        } => {
            let entered = process.entering.take();
            let operation = entered.as_deref().unwrap_or("unknown");
            let safepoint = Safepoint {
                operation,
                reaching_ns,
                at_ns: None,
                total_ns,
            };
            sinks.safepoint(process, stamps, &safepoint)?;
            return Ok(Taken::Row);
        }
        Message::Broken => return Ok(Taken::Unreadable),
        Message::Other => {}
    }
    Ok(Taken::Line)
}

#[cfg(test)]
mod tests;
