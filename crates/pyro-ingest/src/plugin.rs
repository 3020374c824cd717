//! Records of the agent and the Spark plugin (`plugin-<role>-<executor>-<pid>.ndjson`) →
//! tables `processes`, `spans`, `jvm_series` and `clock_pairs`.
//!
//! Files are read to the last whole line: a JVM that was killed leaves what it had flushed.
//! Nothing is dropped in silence: lines that cannot be read, records that the plugin itself
//! had to drop, and errors that it noted become doubts.

mod facts;
mod file;
mod process;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use pyro_model::{
    ClockPairsBuilder, Error, IngestReport, JvmSeriesBuilder, ParquetSink, ProcessesBuilder,
    Result, SpansBuilder, TaskSpan,
};

use crate::jobs::StageJobs;
pub(crate) use facts::{Facts, Seen};
use process::{Identity, Process};
pub(crate) use record::{Lines, Next};

/// How a task ended, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Outcome {
    /// `None` while it runs, or where the end was never seen.
    success: Option<bool>,
    cpu_ns: Option<i64>,
    allocated_bytes: Option<i64>,
}

/// What a reader of plugin files wants of them. Each method takes one row.
trait Consumer {
    fn span(&mut self, _span: TaskSpan, _outcome: Outcome) -> Result<()> {
        Ok(())
    }
    fn clock(&mut self, _process: &Identity, _mono_ns: i64, _wall_ns: i64) -> Result<()> {
        Ok(())
    }
    fn series(
        &mut self,
        _process: &Identity,
        _mono_ns: i64,
        _values: &BTreeMap<String, i64>,
    ) -> Result<()> {
        Ok(())
    }
    fn process(&mut self, _process: &Process) -> Result<()> {
        Ok(())
    }
}

/// Reads plugin files and writes the four tables to folder `out`; jobs come from the event log's
/// tables there.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_plugin(paths: &[String], out: &str) -> Result<IngestReport> {
    let mut tables = Tables {
        processes: ParquetSink::create(out)?,
        spans: ParquetSink::create(out)?,
        series: ParquetSink::create(out)?,
        clocks: ParquetSink::create(out)?,
    };
    let jobs = StageJobs::read(out)?;
    let mut report = IngestReport::default();
    let mut total = Facts::default();
    for path in paths {
        let facts = read(path, &jobs, &mut tables)?;
        report.doubts.extend(facts.doubts(path));
        total.add(&facts);
    }
    report
        .tables
        .insert("processes", tables.processes.finish()?);
    report.tables.insert("spans", tables.spans.finish()?);
    report.tables.insert("jvm_series", tables.series.finish()?);
    report.tables.insert("clock_pairs", tables.clocks.finish()?);
    report.stats.insert("files", paths.len().into());
    report.stats.insert("bytes", total.bytes.into());
    report.stats.insert("lines", total.lines.into());
    report
        .stats
        .insert("unreadable_lines", total.unreadable.count.into());
    report
        .stats
        .insert("dropped", total.dropped.values().sum::<u64>().into());
    report.stats.insert("own_cpu_ns", total.own_cpu_ns.into());
    Ok(report)
}

/// Task spans of all files, to tell which task a thread was running; jobs come from the event
/// log's tables in `out`.
///
/// # Errors
/// If a file cannot be opened or read.
pub fn read_spans(paths: &[String], out: &str) -> Result<Vec<TaskSpan>> {
    let jobs = StageJobs::read(out)?;
    let mut spans = Spans::default();
    for path in paths {
        read(path, &jobs, &mut spans)?;
    }
    Ok(spans.0)
}

/// `(pid, mono_ns, wall_ns)` of every reading of both clocks.
///
/// # Errors
/// If a file cannot be opened or read.
pub fn read_clocks(paths: &[String]) -> Result<Vec<(i64, i64, i64)>> {
    let mut clocks = Clocks::default();
    for path in paths {
        read(path, &StageJobs::default(), &mut clocks)?;
    }
    Ok(clocks.0)
}

