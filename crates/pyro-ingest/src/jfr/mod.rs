//! Java Flight Recorder files, of async-profiler and of the JDK → tables `samples`, `stacks`,
//! `frames` and `jit`.
//!
//! Read chunk by chunk; every event is read by the chunk's own description of its type, so
//! unknown events and fields are passed over and counted. Constant pools are only indexed;
//! a stack is decoded when the first sample needs it.
//!
//! Weights: a CPU sample weighs the recording's interval, a wall sample the interval times its
//! batch, an allocation the bytes it stands for (TLAB size, or the size outside TLABs: sampled,
//! not exact), a lock its waiting time. async-profiler takes a lock, a live object or a call of the
//! native allocator each time that an interval of their sum is full: one that is smaller than
//! the interval stands for the whole of it.

mod bytes;
mod chunk;
mod chunk_cache;
mod chunk_reader;
mod events;
mod keys;
mod lookup;
mod metadata;
mod output;
mod pools;
mod recording;
mod samples;
mod settings;
mod shape;
mod spans;
mod stack;
mod unfreed;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::dictionary::Dictionary;
use crate::plugin::{read_clocks, read_spans};
use chunk::ChunkError;
use chunk_reader::read_chunk;
use lookup::Lookup;
use output::Output;
use pyro_model::{Doubt, Error, IngestReport, ParquetSink, Result, Severity};
use pyro_stacks::Rules;
use recording::Recording;
use samples::{Event, SampleSink};
use settings::Settings;
pub use spans::SpanIndex;

/// Reads recordings, and from the plugin's files which task each thread was running; writes the
/// tables to `out`.
///
/// `begun_in` is the recording that these are later chunks of: async-profiler says in the first
/// chunk alone how it samples.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_jfr(
    paths: &[String],
    plugin_paths: &[String],
    out: &str,
    host: &str,
    begun_in: Option<&str>,
) -> Result<IngestReport> {
    let spans = SpanIndex::new(read_spans(plugin_paths, out)?, read_clocks(plugin_paths)?);
    ingest_recordings(paths, &spans, out, host, begun_in)
}

/// Reads recordings and writes their tables to `out`; tasks come from `spans`.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_recordings(
    paths: &[String],
    spans: &SpanIndex,
    out: &str,
    host: &str,
    begun_in: Option<&str>,
) -> Result<IngestReport> {
    let rules = Rules::embedded();
    let mut output = Output {
        samples: SampleSink::create(rules, out)?,
        jit: ParquetSink::create(out)?,
        dictionary: Dictionary::create(rules, out)?,
        lookup: Lookup::default(),
    };
    let mut report = IngestReport::default();
    let mut totals = Totals::default();
    let known = match begun_in {
        Some(path) => first_settings(path, spans, rules, &mut output)?,
        None => Settings::default(),
    };
    for path in paths {
        output.lookup.begin_recording();
        let mut recording = Recording::new(host, pid_of(path), spans, rules);
        recording.settings = known.clone();
        read_file(path, &mut recording, &mut output, &mut report, &mut totals)?;
        recording.unfreed.write(&mut output.samples)?;
        report.doubts.extend(doubts(path, &recording));
        let settings = &recording.settings;
        totals.cpu_interval_ns = totals.cpu_interval_ns.or(settings.cpu_interval_ns);
        totals.wall_interval_ns = totals.wall_interval_ns.or(settings.wall_interval_ns);
        totals.events += recording.seen.events;
        for (name, count) in recording.seen.ignored {
            *totals.ignored.entry(name).or_default() += count;
        }
    }
    let tallies = output.samples.tallies;
    let by_event = Event::ALL.map(|event| (event.name(), tallies[event as usize]));
    report.tables.insert("samples", output.samples.finish()?);
    report.tables.insert("jit", output.jit.finish()?);
    let (frames, stacks) = output.dictionary.finish()?;
    report.tables.insert("frames", frames);
    report.tables.insert("stacks", stacks);
    report.stats.insert("bytes", totals.bytes.into());
    report.stats.insert("chunks", totals.chunks.into());
    report.stats.insert("events", totals.events.into());
    report
        .stats
        .insert("events_ignored", serde_json::json!(totals.ignored));
    report
        .stats
        .insert("cpu_interval_ns", totals.cpu_interval_ns.into());
    report
        .stats
        .insert("wall_interval_ns", totals.wall_interval_ns.into());
    report.stats.insert(
        "samples_by_event",
        serde_json::json!(BTreeMap::from(by_event)),
    );
    Ok(report)
}

#[derive(Default)]
struct Totals {
    bytes: u64,
    chunks: u64,
    events: u64,
    ignored: BTreeMap<String, u64>,
    cpu_interval_ns: Option<i64>,
    wall_interval_ns: Option<i64>,
}

