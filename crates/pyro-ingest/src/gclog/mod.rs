//! GC and safepoint logs of HotSpot's unified logging (JDK 9 and later) → tables
//! `gc_pauses`, `gc_ages`, `gc_concurrent` and `safepoints`.
//!
//! Any decorations, any of G1, Parallel, Serial, CMS, ZGC (generational or not) and
//! Shenandoah. A pause is written when it ends, so its start is the line's stamp less the
//! length. Nothing is dropped in silence: lines that should have been understood and were
//! not become one doubt per file, with the first line and byte.

pub(crate) mod decorations;
mod message;
mod spaces;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use decorations::Decorations;
use message::{Concurrent, Message, Pause, Safepoint};
use pyro_model::{
    Doubt, Error, GcAgesBuilder, GcConcurrentBuilder, GcPausesBuilder, IngestReport, ParquetSink,
    Result, SafepointsBuilder, Severity,
};
use spaces::Spaces;

/// Longest line that is read whole; what exceeds it is counted as unreadable.
pub(crate) const MAX_LINE_BYTES: u64 = 64 << 10;

/// A log whose first `…ns` stamp is below this was stamped since JVM start, else since boot.
const UPTIME_BELOW_NS: i64 = 60_000_000_000;

/// Reads GC and safepoint logs, rotated ones in any order, and writes their tables to `out`.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_gc(paths: &[String], out: &str) -> Result<IngestReport> {
    let mut sinks = Sinks {
        pauses: ParquetSink::create(out)?,
        ages: ParquetSink::create(out)?,
        concurrent: ParquetSink::create(out)?,
        safepoints: ParquetSink::create(out)?,
    };
    let mut report = IngestReport::default();
    let (mut bytes, mut lines) = (0, 0);
    for (pid, files) in by_process(paths) {
        // What earlier files of a process said (its collector) holds for later ones.
        let mut process = Process {
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

/// Files of each process, oldest first: `gc-7.log.0` … before `gc-7.log`, which is being written.
pub(crate) fn by_process(paths: &[String]) -> Vec<(Option<i64>, Vec<&str>)> {
    let mut groups: BTreeMap<(Option<i64>, String), Vec<&str>> = BTreeMap::new();
    for path in paths {
        let (stem, _) = rotation(path);
        let pid = pid_of(path);
        // Files without a pid in the name are one process each, rotations apart.
        let stem = if pid.is_some() {
            String::new()
        } else {
            stem.to_owned()
        };
        groups.entry((pid, stem)).or_default().push(path);
    }
    let age = |path: &&str| {
        let modified = std::fs::metadata(path).and_then(|m| m.modified()).ok();
        (rotation(path).1.is_none(), modified, path.to_string())
    };
    let mut sorted: Vec<_> = groups
        .into_iter()
        .map(|((pid, _), files)| (pid, files))
        .collect();
    sorted
        .iter_mut()
        .for_each(|(_, files)| files.sort_by_key(age));
    sorted
}

/// Splits `gc-7.log.3` into `gc-7.log` and 3.
fn rotation(path: &str) -> (&str, Option<u32>) {
    match path.rsplit_once('.') {
        Some((stem, number)) => number.parse().map_or((path, None), |n| (stem, Some(n))),
        None => (path, None),
    }
}

/// The last run of digits behind a `-`, `_` or `pid` in the file name: `gc-123.log`, `gc_pid123.log`.
fn pid_of(path: &str) -> Option<i64> {
    let name = Path::new(rotation(path).0).file_name()?.to_str()?;
    let name = name.split_once('.').map_or(name, |(stem, _)| stem);
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (head, number) = name.split_at(name.len() - digits);
    if head.ends_with(['-', '_']) || head.ends_with("pid") {
        number.parse().ok()
    } else {
        None
    }
}

/// What is known of the process while its lines go by.
#[derive(Default)]
struct Process {
    pid: Option<i64>,
    collector: Option<&'static str>,
    entering: Option<String>,
    causes: HashMap<i64, String>,
    region_bytes: Option<i64>,
    spaces: Spaces,
    single_ns_is_uptime: Option<bool>,
}

struct Sinks {
    pauses: ParquetSink<GcPausesBuilder>,
    ages: ParquetSink<GcAgesBuilder>,
    concurrent: ParquetSink<GcConcurrentBuilder>,
    safepoints: ParquetSink<SafepointsBuilder>,
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

/// First place and number of a kind of trouble.
#[derive(Default)]
pub(crate) struct Trouble {
    pub count: u64,
    pub line: u64,
    pub byte: u64,
}

impl Trouble {
    pub fn note(&mut self, line: u64, byte: u64) {
        if self.count == 0 {
            (self.line, self.byte) = (line, byte);
        }
        self.count += 1;
    }
}

/// What reading one file came to.
#[derive(Default)]
struct LogRead {
    bytes: u64,
    lines: u64,
    decorated: u64,
    pauses_without_collector: u64,
    unreadable: Trouble,
    truncated: Option<(u64, u64)>,
}

impl LogRead {
    fn doubts(&self, path: &str) -> Vec<Doubt> {
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
            let Trouble { count, line, byte } = self.unreadable;
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

impl Process {
    /// Decides what a lone `…ns` stamp is: the first one of a log that starts with the JVM is
    /// small if it counts from there. The verdict holds for the whole process.
    fn resolve(&mut self, mut stamps: Decorations) -> Decorations {
        if let Some(nanos) = stamps.single_ns {
            if *self
                .single_ns_is_uptime
                .get_or_insert(nanos < UPTIME_BELOW_NS)
            {
                stamps.uptime_ns = Some(nanos);
            } else {
                stamps.mono_ns = Some(nanos);
            }
        }
        stamps
    }
}

impl Sinks {
    fn pause(&mut self, process: &Process, stamps: Decorations, pause: &Pause<'_>) -> Result<()> {
        let before = |end: Option<i64>| end.and_then(|end| end.checked_sub(pause.duration_ns));
        let cause = pause
            .cause
            .or_else(|| process.causes.get(&pause.gc_id).map(String::as_str));
        let rows = &mut self.pauses.rows;
        rows.pid.append_option(process.pid);
        rows.gc_id.append_value(pause.gc_id);
        rows.start_mono_ns.append_option(before(stamps.mono_ns));
        rows.start_uptime_ns.append_option(before(stamps.uptime_ns));
        rows.start_wall_ns.append_option(before(stamps.wall_ns));
        rows.duration_ns.append_value(pause.duration_ns);
        rows.collector
            .append_value(process.collector.unwrap_or("unknown"));
        rows.kind.append_value(&pause.kind);
        rows.cause.append_option(cause);
        rows.heap_before_bytes
            .append_option(pause.heap_bytes.map(|heap| heap.0));
        rows.heap_after_bytes
            .append_option(pause.heap_bytes.map(|heap| heap.1));
        rows.heap_total_bytes
            .append_option(pause.heap_bytes.map(|heap| heap.2));
        let parts = process.spaces.bytes(pause.gc_id, process.region_bytes);
        let (young, old, humongous) = (parts.young, parts.old, parts.humongous);
        rows.young_before_bytes.append_option(young.map(|b| b.0));
        rows.young_after_bytes.append_option(young.map(|b| b.1));
        rows.old_before_bytes.append_option(old.map(|b| b.0));
        rows.old_after_bytes.append_option(old.map(|b| b.1));
        rows.humongous_before_bytes
            .append_option(humongous.map(|b| b.0));
        rows.humongous_after_bytes
            .append_option(humongous.map(|b| b.1));
        rows.resolution_bytes.append_option(parts.resolution);
        self.pauses.row_done()
    }

    fn age(
        &mut self,
        process: &Process,
        stamps: Decorations,
        gc_id: i64,
        (age, bytes): (i32, i64),
    ) -> Result<()> {
        let rows = &mut self.ages.rows;
        rows.pid.append_option(process.pid);
        rows.gc_id.append_value(gc_id);
        rows.t_mono_ns.append_option(stamps.mono_ns);
        rows.age.append_value(age);
        rows.bytes.append_value(bytes);
        self.ages.row_done()
    }

    fn concurrent(
        &mut self,
        process: &Process,
        stamps: Decorations,
        phase: &Concurrent,
    ) -> Result<()> {
        let before = |end: Option<i64>| end.and_then(|end| end.checked_sub(phase.duration_ns));
        let rows = &mut self.concurrent.rows;
        rows.pid.append_option(process.pid);
        rows.gc_id.append_value(phase.gc_id);
        rows.start_mono_ns.append_option(before(stamps.mono_ns));
        rows.start_uptime_ns.append_option(before(stamps.uptime_ns));
        rows.duration_ns.append_value(phase.duration_ns);
        rows.phase.append_value(&phase.phase);
        self.concurrent.row_done()
    }

    fn safepoint(
        &mut self,
        process: &Process,
        stamps: Decorations,
        safepoint: &Safepoint<'_>,
    ) -> Result<()> {
        let rows = &mut self.safepoints.rows;
        rows.pid.append_option(process.pid);
        rows.end_mono_ns.append_option(stamps.mono_ns);
        rows.end_uptime_ns.append_option(stamps.uptime_ns);
        rows.operation.append_value(safepoint.operation);
        rows.reaching_ns.append_option(safepoint.reaching_ns);
        rows.at_safepoint_ns.append_option(safepoint.at_ns);
        rows.total_ns.append_value(safepoint.total_ns);
        self.safepoints.row_done()
    }
}

#[cfg(test)]
mod tests;
