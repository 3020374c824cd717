//! Arrow IPC streams of the OS probe → the tables that they are streams of.
//!
//! The probe may be killed at any byte. Messages are framed here rather than by Arrow's reader, so
//! that what is missing is known to the byte and no length in the file is believed before it was
//! compared with what is there. Whole batches before the first fault are kept.

mod fault;
mod frames;

use std::fs::File;
use std::io::{BufReader, Read};

use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::Field;
use fault::Fault;
use frames::Frames;
use pyro_model::{
    DelaysBuilder, Doubt, Error, IngestReport, IoLatencyBuilder, KernelStacksBuilder,
    OffCpuBuilder, OsSeriesBuilder, ParquetSink, PerfCountsBuilder, Result, Severity, Table,
    ThreadCountersBuilder, ThreadStatesBuilder,
};

/// Reads the streams `probe-<host>-<name>.arrows` of any number of hosts and writes to `out` the
/// table of every name that is there.
///
/// # Errors
/// If a file cannot be opened or read, or a table cannot be written.
pub fn ingest_probe(paths: &[String], out: &str) -> Result<IngestReport> {
    let mut reader = Reader {
        rest: paths.to_vec(),
        out,
        bytes: 0,
        report: IngestReport::default(),
    };
    reader.table::<ThreadCountersBuilder>("threads")?;
    reader.table::<OsSeriesBuilder>("series")?;
    reader.table::<ThreadStatesBuilder>("states")?;
    reader.table::<KernelStacksBuilder>("kernel-stacks")?;
    reader.table::<OffCpuBuilder>("off-cpu")?;
    reader.table::<IoLatencyBuilder>("io-latency")?;
    reader.table::<PerfCountsBuilder>("perf-counts")?;
    reader.table::<DelaysBuilder>("delays")?;
    Ok(reader.end())
}

struct Reader<'a> {
    /// Streams whose table did not have its turn yet.
    rest: Vec<String>,
    out: &'a str,
    bytes: u64,
    report: IngestReport,
}

impl Reader<'_> {
    /// Reads the streams of one name into their table.
    fn table<T: Table>(&mut self, name: &str) -> Result<()> {
        let suffix = format!("-{name}.arrows");
        let (paths, rest) = std::mem::take(&mut self.rest)
            .into_iter()
            .partition::<Vec<_>, _>(|path| path.ends_with(&suffix));
        self.rest = rest;
        if paths.is_empty() {
            return Ok(());
        }
        let mut sink = ParquetSink::<T>::create(self.out)?;
        for path in paths {
            let at = |error| Error::io(&path, error);
            let file = File::open(&path).map_err(at)?;
            let length = file.metadata().map_err(at)?.len();
            let mut frames = Frames::new(BufReader::with_capacity(256 << 10, file), length);
            let fault = read_stream(&mut frames, |batch| {
                sink.append(fitted::<T>(batch)?).map_err(Fault::Write)
            });
            self.bytes += length;
            match fault {
                Ok(()) => {}
                Err(Fault::Read(error)) => return Err(Error::io(&path, error)),
                Err(Fault::Write(error)) => return Err(error),
                Err(Fault::Cut) => self.doubt(
                    "probe_stream_cut",
                    format!("the stream ends without its end mark after {length} bytes: the probe was killed, or still runs"),
                    &path,
                    frames.offset,
                ),
                Err(Fault::Unreadable(what)) => self.doubt(
                    "probe_stream_unreadable",
                    format!("{what}; the {} bytes from here on were left out", length - frames.offset),
                    &path,
                    frames.offset,
                ),
            }
        }
        self.report.tables.insert(T::NAME, sink.finish()?);
        Ok(())
    }

    fn doubt(&mut self, code: &'static str, message: String, path: &str, offset: u64) {
        let doubt = Doubt::new(code, Severity::Warning, message);
        self.report.doubts.push(doubt.in_file(path).at_byte(offset));
    }

    fn end(mut self) -> IngestReport {
        for path in std::mem::take(&mut self.rest) {
            let message = "no table is known for a stream of this name".to_owned();
            self.doubt("probe_stream_unreadable", message, &path, 0);
        }
        self.report.stats.insert("bytes", self.bytes.into());
        self.report
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
