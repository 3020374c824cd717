//! Java Flight Recorder files, of async-profiler and of the JDK → tables `samples`, `stacks`,
//! `frames` and `jit`.
//!
//! Read chunk by chunk, several at once on as many threads: a chunk has constant pools of its own.
//! One thread puts together what they found, in the order of the file, so that tables are the same
//! whatever the number of threads. A recording of one chunk is read by one. Every event is read by the chunk's own description of its type, so
//! unknown events and fields are passed over and counted. Constant pools are only indexed;
//! a stack is decoded when the first sample needs it. A sample that differs from one before in
//! time and weight alone is not worked out again.
//!
//! Weights: a CPU sample weighs the recording's interval, a wall sample the interval times its
//! batch, an allocation the bytes it stands for (TLAB size, or the size outside TLABs: sampled,
//! not exact), a lock its waiting time. async-profiler takes a lock, a live object or a call of the
//! native allocator each time that an interval of their sum is full: one that is smaller than
//! the interval stands for the whole of it.

mod block;
mod bytes;
mod chunk;
mod chunk_cache;
mod chunk_reader;
mod doubts;
mod events;
mod keys;
mod lookup;
mod merge;
mod metadata;
mod output;
mod pools;
mod recording;
mod samples;
mod settings;
mod shape;
mod source;
mod spans;
mod stack;
mod threads;
mod types;
mod unfreed;

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::plugin::{read_clocks, read_spans};
use chunk::ChunkError;
use chunk_reader::learn;
use merge::Merger;
use pyro_model::{Error, IngestReport, Result, cores};
use pyro_stacks::Rules;
use recording::Recording;
use settings::Settings;
use source::Source;
pub use spans::SpanIndex;

/// Bytes of recordings below which more threads than one gain nothing.
const SMALL_BYTES: u64 = 1 << 20;

/// Reads recordings, and from the plugin's files which task each thread was running; writes the
/// tables to `out`.
///
/// `begun_in` is the recording that these are later chunks of: async-profiler says in the first
/// chunk alone how it samples. `hosts` are those of the recordings; to one whose host is known only
/// the tasks of that host belong, to others (of `host`) those of any.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_jfr(
    paths: &[String],
    plugin_paths: &[String],
    out: &str,
    host: &str,
    hosts: &[Option<String>],
    begun_in: Option<&str>,
) -> Result<IngestReport> {
    let (spans, clocks) = (read_spans(plugin_paths, out)?, read_clocks(plugin_paths)?);
    let known: BTreeSet<&str> = hosts.iter().flatten().map(String::as_str).collect();
    let of_host: HashMap<&str, SpanIndex> = known
        .into_iter()
        .map(|name| (name, SpanIndex::of_host(name, &spans, &clocks)))
        .collect();
    let clocks = clocks
        .into_iter()
        .map(|(_, pid, mono, wall)| (pid, mono, wall));
    let any = SpanIndex::new(spans, clocks.collect());
    let origins: Vec<_> = (0..paths.len())
        .map(
            |number| match hosts.get(number).and_then(Option::as_deref) {
                Some(name) => (name, &of_host[name]),
                None => (host, &any),
            },
        )
        .collect();
    ingest_on(threads_for(paths), paths, &origins, out, begun_in)
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
    let origins = vec![(host, spans); paths.len()];
    ingest_on(threads_for(paths), paths, &origins, out, begun_in)
}

fn threads_for(paths: &[String]) -> usize {
    let sizes = paths.iter().map(std::fs::metadata);
    let bytes: u64 = sizes.flatten().map(|about| about.len()).sum();
    if bytes < SMALL_BYTES { 1 } else { cores() }
}

/// The same on so many threads; `origins` are the host of each recording and the tasks there.
fn ingest_on(
    threads: usize,
    paths: &[String],
    origins: &[(&str, &SpanIndex)],
    out: &str,
    begun_in: Option<&str>,
) -> Result<IngestReport> {
    let (rules, nothing) = (Rules::embedded(), SpanIndex::default());
    let open = |number: usize| {
        let pid = paths.get(number).and_then(|path| pid_of(path));
        let (host, spans) = origins.get(number).copied().unwrap_or(("", &nothing));
        Recording::new(host, pid, spans, rules)
    };
    let mut merger = Merger::create(paths, &open, threads, out)?;
    let known = begun_in.map_or(Ok(Settings::default()), first_settings)?;
    threads::read_all(Source::new(paths, known), &open, threads, &mut merger)?;
    merger.finish()
}

/// What a recording says of itself in its first chunk.
fn first_settings(path: &str) -> Result<Settings> {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let mut input = BufReader::new(file);
    let mut settings = Settings::default();
    match chunk::begin(&mut input) {
        Ok(Some(header)) => {
            let chunk = chunk::read(&mut input, &header, Vec::new());
            let chunk = chunk.map_err(|error| Error::io(path, error))?;
            learn(&chunk, &mut settings);
        }
        Ok(None) | Err(ChunkError::NotAChunk) => {}
        Err(ChunkError::Io(error)) => return Err(Error::io(path, error)),
    }
    Ok(settings)
}

/// `profile-<role>-<pid>.jfr`.
fn pid_of(path: &str) -> Option<i64> {
    let stem = Path::new(path).file_stem()?.to_str()?;
    stem.rsplit_once('-')?.1.parse().ok()
}

#[cfg(test)]
mod tests;
