//! Records of the agent and the Spark plugin (`plugin-<role>-<executor>-<pid>.ndjson`) →
//! tables `processes`, `spans`, `jvm_series`, `clock_pairs` and `executor_pods`.
//!
//! Files are read to the last whole line: a JVM that was killed leaves what it had flushed.
//! Nothing is dropped in silence: lines that cannot be read, records that the plugin itself
//! had to drop, and errors that it noted become doubts.

mod consumer;
mod facts;
mod file;
mod process;
mod record;
mod tables;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use pyro_model::{Error, IngestReport, ParquetSink, Result, TaskSpan};

use crate::jobs::StageJobs;
use consumer::{Consumer, Outcome};
pub(crate) use facts::{Facts, Seen};
use process::Identity;
pub(crate) use record::{Lines, Next};
use tables::Tables;

/// Reads plugin files and writes their tables to folder `out`; jobs come from the event log's
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
        pods: Vec::new(),
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
    if !tables.pods.is_empty() {
        let rows = tables::write_pods(&tables.pods, out)?;
        report.tables.insert("executor_pods", rows);
    }
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

/// Task spans of all files, to find which task a thread was running; jobs come from the event
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

/// Host, pid, CLOCK_MONOTONIC and wall time of every reading of both clocks.
///
/// # Errors
/// If a file cannot be opened or read.
pub fn read_clocks(paths: &[String]) -> Result<Vec<(String, i64, i64, i64)>> {
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
struct Clocks(Vec<(String, i64, i64, i64)>);

impl Consumer for Clocks {
    fn clock(&mut self, process: &Identity, mono_ns: i64, wall_ns: i64) -> Result<()> {
        self.0
            .push((process.host.clone(), process.pid, mono_ns, wall_ns));
        Ok(())
    }
}