fn read(path: &str, jobs: &StageJobs, consumer: &mut impl Consumer) -> Result<Facts> {
    let open = || {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        Ok::<_, Error>(BufReader::with_capacity(256 << 10, file))
    };
    // The first record names the process; where it was lost, a later one does.
    let identity =
        process::identify(Path::new(path), open()?).map_err(|error| Error::io(path, error))?;
    file::read(path, open()?, identity, jobs, consumer)
}

#[derive(Default)]
struct Spans(Vec<TaskSpan>);

impl Consumer for Spans {
    fn span(&mut self, span: TaskSpan, _: Outcome) -> Result<()> {
        self.0.push(span);
        Ok(())
    }
}

#[derive(Default)]
struct Clocks(Vec<(i64, i64, i64)>);

impl Consumer for Clocks {
    fn clock(&mut self, process: &Identity, mono_ns: i64, wall_ns: i64) -> Result<()> {
        self.0.push((process.pid, mono_ns, wall_ns));
        Ok(())
    }
}

struct Tables {
    processes: ParquetSink<ProcessesBuilder>,
    spans: ParquetSink<SpansBuilder>,
    series: ParquetSink<JvmSeriesBuilder>,
    clocks: ParquetSink<ClockPairsBuilder>,
}

impl Consumer for Tables {
    fn span(&mut self, span: TaskSpan, outcome: Outcome) -> Result<()> {
        let rows = &mut self.spans.rows;
        rows.host.append_value(&span.host);
        rows.pid.append_value(span.pid);
        rows.tid.append_value(span.tid);
        rows.executor_id.append_option(span.executor_id.as_deref());
        rows.start_mono_ns.append_value(span.start_mono_ns);
        rows.end_mono_ns.append_option(span.end_mono_ns);
        rows.stage_id.append_value(span.stage_id);
        rows.stage_attempt.append_value(span.stage_attempt);
        rows.task_attempt_id.append_value(span.task_attempt_id);
        rows.partition.append_value(span.partition);
        rows.job_id.append_option(span.job_id);
        rows.sql_id.append_option(span.sql_id);
        rows.iteration.append_option(span.iteration);
        rows.status.append_value(match outcome.success {
            Some(true) => "success",
            Some(false) => "failed",
            None => "running",
        });
        rows.cpu_ns.append_option(outcome.cpu_ns);
        rows.allocated_bytes.append_option(outcome.allocated_bytes);
        self.spans.row_done()
    }

    fn clock(&mut self, process: &Identity, mono_ns: i64, wall_ns: i64) -> Result<()> {
        let rows = &mut self.clocks.rows;
        rows.host.append_value(&process.host);
        rows.source.append_value("plugin");
        rows.mono_ns.append_value(mono_ns);
        rows.wall_ns.append_value(wall_ns);
        self.clocks.row_done()
    }

    fn series(
        &mut self,
        process: &Identity,
        mono_ns: i64,
        values: &BTreeMap<String, i64>,
    ) -> Result<()> {
        for (name, value) in values {
            let rows = &mut self.series.rows;
            rows.host.append_value(&process.host);
            rows.pid.append_value(process.pid);
            rows.t_mono_ns.append_value(mono_ns);
            rows.name.append_value(name);
            rows.value.append_value(*value);
            self.series.row_done()?;
        }
        Ok(())
    }

    fn process(&mut self, process: &Process) -> Result<()> {
        let rows = &mut self.processes.rows;
        rows.host.append_value(&process.identity.host);
        rows.pid.append_value(process.identity.pid);
        rows.role.append_value(&process.identity.role);
        rows.executor_id
            .append_option(process.identity.executor_id.as_deref());
        rows.app_id.append_option(process.app_id.as_deref());
        rows.start_mono_ns.append_value(process.start_mono_ns);
        rows.end_mono_ns.append_option(process.end_mono_ns);
        rows.jvm.append_option(process.jvm.as_deref());
        rows.facts
            .append_value(serde_json::Value::Object(process.facts.clone()).to_string());
        self.processes.row_done()
    }
}
