//! JIT logs of HotSpot's unified logging → tables `jit` and `deoptimisations`.
//!
//! A compilation begins with its line and ends when the same thread installs code; one that is
//! followed by another of the same thread came to nothing. The JVM does not log why.

mod message;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use crate::unified_log::decorations::{self, Decorations};
use crate::unified_log::{MAX_LINE_BYTES, OfProcess, Unreadable, by_process};
use message::{Message, Task, Trap};
use pyro_model::{
    DeoptimisationsBuilder, Doubt, Error, IngestReport, JitBuilder, ParquetSink, Result, Severity,
};

/// Threads whose compilation is awaited, at most: HotSpot has a few dozen compiler threads.
const MAX_THREADS: usize = 4096;

/// Reads JIT logs and writes their tables to `out`; `hosts` are those of the files, as far as they
/// are known.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_jit(paths: &[String], hosts: &[Option<String>], out: &str) -> Result<IngestReport> {
    let mut sinks = Sinks {
        jit: ParquetSink::create(out)?,
        deoptimisations: ParquetSink::create(out)?,
    };
    let mut report = IngestReport::default();
    let (mut bytes, mut lines) = (0, 0);
    for OfProcess { host, pid, files } in by_process(paths, hosts) {
        let mut process = Process {
            jvm: Jvm { host, pid },
            begun: HashMap::new(),
        };
        for path in files {
            let file = File::open(path).map_err(|error| Error::io(path, error))?;
            let input = BufReader::with_capacity(256 << 10, file);
            let read = read_log(path, input, &mut process, &mut sinks)?;
            bytes += read.bytes;
            lines += read.lines;
            report.doubts.extend(read.doubts(path));
        }
        process.end(&mut sinks, None)?;
    }
    report.tables.insert("jit", sinks.jit.finish()?);
    let given_up = sinks.deoptimisations.finish()?;
    report.tables.insert("deoptimisations", given_up);
    report.stats.insert("bytes", bytes.into());
    report.stats.insert("lines", lines.into());
    Ok(report)
}

struct Sinks {
    jit: ParquetSink<JitBuilder>,
    deoptimisations: ParquetSink<DeoptimisationsBuilder>,
}

/// Which JVM a row is of.
#[derive(Clone, Copy)]
struct Jvm<'h> {
    host: Option<&'h str>,
    pid: Option<i64>,
}

struct Process<'h> {
    jvm: Jvm<'h>,
    /// What each compiler thread is at.
    begun: HashMap<i64, Begun>,
}

/// A compilation whose end has not been seen.
struct Begun {
    at_ns: Option<i64>,
    id: i64,
    osr: bool,
    level: Option<i32>,
    method: Option<String>,
    bytecode_bytes: Option<i64>,
}

/// What reading one file came to.
#[derive(Default)]
struct LogRead {
    bytes: u64,
    lines: u64,
    decorated: u64,
    unreadable: Unreadable,
    cache_full: Unreadable,
    truncated: Option<(u64, u64)>,
}

impl LogRead {
    fn doubts(&self, path: &str) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        let mut add = |code, severity, text: String, count, (line, byte)| {
            doubts.push(
                Doubt::new(code, severity, format!("{path}: {text}"))
                    .in_file(path)
                    .at_line(line)
                    .at_byte(byte)
                    .times(count),
            );
        };
        if self.unreadable.count > 0 {
            let Unreadable { count, line, byte } = self.unreadable;
            let text = if self.decorated == 0 {
                format!("none of {} lines is of a unified log", self.lines)
            } else {
                format!("{count} unreadable lines, the first at line {line}, byte {byte}")
            };
            add(
                "jit_log_unreadable",
                Severity::Warning,
                text,
                count,
                (line, byte),
            );
        }
        if let Some((line, byte)) = self.truncated {
            let text = format!("ends in the middle of line {line}, byte {byte}");
            add(
                "jit_log_truncated",
                Severity::Warning,
                text,
                1,
                (line, byte),
            );
        }
        if self.cache_full.count > 0 {
            let Unreadable { count, line, byte } = self.cache_full;
            let text = format!("the code cache was full {count} times, first at line {line}");
            add(
                "code_cache_full",
                Severity::Warning,
                text,
                count,
                (line, byte),
            );
        }
        doubts
    }
}

fn read_log(
    path: &str,
    mut input: impl BufRead,
    process: &mut Process<'_>,
    sinks: &mut Sinks,
) -> Result<LogRead> {
    let mut read = LogRead::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let got = input
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut buffer)
            .map_err(|error| Error::io(path, error))?;
        if got == 0 {
            return Ok(read);
        }
        let (at, whole) = (read.bytes, buffer.ends_with(b"\n"));
        read.bytes += got as u64;
        read.lines += 1;
        if !whole && (got as u64) < MAX_LINE_BYTES {
            read.truncated = Some((read.lines, at)); // HotSpot ends every line
            return Ok(read);
        }
        let text = std::str::from_utf8(&buffer).ok().map(str::trim_end);
        let Some((stamps, message)) = text.and_then(decorations::split) else {
            if text != Some("") {
                read.unreadable.note(read.lines, at);
            }
            continue;
        };
        read.decorated += 1;
        match message::parse(message) {
            Message::Broken => read.unreadable.note(read.lines, at),
            Message::CacheFull => read.cache_full.note(read.lines, at),
            message => process.take(&stamps, message, sinks)?,
        }
    }
}

