//! Spark event logs to tables: Spark 1.5 to 4.x, every codec, whole or cut, of any size.
//!
//! A log is read as a stream, line by line, without building documents; what is complete goes
//! to Parquet at once. A large log is read and decompressed on a thread of its own; what a line
//! means depends on those before, so that one thread takes the lines in. Memory is that of what is open at one time in the application.

mod codec;
mod counts;
mod doubts;
mod event;
mod events;
pub mod json;
mod lines;
mod properties;
mod reader;
mod source;
mod stage_info;
mod state;
mod tables;
mod task_metrics;

use std::io;
use std::path::{Path, PathBuf};

use pyro_model::{Doubt, Error, IngestReport, Result, cores};

use codec::Codec;
use counts::Counts;
use reader::Reader;
use source::Log;
use state::App;
use tables::Tables;

/// Bytes of logs below which a thread beside gains nothing.
const SMALL_BYTES: u64 = 256 << 10;

/// Reads the event logs at `paths` into the tables of folder `out`, which must exist.
///
/// What is no event log or cannot be read is a doubt where others can; `go_on` is asked every few
/// megabytes.
///
/// # Errors
/// If no event log can be read, a table cannot be written, or `go_on` says no. No table is then left
/// behind.
pub fn ingest(
    paths: &[PathBuf],
    out: &Path,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<IngestReport> {
    let (logs, doubts) = source::find(paths)?;
    let files = logs.iter().flat_map(|log| &log.parts);
    let sizes = files.filter_map(|file| std::fs::metadata(file).ok());
    let bytes: u64 = sizes.map(|about| about.len()).sum();
    let beside = cores() > 1 && bytes >= SMALL_BYTES;
    ingest_found(&logs, doubts, beside, out, go_on)
}

/// Reads logs that were found, and decompresses them beside if asked.
fn ingest_found(
    logs: &[Log],
    doubts: Vec<Doubt>,
    beside: bool,
    out: &Path,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<IngestReport> {
    let tables = Tables::create(out)?;
    let mut reader = Reader {
        tables,
        go_on,
        beside,
        next_app: 0,
        report: IngestReport {
            doubts,
            ..Default::default()
        },
        counts: Counts::default(),
    };
    let mut refused = None;
    let mut read = 0;
    for log in logs {
        match reader.log(log) {
            Ok(()) => read += 1,
            Err(error) if log.is_at_fault(&error) => {
                let doubt = source::refused(&log.parts[0], &error);
                reader.report.doubts.push(doubt);
                refused = refused.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    if let (0, Some(error)) = (read, refused) {
        return Err(error);
    }
    let Reader {
        tables,
        mut report,
        counts,
        ..
    } = reader;
    report.tables = tables.finish()?;
    report.stats = counts.stats();
    Ok(report)
}

/// Reads `bytes` as a log and throws its tables away: for tests and fuzzing, where syncing
/// files would take all the time.
#[doc(hidden)]
pub fn try_bytes(bytes: Vec<u8>, out: &Path) -> Result<IngestReport> {
    let codec = codec::detect(&bytes).unwrap_or(Codec::Plain);
    let source =
        codec::decode(io::Cursor::new(bytes), codec).map_err(|error| Error::io("bytes", error))?;
    let mut reader = Reader {
        tables: Tables::create(out)?,
        go_on: &mut || true,
        beside: false,
        next_app: 0,
        report: IngestReport::default(),
        counts: Counts::default(),
    };
    let mut app = App::new(0);
    let read = reader.stream(&mut app, source, codec, "bytes")?;
    events::finish(&mut app, &["bytes".to_owned()], read, &mut reader.tables)?;
    reader.tables.flush()?;
    Ok(IngestReport {
        stats: reader.counts.stats(),
        ..reader.report
    })
}

#[cfg(test)]
mod tests;
