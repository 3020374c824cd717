//! Arrow IPC streams of the OS probe → tables `thread_counters` and `os_series`.
//!
//! The probe may be killed at any byte. Messages are framed here rather than by Arrow's reader, so
//! that what is missing is known to the byte and no length in the file is believed before it was
//! compared with what is there. Whole batches before the first fault are kept.

mod frames;

use std::fs::File;
use std::io::{self, BufReader, Read};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type};
use arrow_array::{
    Array, BooleanArray, PrimitiveArray, RecordBatch, StringArray, TypedDictionaryArray,
};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use frames::Frames;
use pyro_model::{
    Doubt, Error, IngestReport, OsSeriesBuilder, ParquetSink, Result, Severity, Table,
    ThreadCountersBuilder,
};

/// Reads the probe's streams of any number of hosts and writes both tables to `out`.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_probe(
    thread_paths: &[String],
    series_paths: &[String],
    out: &str,
) -> Result<IngestReport> {
    let mut report = IngestReport::default();
    let threads = ingest::<ThreadCountersBuilder>(thread_paths, out, &mut report, copy_threads)?;
    let series = ingest::<OsSeriesBuilder>(series_paths, out, &mut report, copy_series)?;
    report.stats.insert("bytes", (threads + series).into());
    Ok(report)
}

type Copy<T> = fn(&RecordBatch, &mut ParquetSink<T>) -> std::result::Result<(), Fault>;

fn ingest<T: Table>(
    paths: &[String],
    out: &str,
    report: &mut IngestReport,
    copy: Copy<T>,
) -> Result<u64> {
    let mut sink = ParquetSink::<T>::create(out)?;
    let mut bytes = 0;
    for path in paths {
        let at = |error| Error::io(path, error);
        let file = File::open(path).map_err(at)?;
        let length = file.metadata().map_err(at)?.len();
        let mut frames = Frames::new(BufReader::with_capacity(256 << 10, file), length);
        match read_stream(&mut frames, |batch| copy(batch, &mut sink)) {
            Ok(()) => {}
            Err(Fault::Read(error)) => return Err(Error::io(path, error)),
            Err(Fault::Write(error)) => return Err(error),
            Err(Fault::Cut) => report.doubts.push(
                Doubt::new(
                    "probe_stream_cut",
                    Severity::Warning,
                    format!("the stream ends without its end mark after {length} bytes: the probe was killed, or still runs"),
                )
                .in_file(path)
                .at_byte(frames.offset),
            ),
            Err(Fault::Unreadable(what)) => report.doubts.push(
                Doubt::new(
                    "probe_stream_unreadable",
                    Severity::Warning,
                    format!("{what}; the {} bytes from here on were left out", length - frames.offset),
                )
                .in_file(path)
                .at_byte(frames.offset),
            ),
        }
        bytes += length;
    }
    report.tables.insert(T::NAME, sink.finish()?);
    Ok(bytes)
}

/// Why reading a stream stopped.
#[derive(Debug)]
enum Fault {
    /// The file could not be read.
    Read(io::Error),
    /// The table could not be written.
    Write(Error),
    /// The stream ends in the middle, or without its end mark.
    Cut,
    /// What is there is no such stream.
    Unreadable(String),
}

impl Fault {
    fn damaged(error: impl std::fmt::Display) -> Self {
        Self::Unreadable(format!("damaged message: {error}"))
    }
}

/// Hands every whole batch to `take`.
fn read_stream<R: Read>(
    frames: &mut Frames<R>,
    mut take: impl FnMut(&RecordBatch) -> std::result::Result<(), Fault>,
) -> std::result::Result<(), Fault> {
    let (mut decoder, mut schema) = (StreamDecoder::new(), None);
    while let Some(frame) = frames.next()? {
        frame.check(&mut schema)?;
        let size = frame.bytes.len() as u64;
        let mut buffer = Buffer::from_vec(frame.bytes);
        while !buffer.is_empty() {
            if let Some(batch) = decoder.decode(&mut buffer).map_err(Fault::damaged)? {
                take(&batch)?;
            }
        }
        frames.offset += size;
    }
    Ok(())
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> std::result::Result<&'a dyn Array, Fault> {
    let column = batch.column_by_name(name);
    column
        .map(AsRef::as_ref)
        .ok_or_else(|| Fault::Unreadable(format!("no column {name}")))
}

fn wrong_type(name: &str, array: &dyn Array) -> Fault {
    Fault::Unreadable(format!("column {name} is of type {}", array.data_type()))
}

/// A column of numbers.
fn numbers<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
    nullable: bool,
) -> std::result::Result<&'a PrimitiveArray<T>, Fault> {
    let array = column(batch, name)?;
    let typed = array
        .as_primitive_opt::<T>()
        .ok_or_else(|| wrong_type(name, array))?;
    no_nulls(name, typed, nullable)?;
    Ok(typed)
}

