//! One plugin file: the state that its records build up.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::path::Path;

use pyro_model::{Doubt, Error, Result, Severity, TaskSpan};
use serde_json::{Map, Value};

use super::record::{Line, Lines, Next};
use super::{Consumer, Outcome};

/// Series that holds the plugin's own CPU; a killed JVM leaves no `bye`.
const OWN_CPU: &str = "pyrometer_cpu_ns";

/// Which JVM a file is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Host name; empty if no record tells.
    pub host: String,
    /// Process id.
    pub pid: i64,
    /// `driver` or `executor`.
    pub role: String,
    /// Executor id.
    pub executor_id: Option<String>,
}

/// One application in one JVM.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Process {
    /// Which JVM.
    pub identity: Identity,
    /// Application; `None` where no `SparkContext` came to be.
    pub app_id: Option<String>,
    /// JVM name and version.
    pub jvm: Option<String>,
    /// First record.
    pub start_mono_ns: i64,
    /// Last `bye`.
    pub end_mono_ns: Option<i64>,
    /// Every other fact.
    pub facts: Map<String, Value>,
}

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
    fn at(&mut self, line: u64, byte: u64) {
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
    unknown: Seen,
    cut: Option<Seen>,
    closed: bool,
    anonymous: bool,
    errors: BTreeMap<String, (String, u64)>,
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
                "{} lines are no plugin records; they are left out.",
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
            let text = format!(
                "{} records are of a kind not known here.",
                self.unknown.count
            );
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
            let text = "No record tells the host; rows of this file carry an empty host name.";
            doubts
                .push(Doubt::new("plugin_process_unknown", Severity::Warning, text).in_file(path));
        }
        for (kind, count) in &self.dropped {
            let text = format!("The plugin dropped {count} records of kind {kind}.");
            let doubt = Doubt::new("plugin_records_dropped", Severity::Warning, text);
            doubts.push(doubt.in_file(path).times(*count));
        }
        for (place, (message, count)) in &self.errors {
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

/// Who wrote the file: its first `process` record, else its name.
///
/// # Errors
/// If the stream cannot be read.
pub fn identify(path: &Path, input: impl BufRead) -> std::io::Result<Identity> {
    let mut lines = Lines::new(input);
    loop {
        match lines.next()? {
            Next::Line(line, _) | Next::Rest(line, _) => {
                if let Some(process) = parse_process(line) {
                    return Ok(process.identity);
                }
            }
            Next::TooLong(_) => {}
            Next::End => return Ok(identity_of_name(path)),
        }
    }
}

fn identity_of_name(path: &Path) -> Identity {
    let name = path
        .file_stem()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let mut parts = name.strip_prefix("plugin-").unwrap_or(name).split('-');
    let role = parts
        .next()
        .filter(|role| !role.is_empty())
        .unwrap_or("driver")
        .to_owned();
    let pid = parts
        .next_back()
        .and_then(|pid| pid.parse().ok())
        .unwrap_or(-1);
    let executor = parts.collect::<Vec<_>>().join("-");
    let executor_id = (!executor.is_empty()).then_some(executor);
    Identity {
        host: String::new(),
        pid,
        role,
        executor_id,
    }
}

fn parse_process(line: &[u8]) -> Option<Process> {
    // Cheap look first: one line in thousands is a process record.
    memchr::memmem::find(&line[..line.len().min(64)], b"\"process\"")?;
    let Ok(Value::Object(mut facts)) = serde_json::from_slice(line) else {
        return None;
    };
    if facts.remove("k")?.as_str()? != "process" {
        return None;
    }
    let text = |facts: &mut Map<String, Value>, name| match facts.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let identity = Identity {
        host: text(&mut facts, "host")?,
        pid: facts.remove("pid")?.as_i64()?,
        role: text(&mut facts, "role")?,
        executor_id: text(&mut facts, "executor_id"),
    };
    let (app_id, jvm) = (text(&mut facts, "app_id"), text(&mut facts, "jvm"));
    let start_mono_ns = facts.get("mono_ns")?.as_i64()?;
    facts.retain(|_, value| !value.is_null());
    Some(Process {
        identity,
        app_id,
        jvm,
        start_mono_ns,
        end_mono_ns: None,
        facts,
    })
}

/// Reads all records of a file.
///
/// # Errors
/// If the stream cannot be read or the consumer fails.
pub fn read(
    path: &str,
    input: impl BufRead,
    identity: Identity,
    consumer: &mut impl Consumer,
) -> Result<Facts> {
    let mut lines = Lines::new(input);
    let facts = Facts {
        anonymous: identity.host.is_empty(),
        ..Facts::default()
    };
    let mut state = State {
        identity,
        facts,
        consumer,
        process: None,
        running: HashMap::new(),
    };
    loop {
        let number = lines.lines + 1;
        match lines.next().map_err(|error| Error::io(path, error))? {
            Next::Line(line, byte) => {
                if !line.is_empty() && !state.take(line, number, byte)? {
                    state.facts.unreadable.at(number, byte);
                }
            }
            Next::TooLong(byte) => state.facts.unreadable.at(number, byte),
            Next::Rest(line, byte) => {
                if !line.is_empty() && !state.take(line, number, byte)? {
                    state.facts.cut = Some(Seen {
                        count: 1,
                        line: number,
                        byte,
                    });
                }
            }
            Next::End => break,
        }
    }
    (state.facts.bytes, state.facts.lines) = (lines.bytes, lines.lines);
    state.finish()
}

struct State<'c, C> {
    identity: Identity,
    facts: Facts,
    consumer: &'c mut C,
    process: Option<Process>,
    /// Tasks without an end so far, by TID and thread.
    running: HashMap<(i64, i64), TaskSpan>,
}

