//! Reading back tables that were written before.

use std::fs::File;
use std::path::Path;

use arrow_array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use pyro_model::{Error, Result};

/// Hands every batch of some columns of a table to `take`. Strings come as plain strings, however
/// they are stored. False where there is no such file.
///
/// # Errors
/// If the file cannot be read or lacks a column, or what `take` says.
pub(crate) fn read_table(
    path: &Path,
    columns: &[&str],
    mut take: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io(path, error)),
    };
    let bad = |error: &dyn std::fmt::Display| Error::Table(format!("{}: {error}", path.display()));
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)
        .map_err(|error| bad(&error))?;
    for column in columns {
        if builder.schema().field_with_name(column).is_err() {
            let text = format!("{}: there is no column {column}", path.display());
            return Err(Error::Input(text));
        }
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let reader = builder.with_projection(mask).with_batch_size(8192).build();
    for batch in reader.map_err(|error| bad(&error))? {
        take(&batch.map_err(|error| bad(&error))?)?;
    }
    Ok(true)
}