/// What a recording says of itself in its first chunk.
fn first_settings(
    path: &str,
    spans: &SpanIndex,
    rules: &'static Rules,
    output: &mut Output,
) -> Result<Settings> {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let mut recording = Recording::new("", None, spans, rules);
    recording.settings_only = true;
    match chunk::next(&mut BufReader::new(file), Vec::new()) {
        Ok(Some(chunk)) => read_chunk(&mut recording, &chunk, output).map(drop)?,
        Ok(None) | Err(ChunkError::NotAChunk) => {}
        Err(ChunkError::Io(error)) => return Err(Error::io(path, error)),
    }
    Ok(recording.settings)
}

fn read_file(
    path: &str,
    recording: &mut Recording<'_>,
    output: &mut Output,
    report: &mut IngestReport,
    totals: &mut Totals,
) -> Result<()> {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let mut input = BufReader::new(file);
    let mut offset = 0;
    let mut bytes = Vec::new();
    loop {
        let chunk = match chunk::next(&mut input, bytes) {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(()),
            Err(ChunkError::Io(error)) => return Err(Error::io(path, error)),
            Err(ChunkError::NotAChunk) => {
                let text = format!(
                    "{path}: no chunk of a JFR recording at byte {offset}; the rest was left out"
                );
                report.doubts.push(
                    Doubt::new("jfr_unreadable", Severity::Warning, text)
                        .in_file(path)
                        .at_byte(offset),
                );
                return Ok(());
            }
        };
        totals.chunks += 1;
        totals.bytes += chunk.bytes.len() as u64;
        let broken_at = read_chunk(recording, &chunk, output)?;
        if !chunk.complete || broken_at.is_some() {
            let at = offset + broken_at.unwrap_or(chunk.bytes.len()) as u64;
            let text = format!("{path}: the chunk at byte {offset} breaks off at byte {at}");
            report.doubts.push(
                Doubt::new("jfr_truncated", Severity::Warning, text)
                    .in_file(path)
                    .at_byte(at),
            );
        }
        offset += chunk.bytes.len() as u64;
        bytes = chunk.bytes;
    }
}

fn doubts(path: &str, recording: &Recording<'_>) -> Vec<Doubt> {
    let seen = &recording.seen;
    let mut doubts = Vec::new();
    let mut add = |code, severity, count: u64, text: String| {
        if count > 0 {
            doubts.push(
                Doubt::new(code, severity, format!("{path}: {text}"))
                    .in_file(path)
                    .times(count),
            );
        }
    };
    let broken = seen.broken + seen.broken_pools;
    add(
        "jfr_unreadable",
        Severity::Warning,
        broken,
        format!(
            "{} events and {} constant pools could not be read",
            seen.broken, seen.broken_pools
        ),
    );
    let foreign = seen
        .ignored
        .get("jdk.ExecutionSample")
        .copied()
        .unwrap_or(0);
    let event = recording.settings.event.as_deref().unwrap_or("unknown");
    add(
        "jfr_events_ignored",
        Severity::Warning,
        foreign,
        format!("{foreign} samples of event {event} were left out: their weight is not time"),
    );
    let left_out = recording.unfreed.left_out;
    add(
        "jfr_events_ignored",
        Severity::Warning,
        left_out,
        format!("{left_out} calls of the native allocator were left out: too many at once"),
    );
    let misnamed = seen.misnamed.len() as u64;
    add(
        "samples_thread_name_differs",
        Severity::Warning,
        misnamed,
        format!(
            "{misnamed} task threads are named after a task that the plugin did not see on them"
        ),
    );
    let pid = recording.pid();
    let unknown = seen.events > 0
        && !without_tasks(path)
        && !pid.is_some_and(|pid| recording.spans.knows(pid));
    add(
        "samples_without_tasks",
        Severity::Warning,
        u64::from(unknown),
        format!(
            "no tasks are known of process {}",
            pid.map_or("unknown".to_owned(), |pid| pid.to_string())
        ),
    );
    let wall = seen.events > 0 && !recording.settings.monotonic;
    add(
        "samples_wall_clock",
        Severity::Info,
        u64::from(wall),
        "times are on the wall clock".to_owned(),
    );
    doubts
}

/// `profile-<role>-<pid>.jfr`.
fn pid_of(path: &str) -> Option<i64> {
    let stem = Path::new(path).file_stem()?.to_str()?;
    stem.rsplit_once('-')?.1.parse().ok()
}

/// Whether the process is no part of Spark: no tasks are expected there.
fn without_tasks(path: &str) -> bool {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("profile-java-"))
}

#[cfg(test)]
mod tests;