impl Process<'_> {
    fn take(
        &mut self,
        stamps: &Decorations,
        message: Message<'_>,
        sinks: &mut Sinks,
    ) -> Result<()> {
        let at_ns = stamps.mono_ns.or(stamps.single_ns);
        let thread = stamps.tid.unwrap_or(-1);
        match message {
            Message::Begin(task) => {
                if let Some(before) = self.begun.remove(&thread) {
                    sinks.compilation(self.jvm, &before, None, Some(false))?;
                }
                if self.begun.len() >= MAX_THREADS {
                    self.end(sinks, None)?;
                }
                self.begun.insert(thread, Begun::new(at_ns, &task));
            }
            Message::Installed => {
                if let Some(task) = self.begun.remove(&thread) {
                    sinks.compilation(self.jvm, &task, at_ns, Some(true))?;
                }
            }
            Message::Skipped => {
                if let Some(task) = self.begun.remove(&thread) {
                    sinks.compilation(self.jvm, &task, at_ns, Some(false))?;
                }
            }
            Message::Invalidated(task, reason) => {
                sinks.invalidated(self.jvm, at_ns, &task, reason)?;
            }
            Message::Trap(trap) => sinks.trap(self.jvm, at_ns, &trap)?,
            Message::CacheFull | Message::Broken | Message::Other => {}
        }
        Ok(())
    }

    /// Writes what is still awaited.
    fn end(&mut self, sinks: &mut Sinks, succeeded: Option<bool>) -> Result<()> {
        for (_, task) in self.begun.drain() {
            sinks.compilation(self.jvm, &task, None, succeeded)?;
        }
        Ok(())
    }
}

impl Begun {
    fn new(at_ns: Option<i64>, task: &Task<'_>) -> Self {
        Self {
            at_ns,
            id: task.id,
            osr: task.osr,
            level: task.level,
            method: task.method.map(dotted),
            bytecode_bytes: task.bytecode_bytes,
        }
    }
}

/// `Class::method` as the other tables write it.
fn dotted(method: &str) -> String {
    method.replacen("::", ".", 1)
}

impl Sinks {
    fn compilation(
        &mut self,
        jvm: Jvm<'_>,
        task: &Begun,
        end_ns: Option<i64>,
        succeeded: Option<bool>,
    ) -> Result<()> {
        let compiler = task.level.map(|level| if level == 4 { "c2" } else { "c1" });
        let duration = end_ns.zip(task.at_ns);
        let duration = duration.and_then(|(end, start)| end.checked_sub(start));
        let rows = &mut self.jit.rows;
        rows.host.append_option(jvm.host);
        rows.pid.append_option(jvm.pid);
        rows.start_mono_ns.append_option(task.at_ns);
        rows.duration_ns
            .append_option(duration.filter(|length| *length >= 0));
        rows.compiler.append_option(compiler);
        rows.level.append_option(task.level);
        rows.method.append_option(task.method.as_deref());
        rows.code_bytes.append_null();
        rows.succeeded.append_option(succeeded);
        rows.compile_id.append_value(task.id);
        rows.osr.append_value(task.osr);
        rows.bytecode_bytes.append_option(task.bytecode_bytes);
        self.jit.row_done()
    }

    fn invalidated(
        &mut self,
        jvm: Jvm<'_>,
        at_ns: Option<i64>,
        task: &Task<'_>,
        reason: Option<&str>,
    ) -> Result<()> {
        let rows = &mut self.deoptimisations.rows;
        rows.host.append_option(jvm.host);
        rows.pid.append_option(jvm.pid);
        rows.t_mono_ns.append_option(at_ns);
        rows.kind.append_value("invalidated");
        rows.compile_id.append_value(task.id);
        rows.level.append_option(task.level);
        rows.osr.append_value(task.osr);
        rows.method.append_option(task.method.map(dotted));
        rows.reason.append_option(reason);
        rows.action.append_null();
        self.deoptimisations.row_done()
    }

    fn trap(&mut self, jvm: Jvm<'_>, at_ns: Option<i64>, trap: &Trap<'_>) -> Result<()> {
        let rows = &mut self.deoptimisations.rows;
        rows.host.append_option(jvm.host);
        rows.pid.append_option(jvm.pid);
        rows.t_mono_ns.append_option(at_ns);
        rows.kind.append_value("trap");
        rows.compile_id.append_option(trap.id);
        rows.level.append_option(trap.level);
        rows.osr.append_value(trap.osr);
        rows.method.append_option(trap.method);
        rows.reason.append_option(trap.reason);
        rows.action.append_option(trap.action);
        self.deoptimisations.row_done()
    }
}

#[cfg(test)]
mod tests;
