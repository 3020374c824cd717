//! Sources of generated classes (`codegen-<role>-<executor>-<pid>.ndjson`) → tables
//! `codegen_sources` and `codegen_lines`.
//!
//! One source is held at a time. A text that several JVMs compiled, or one JVM in several
//! applications, is kept once: ids of sources count distinct texts. Lines that cannot be read,
//! sources that the plugin had to drop and errors that it noted become doubts, as those of the
//! plugin's other records do.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::BufReader;
use std::path::Path;

use pyro_model::{
    CodegenLinesBuilder, CodegenSourcesBuilder, Error, IngestReport, ParquetSink, Result,
};
use pyro_stacks::codegen::{self, Generated};
use rustc_hash::FxHashSet;
use serde::Deserialize;

use crate::plugin::{Facts, Lines, Next, Seen};

/// Longest line that is read; a longer one counts as unreadable.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// A record of any kind. Which fields there are depends on `k`.
#[derive(Debug, Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    k: Cow<'a, str>,
    body: Option<String>,
    #[serde(default)]
    comments: BTreeMap<String, String>,
    max_method_bytes: Option<i64>,
    kind: Option<String>,
    count: Option<u64>,
    r#where: Option<String>,
    message: Option<String>,
    own_cpu_ns: Option<i64>,
}

/// Reads files of sources and writes the two tables to folder `out`; `hosts` are those of the
/// files, as far as they are known.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_codegen(
    paths: &[String],
    hosts: &[Option<String>],
    out: &str,
) -> Result<IngestReport> {
    let mut tables = Tables {
        sources: ParquetSink::create(out)?,
        lines: ParquetSink::create(out)?,
        seen: FxHashSet::default(),
        host: None,
    };
    let mut report = IngestReport::default();
    let mut total = Facts::default();
    for (number, path) in paths.iter().enumerate() {
        tables.host = hosts.get(number).cloned().flatten();
        let facts = read(path, &mut tables)?;
        report.doubts.extend(facts.doubts(path));
        total.add(&facts);
    }
    let (sources, lines) = (tables.sources.finish()?, tables.lines.finish()?);
    report.tables.insert("codegen_sources", sources);
    report.tables.insert("codegen_lines", lines);
    report.stats.insert("files", paths.len().into());
    report.stats.insert("bytes", total.bytes.into());
    let unreadable = total.unreadable.count.into();
    report.stats.insert("unreadable_lines", unreadable);
    let dropped = total.dropped.values().sum::<u64>().into();
    report.stats.insert("dropped", dropped);
    report.stats.insert("own_cpu_ns", total.own_cpu_ns.into());
    Ok(report)
}

fn read(path: &str, tables: &mut Tables) -> Result<Facts> {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let mut lines = Lines::new(BufReader::with_capacity(256 << 10, file), MAX_LINE_BYTES);
    let (mut facts, pid) = (Facts::default(), pid(Path::new(path)));
    loop {
        let number = lines.lines + 1;
        match lines.next().map_err(|error| Error::io(path, error))? {
            Next::Line(line, byte) => {
                if !line.is_empty() && !take(line, pid, number, byte, &mut facts, tables)? {
                    facts.unreadable.at(number, byte);
                }
            }
            Next::TooLong(byte) => facts.unreadable.at(number, byte),
            Next::Rest(line, byte) => {
                if !line.is_empty() && !take(line, pid, number, byte, &mut facts, tables)? {
                    let mut cut = Seen::default();
                    cut.at(number, byte);
                    facts.cut = Some(cut);
                }
            }
            Next::End => break,
        }
    }
    (facts.bytes, facts.lines) = (lines.bytes, lines.lines);
    Ok(facts)
}

/// The process in the file's name; -1 where it has none.
fn pid(path: &Path) -> i64 {
    let name = path.file_stem().and_then(|name| name.to_str());
    name.and_then(|name| name.rsplit('-').next()?.parse().ok())
        .unwrap_or(-1)
}

/// Takes a line; false if it is not a record.
fn take(
    line: &[u8],
    pid: i64,
    number: u64,
    byte: u64,
    facts: &mut Facts,
    tables: &mut Tables,
) -> Result<bool> {
    let Ok(record) = serde_json::from_slice::<Record<'_>>(line) else {
        return Ok(false);
    };
    match &*record.k {
        "source" => {
            let Some(body) = &record.body else {
                return Ok(false);
            };
            facts.closed = false;
            if tables.is_new(body) {
                let read = codegen::read(body, &record.comments);
                tables.add(pid, &read, record.max_method_bytes)?;
            }
        }
        "drop" => {
            let (Some(kind), Some(count)) = (record.kind, record.count) else {
                return Ok(false);
            };
            // Cumulative.
            facts.dropped.insert(kind, count);
        }
        "error" => {
            let (Some(place), Some(message)) = (record.r#where, record.message) else {
                return Ok(false);
            };
            let known = facts.errors.entry(place).or_insert((message, 0));
            known.1 = known.1.saturating_add(1).max(record.count.unwrap_or(1));
        }
        "bye" => {
            facts.closed = true;
            facts.own_cpu_ns = record.own_cpu_ns.unwrap_or(facts.own_cpu_ns);
        }
        _ => facts.unknown.at(number, byte),
    }
    Ok(true)
}

struct Tables {
    sources: ParquetSink<CodegenSourcesBuilder>,
    lines: ParquetSink<CodegenLinesBuilder>,
    /// Fingerprints of the bodies so far.
    seen: FxHashSet<(u64, u64)>,
    /// Host of the file that is read.
    host: Option<String>,
}

impl Tables {
    fn is_new(&mut self, body: &str) -> bool {
        let fingerprint = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, body).hash(&mut hasher);
            hasher.finish()
        };
        self.seen.insert((fingerprint(0), fingerprint(1)))
    }

    /// Adds the source that [`is_new`](Self::is_new) just counted.
    fn add(&mut self, pid: i64, read: &Generated, max_method_bytes: Option<i64>) -> Result<()> {
        let small = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let id = small(self.seen.len() - 1);
        let rows = &mut self.sources.rows;
        rows.source_id.append_value(id);
        rows.host.append_option(self.host.as_deref());
        rows.pid.append_value(pid);
        rows.class_name.append_value(&read.class_name);
        rows.codegen_stage_id.append_option(read.codegen_stage_id);
        rows.tree.append_option(read.tree.as_deref());
        rows.source.append_value(&read.source);
        rows.lines_count.append_value(small(read.lines_count));
        rows.max_method_bytes.append_option(max_method_bytes);
        self.sources.row_done()?;
        for line in &read.lines {
            let operator = &read.operators[line.operator];
            let expression = line.expression.map(|e| read.expressions[e].as_str());
            let rows = &mut self.lines.rows;
            rows.source_id.append_value(id);
            rows.line.append_value(small(line.line));
            rows.method.append_value(&read.methods[line.method]);
            rows.operator.append_value(&operator.name);
            rows.node_text.append_value(&operator.text);
            rows.node_index.append_option(operator.node_index);
            rows.expression.append_option(expression);
            self.lines.row_done()?;
        }
        Ok(())
    }
}