fn flags<'a>(batch: &'a RecordBatch, name: &str) -> std::result::Result<&'a BooleanArray, Fault> {
    let array = column(batch, name)?;
    let typed = array
        .as_boolean_opt()
        .ok_or_else(|| wrong_type(name, array))?;
    no_nulls(name, typed, false)?;
    Ok(typed)
}

type Words<'a> = TypedDictionaryArray<'a, Int32Type, StringArray>;

fn words<'a>(
    batch: &'a RecordBatch,
    name: &str,
    nullable: bool,
) -> std::result::Result<Words<'a>, Fault> {
    let array = column(batch, name)?;
    let dictionary = array.as_dictionary_opt::<Int32Type>();
    let typed = dictionary.and_then(|dictionary| dictionary.downcast_dict::<StringArray>());
    let typed = typed.ok_or_else(|| wrong_type(name, array))?;
    if !nullable && typed.logical_null_count() > 0 {
        return Err(Fault::Unreadable(format!("column {name} has nulls")));
    }
    Ok(typed)
}

fn no_nulls(name: &str, array: &dyn Array, nullable: bool) -> std::result::Result<(), Fault> {
    if !nullable && array.null_count() > 0 {
        return Err(Fault::Unreadable(format!("column {name} has nulls")));
    }
    Ok(())
}

fn word<'a>(words: &Words<'a>, row: usize) -> Option<&'a str> {
    let key = words.keys();
    if key.is_null(row) {
        return None;
    }
    let index = key.value(row) as usize;
    words
        .values()
        .is_valid(index)
        .then(|| words.values().value(index))
}

fn optional<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

fn copy_threads(
    batch: &RecordBatch,
    sink: &mut ParquetSink<ThreadCountersBuilder>,
) -> std::result::Result<(), Fault> {
    let host = words(batch, "host", false)?;
    let comm = words(batch, "comm", false)?;
    let state = words(batch, "state", true)?;
    let exact = |name| numbers::<Int64Type>(batch, name, false);
    let maybe = |name| numbers::<Int64Type>(batch, name, true);
    let (pid, tid, t_mono_ns) = (exact("pid")?, exact("tid")?, exact("t_mono_ns")?);
    let (run_ns, run_delay_ns) = (exact("run_ns")?, exact("run_delay_ns")?);
    let timeslices_count = exact("timeslices_count")?;
    let (user_ns, system_ns) = (maybe("user_ns")?, maybe("system_ns")?);
    let minor_faults_count = maybe("minor_faults_count")?;
    let major_faults_count = maybe("major_faults_count")?;
    let cpu = numbers::<Int32Type>(batch, "cpu", true)?;
    let (first, last) = (flags(batch, "first")?, flags(batch, "last")?);
    for row in 0..batch.num_rows() {
        let rows = &mut sink.rows;
        rows.host.append_option(word(&host, row));
        rows.pid.append_value(pid.value(row));
        rows.tid.append_value(tid.value(row));
        rows.t_mono_ns.append_value(t_mono_ns.value(row));
        rows.comm.append_option(word(&comm, row));
        rows.state.append_option(word(&state, row));
        rows.run_ns.append_value(run_ns.value(row));
        rows.run_delay_ns.append_value(run_delay_ns.value(row));
        rows.timeslices_count
            .append_value(timeslices_count.value(row));
        rows.user_ns.append_option(optional(user_ns, row));
        rows.system_ns.append_option(optional(system_ns, row));
        rows.minor_faults_count
            .append_option(optional(minor_faults_count, row));
        rows.major_faults_count
            .append_option(optional(major_faults_count, row));
        rows.cpu.append_option(optional(cpu, row));
        rows.first.append_value(first.value(row));
        rows.last.append_value(last.value(row));
        sink.row_done().map_err(Fault::Write)?;
    }
    Ok(())
}

fn copy_series(
    batch: &RecordBatch,
    sink: &mut ParquetSink<OsSeriesBuilder>,
) -> std::result::Result<(), Fault> {
    let host = words(batch, "host", false)?;
    let scope = words(batch, "scope", false)?;
    let name = words(batch, "name", false)?;
    let t_mono_ns = numbers::<Int64Type>(batch, "t_mono_ns", false)?;
    let value = numbers::<Int64Type>(batch, "value", false)?;
    for row in 0..batch.num_rows() {
        let rows = &mut sink.rows;
        rows.host.append_option(word(&host, row));
        rows.t_mono_ns.append_value(t_mono_ns.value(row));
        rows.scope.append_option(word(&scope, row));
        rows.name.append_option(word(&name, row));
        rows.value.append_value(value.value(row));
        sink.row_done().map_err(Fault::Write)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