impl<C: Consumer> State<'_, C> {
    /// Takes a line; false if it is not a record.
    fn take(&mut self, text: &[u8], number: u64, byte: u64) -> Result<bool> {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(text) else {
            return Ok(false);
        };
        match &*line.k {
            "task_start" => {
                let Some(span) = self.span(&line) else {
                    return Ok(false);
                };
                // The same TID on the same thread: another application in this JVM.
                if let Some(lost) = self.running.insert((span.task_attempt_id, span.tid), span) {
                    self.consumer.span(lost, Outcome::default())?;
                }
            }
            "task" => {
                let (Some(mut span), Some(end), Some(ok)) =
                    (self.span(&line), line.end_ns, line.ok)
                else {
                    return Ok(false);
                };
                span.end_mono_ns = Some(end);
                self.running.remove(&(span.task_attempt_id, span.tid));
                let outcome = Outcome {
                    success: Some(ok),
                    cpu_ns: line.cpu_ns,
                    allocated_bytes: line.alloc_bytes,
                };
                self.consumer.span(span, outcome)?;
            }
            "mx" => {
                let (Some(mono), Some(values)) = (line.mono_ns, &line.values) else {
                    return Ok(false);
                };
                if let Some(own) = values.get(OWN_CPU) {
                    self.facts.own_cpu_ns = *own;
                }
                self.facts.closed = false;
                self.consumer.series(&self.identity, mono, values)?;
            }
            "clock" => {
                let (Some(mono), Some(wall)) = (line.mono_ns, line.wall_ns) else {
                    return Ok(false);
                };
                self.consumer.clock(&self.identity, mono, wall)?;
            }
            "process" => {
                let Some(process) = parse_process(text) else {
                    return Ok(false);
                };
                self.facts.closed = false;
                self.began(process)?;
            }
            "bye" => self.bye(&line),
            "drop" => {
                let (Some(kind), Some(count)) = (line.kind, line.count) else {
                    return Ok(false);
                };
                // Cumulative.
                self.facts.dropped.insert(kind, count);
            }
            "error" => {
                let (Some(place), Some(message)) = (line.r#where, line.message) else {
                    return Ok(false);
                };
                let known = self.facts.errors.entry(place).or_insert((message, 1));
                known.1 = known.1.max(line.count.unwrap_or(1));
            }
            "profiler" => {
                if let (Some(process), Ok(Value::Object(mut record))) =
                    (&mut self.process, serde_json::from_slice(text))
                {
                    record.remove("k");
                    process
                        .facts
                        .insert("profiler".to_owned(), Value::Object(record));
                }
            }
            "overlay" => {}
            _ => self.facts.unknown.at(number, byte),
        }
        Ok(true)
    }

    fn span(&self, line: &Line<'_>) -> Option<TaskSpan> {
        Some(TaskSpan {
            host: self.identity.host.clone(),
            pid: self.identity.pid,
            tid: line.tid?,
            executor_id: self.identity.executor_id.clone(),
            start_mono_ns: line.start_ns?,
            end_mono_ns: None,
            stage_id: line.stage?,
            stage_attempt: line.stage_attempt?,
            task_attempt_id: line.task?,
            partition: line.partition?,
            job_id: line.job,
            sql_id: line.sql,
            iteration: line.iteration,
        })
    }

    /// The same application tells more of itself; another one is a row of its own.
    fn began(&mut self, new: Process) -> Result<()> {
        match &mut self.process {
            Some(old)
                if old.app_id.is_none() || new.app_id.is_none() || old.app_id == new.app_id =>
            {
                // Before it has an id, a second application is told by the first one's `bye`.
                if old.end_mono_ns.is_some() && new.app_id.is_none() && old.app_id.is_some() {
                    let old = self.process.replace(new).expect("just seen");
                    return self.consumer.process(&old);
                }
                old.app_id = new.app_id.or(old.app_id.take());
                old.jvm = new.jvm.or(old.jvm.take());
                for (name, value) in new.facts {
                    if name != "mono_ns" && name != "wall_ns" {
                        old.facts.insert(name, value);
                    }
                }
                Ok(())
            }
            Some(_) => {
                let old = self.process.replace(new).expect("just seen");
                self.consumer.process(&old)
            }
            None => {
                self.process = Some(new);
                Ok(())
            }
        }
    }

    fn bye(&mut self, line: &Line<'_>) {
        self.facts.closed = true;
        if let Some(own) = line.own_cpu_ns {
            self.facts.own_cpu_ns = own;
        }
        if let Some(process) = &mut self.process {
            process.end_mono_ns = line.mono_ns;
            if let Some(written) = line.written {
                process.facts.insert("written".to_owned(), written.into());
            }
        }
    }

    fn finish(mut self) -> Result<Facts> {
        let mut running: Vec<_> = std::mem::take(&mut self.running).into_values().collect();
        running.sort_by_key(|span| (span.start_mono_ns, span.task_attempt_id, span.tid));
        for span in running {
            self.consumer.span(span, Outcome::default())?;
        }
        if let Some(mut process) = self.process.take() {
            process
                .facts
                .insert("own_cpu_ns".to_owned(), self.facts.own_cpu_ns.into());
            self.consumer.process(&process)?;
        }
        Ok(self.facts)
    }
}
