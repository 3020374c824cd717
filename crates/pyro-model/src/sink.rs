//! A Parquet file that is written in bounded memory and appears only when complete.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::encoder::{Encoder, table_error};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::tables::SCHEMA_VERSION;

/// Rows passed to the Parquet encoder at once.
const BATCH_ROWS: usize = 8192;
/// Bytes passed to the Parquet encoder at once, at most (plus one row).
const BATCH_BYTES: usize = 2 << 20;
/// Rows of a row group.
const GROUP_ROWS: usize = 256 << 10;
/// Dictionary of an integer column, at most: beyond it the values hardly repeat, and finding
/// that out costs more than it saves.
const INTEGERS_BYTES: usize = 16 << 10;

/// Writes one table to `<out>/<table>.parquet`, without the secrets in it
/// ([`redactor`](crate::redactor)).
///
/// Rows are appended to [`rows`](Self::rows), each followed by
/// [`row_done`](Self::row_done). Until [`finish`](Self::finish) the file is called
/// `<table>.parquet.tmp`; a sink that is dropped unfinished removes it.
pub struct ParquetSink<T: Table> {
    /// Where to append the next row, one value to every column.
    pub rows: T,
    encoder: Option<Encoder>,
    temporary: PathBuf,
    destination: PathBuf,
    written: u64,
}

impl<T: Table> ParquetSink<T> {
    /// Starts the file in folder `out`, which must exist.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(out: impl AsRef<Path>) -> Result<Self> {
        let destination = out.as_ref().join(format!("{}.parquet", T::NAME));
        let temporary = out.as_ref().join(format!("{}.parquet.tmp", T::NAME));
        // Fuzzers look for faults in readers; a library's encoder would take most of their time.
        if cfg!(fuzzing) {
            return Ok(Self {
                rows: T::default(),
                encoder: Some(Encoder::nowhere(temporary.clone())),
                temporary,
                destination,
                written: 0,
            });
        }
        let file = File::create(&temporary).map_err(|error| Error::io(&temporary, error))?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_key_value_metadata(Some(vec![KeyValue::new(
                "pyrometer.schema_version".to_owned(),
                SCHEMA_VERSION.to_string(),
            )]));
        for field in T::schema().fields() {
            let column = ColumnPath::from(field.name().as_str());
            let kind = field.data_type();
            if kind.is_integer() {
                properties =
                    properties.set_column_dictionary_page_size_limit(column, INTEGERS_BYTES);
            } else if matches!(kind, DataType::Dictionary(..)) {
                // A few words that every row group has: bounds would rule none of them out.
                properties =
                    properties.set_column_statistics_enabled(column, EnabledStatistics::None);
            }
        }
        let writer = ArrowWriter::try_new(file, T::schema(), Some(properties.build()));
        let writer = writer.map_err(|error| table_error(&temporary, error))?;
        Ok(Self {
            rows: T::default(),
            encoder: Some(Encoder::new(temporary.clone(), writer)),
            temporary,
            destination,
            written: 0,
        })
    }

    /// Rows that can be appended before the next [`row_done`](Self::row_done), at least 1: who appends
    /// many at once cuts batches as who appends one by one.
    pub fn room(&self) -> usize {
        BATCH_ROWS.saturating_sub(self.rows.len()).max(1)
    }

    /// Notes that a row is complete; encodes the rows held if there are enough of them.
    ///
    /// # Errors
    /// If the rows do not fit the schema or cannot be written.
    #[inline]
    pub fn row_done(&mut self) -> Result<()> {
        let rows = self.rows.len();
        let full = rows >= BATCH_ROWS
            || (rows.is_multiple_of(64) && self.rows.approx_bytes() >= BATCH_BYTES);
        if full { self.flush() } else { Ok(()) }
    }

    /// Encodes the rows held; ends the row group if it is large enough.
    ///
    /// # Errors
    /// If the rows do not fit the schema or cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let batch = self.rows.finish()?;
        self.write(batch)
    }

    /// Encodes whole columns, after the rows held.
    ///
    /// # Errors
    /// If they do not fit the schema or cannot be written.
    pub fn append(&mut self, batch: RecordBatch) -> Result<()> {
        self.flush()?;
        self.write(batch)
    }

    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.written += batch.num_rows() as u64;
        let encoder = self.encoder.as_mut().expect("open until finished");
        encoder.write(batch)
    }

    /// Rows encoded so far, those held not among them.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes what is held and gives the file its name. Returns the rows.
    ///
    /// The file is not synced: a table is derived, and what a power failure cut is made again from
    /// the raw streams.
    ///
    /// # Errors
    /// If anything could not be written; the temporary file is then removed.
    pub fn finish(mut self) -> Result<u64> {
        self.flush()?;
        let encoder = self.encoder.take().expect("open until finished");
        encoder.finish()?;
        if cfg!(fuzzing) {
            return Ok(self.written);
        }
        std::fs::rename(&self.temporary, &self.destination)
            .map_err(|error| Error::io(&self.destination, error))?;
        Ok(self.written)
    }
}

impl<T: Table> Drop for ParquetSink<T> {
    fn drop(&mut self) {
        if cfg!(fuzzing) {
            return;
        }
        // After a rename there is nothing of that name left to remove.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GcPausesBuilder;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn push(rows: &mut GcPausesBuilder, i: i64) {
        rows.pid.append_value(7);
        rows.gc_id.append_value(i);
        rows.start_mono_ns.append_null();
        rows.start_uptime_ns.append_value(i);
        rows.start_wall_ns.append_null();
        rows.duration_ns.append_value(i * 3);
        rows.collector.append_value("G1");
        rows.kind.append_value("young");
        rows.host.append_null();
        rows.cause.append_option(Some("G1 Evacuation Pause"));
        rows.heap_before_bytes.append_null();
        rows.heap_after_bytes.append_null();
        rows.heap_total_bytes.append_null();
        rows.young_before_bytes.append_null();
        rows.young_after_bytes.append_null();
        rows.old_before_bytes.append_null();
        rows.old_after_bytes.append_null();
        rows.humongous_before_bytes.append_null();
        rows.humongous_after_bytes.append_null();
        rows.resolution_bytes.append_null();
    }

    #[test]
    fn rows_appear_only_when_finished() {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = ParquetSink::<GcPausesBuilder>::create(dir.path()).unwrap();
        for i in 0..20_000 {
            push(&mut sink.rows, i);
            sink.row_done().unwrap();
        }
        let path = dir.path().join("gc_pauses.parquet");
        assert!(!path.exists() && dir.path().join("gc_pauses.parquet.tmp").exists());
        assert!(sink.written() >= 16_384);
        assert_eq!(sink.finish().unwrap(), 20_000);
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 20_000);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn empty_tables_are_written_and_abandoned_ones_removed() {
        let dir = tempfile::tempdir().unwrap();
        drop(ParquetSink::<GcPausesBuilder>::create(dir.path()).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(
            ParquetSink::<GcPausesBuilder>::create(dir.path())
                .unwrap()
                .finish()
                .unwrap(),
            0
        );
        assert!(dir.path().join("gc_pauses.parquet").exists());
    }

    #[test]
    fn a_null_where_none_may_be_is_an_error_that_names_the_table() {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = ParquetSink::<GcPausesBuilder>::create(dir.path()).unwrap();
        push(&mut sink.rows, 1);
        push(&mut sink.rows, 2);
        sink.rows.duration_ns = crate::column::I64::new();
        sink.rows.duration_ns.append_null();
        sink.rows.duration_ns.append_value(1);
        assert!(sink.finish().unwrap_err().to_string().contains("gc_pauses"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
