//! Arrow IPC streams of the OS probe → the tables that they are streams of.
//!
//! The probe may be killed at any byte. Messages are framed here rather than by Arrow's reader, so
//! that what is missing is known to the byte and no length in the file is believed before it was
//! compared with what is there. Whole batches before the first fault are kept.

mod at_once;
mod fault;
mod frames;

use std::fs::File;
use std::io::{BufReader, Read};

use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::Field;
use at_once::at_once;
use fault::Fault;
use frames::Frames;
use pyro_model::{
    DelaysBuilder, Doubt, Error, IngestReport, IoLatencyBuilder, KernelStacksBuilder,
    OffCpuBuilder, OsSeriesBuilder, ParquetSink, PerfCountsBuilder, Result, Severity, Table,
    ThreadCountersBuilder, ThreadStatesBuilder, cores,
};

/// Reads the streams `probe-<host>-<name>.arrows`, and `….2.arrows` of later probes of a folder,
/// of any number of hosts and writes to `out` the table of every name that is there, several tables
/// at once.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_probe(paths: &[String], out: &str) -> Result<IngestReport> {
    let small = paths.iter().map(|path| bytes_of(path)).sum::<u64>() < SMALL_BYTES;
    let threads = if small { 1 } else { cores().min(AT_ONCE) };
    ingest_on(threads, paths, out)
}

/// The same on so many threads.
fn ingest_on(threads: usize, paths: &[String], out: &str) -> Result<IngestReport> {
    let mut rest = paths.to_vec();
    let mut jobs = Vec::new();
    for (name, read) in TABLES {
        let (its, others) = rest.into_iter().partition(|path| is_of(path, name));
        rest = others;
        let its: Vec<String> = its;
        if !its.is_empty() {
            jobs.push(move || read(&its, out));
        }
    }
    let mut report = IngestReport::default();
    let mut bytes = 0;
    for part in at_once(threads, jobs) {
        let part = part?;
        report.tables.insert(part.name, part.rows);
        report.doubts.extend(part.doubts);
        bytes += part.bytes;
    }
    for path in rest {
        let message = "no table is known for a stream of this name".to_owned();
        let doubt = doubt("probe_stream_unreadable", message, &path, 0);
        report.doubts.push(doubt);
    }
    report.stats.insert("bytes", bytes.into());
    Ok(report)
}

/// Whether a stream has this name; the number of a later probe may follow it.
fn is_of(path: &str, name: &str) -> bool {
    let stem = path.strip_suffix(".arrows").unwrap_or_default();
    let unnumbered = stem.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let stem = unnumbered.strip_suffix('.').unwrap_or(stem);
    stem.strip_suffix(name)
        .is_some_and(|host| host.ends_with('-'))
}

fn bytes_of(path: &str) -> u64 {
    std::fs::metadata(path).map_or(0, |about| about.len())
}

/// Streams smaller than this in all are read on one thread.
const SMALL_BYTES: u64 = 1 << 20;
/// Tables at once, at most: each takes the memory of a row group.
const AT_ONCE: usize = 4;

type ReadTable = fn(&[String], &str) -> Result<Part>;

/// Names of streams, and how the table of each is made.
const TABLES: [(&str, ReadTable); 8] = [
    ("threads", read_table::<ThreadCountersBuilder>),
    ("series", read_table::<OsSeriesBuilder>),
    ("states", read_table::<ThreadStatesBuilder>),
    ("kernel-stacks", read_table::<KernelStacksBuilder>),
    ("off-cpu", read_table::<OffCpuBuilder>),
    ("io-latency", read_table::<IoLatencyBuilder>),
    ("perf-counts", read_table::<PerfCountsBuilder>),
    ("delays", read_table::<DelaysBuilder>),
];

/// A table that was made.
struct Part {
    name: &'static str,
    rows: u64,
    bytes: u64,
    doubts: Vec<Doubt>,
}

/// Reads the streams of one name into their table.
fn read_table<T: Table>(paths: &[String], out: &str) -> Result<Part> {
    let mut sink = ParquetSink::<T>::create(out)?;
    let (mut bytes, mut doubts) = (0, Vec::new());
    for path in paths {
        let at = |error| Error::io(path, error);
        let file = File::open(path).map_err(at)?;
        let length = file.metadata().map_err(at)?.len();
        let mut frames = Frames::new(BufReader::with_capacity(256 << 10, file), length);
        let fault = read_stream(&mut frames, |batch| {
            sink.append(fitted::<T>(batch)?).map_err(Fault::Write)
        });
        bytes += length;
        match fault {
            Ok(()) => {}
            Err(Fault::Read(error)) => return Err(Error::io(path, error)),
            Err(Fault::Write(error)) => return Err(error),
            Err(Fault::Cut) => doubts.push(doubt(
                "probe_stream_cut",
                format!("the stream ends without its end mark after {length} bytes: the probe was killed, or still runs"),
                path,
                frames.offset,
            )),
            Err(Fault::Unreadable(what)) => doubts.push(doubt(
                "probe_stream_unreadable",
                format!("{what}; the {} bytes from here on were left out", length - frames.offset),
                path,
                frames.offset,
            )),
        }
    }
    let rows = sink.finish()?;
    Ok(Part {
        name: T::NAME,
        rows,
        bytes,
        doubts,
    })
}

fn doubt(code: &'static str, message: String, path: &str, offset: u64) -> Doubt {
    let doubt = Doubt::new(code, Severity::Warning, message);
    doubt.in_file(path).at_byte(offset)
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

/// The batch with the columns of the table, in its order. A column that may be null and that the
/// probe did not know yet is null.
fn fitted<T: Table>(batch: &RecordBatch) -> std::result::Result<RecordBatch, Fault> {
    let schema = T::schema();
    let columns = schema.fields().iter().map(|field| column(batch, field));
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    RecordBatch::try_new(schema, columns).map_err(Fault::damaged)
}

fn column(batch: &RecordBatch, field: &Field) -> std::result::Result<ArrayRef, Fault> {
    let name = field.name();
    let Some(array) = batch.column_by_name(name) else {
        return match field.is_nullable() {
            true => Ok(new_null_array(field.data_type(), batch.num_rows())),
            false => Err(Fault::Unreadable(format!("no column {name}"))),
        };
    };
    if array.data_type() != field.data_type() {
        let found = array.data_type();
        return Err(Fault::Unreadable(format!(
            "column {name} is of type {found}"
        )));
    }
    if !field.is_nullable() && array.logical_null_count() > 0 {
        return Err(Fault::Unreadable(format!("column {name} has nulls")));
    }
    Ok(array.clone())
}

#[cfg(test)]
mod tests;
