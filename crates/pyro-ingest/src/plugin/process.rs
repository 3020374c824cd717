//! Which JVM and which application a plugin file is about.

use std::io::BufRead;
use std::path::Path;

use serde_json::{Map, Value};

use super::record::{Lines, MAX_LINE_BYTES, Next};

/// Which JVM a file is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Host name; empty if no record has it.
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
    /// When all recording ended early.
    pub recorded_until_mono_ns: Option<i64>,
    /// Every other fact.
    pub facts: Map<String, Value>,
}

/// Who wrote the file: its first `process` record, else its name.
///
/// # Errors
/// If the stream cannot be read.
pub fn identify(path: &Path, input: impl BufRead) -> std::io::Result<Identity> {
    let mut lines = Lines::new(input, MAX_LINE_BYTES);
    loop {
        match lines.next()? {
            Next::Line(line, _) | Next::Rest(line, _) => {
                if let Some(process) = parse(line) {
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

/// A `process` record, or `None` if the line is none.
pub fn parse(line: &[u8]) -> Option<Process> {
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
        recorded_until_mono_ns: None,
        facts,
    })
}
