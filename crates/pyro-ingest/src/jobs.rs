//! Which job a stage ran for: the plugin cannot know it, the event log does.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyro_model::{Error, Result};
use rustc_hash::FxHashMap;

/// Jobs by stage and attempt, of each application of a run.
#[derive(Debug, Default)]
pub struct StageJobs {
    apps: FxHashMap<Arc<str>, FxHashMap<(i64, i32), i64>>,
}

impl StageJobs {
    /// Reads tables `apps` and `stages` of folder `out`; none, where no event log was read.
    ///
    /// # Errors
    /// If a table is there and cannot be read.
    pub fn read(out: impl AsRef<Path>) -> Result<Self> {
        let mut ids: FxHashMap<i32, Arc<str>> = FxHashMap::default();
        let mut jobs = Self::default();
        rows(out.as_ref(), "apps", &["app_index", "app_id"], |batch| {
            let (index, id) = (
                batch["app_index"].as_primitive::<Int32Type>(),
                &batch["app_id"],
            );
            let id = id.as_string::<i32>();
            for row in (0..batch.num_rows()).filter(|&row| !id.is_null(row)) {
                ids.insert(index.value(row), id.value(row).into());
            }
        })?;
        let columns = ["app_index", "stage_id", "stage_attempt", "job_id"];
        rows(out.as_ref(), "stages", &columns, |batch| {
            let long = |name| batch[name].as_primitive::<Int64Type>();
            let int = |name| batch[name].as_primitive::<Int32Type>();
            let (stage, job) = (long("stage_id"), long("job_id"));
            let (index, attempt) = (int("app_index"), int("stage_attempt"));
            for row in (0..batch.num_rows()).filter(|&row| !job.is_null(row)) {
                if let Some(id) = ids.get(&index.value(row)) {
                    let key = (stage.value(row), attempt.value(row));
                    let app = jobs.apps.entry(id.clone()).or_default();
                    app.insert(key, job.value(row));
                }
            }
        })?;
        Ok(jobs)
    }

    /// Job of an attempt; of the run's only application, where the plugin did not tell its own.
    pub fn of(&self, app: Option<&str>, stage: i64, attempt: i32) -> Option<i64> {
        let stages = match app {
            Some(app) => self.apps.get(app)?,
            None if self.apps.len() == 1 => self.apps.values().next()?,
            None => return None,
        };
        stages.get(&(stage, attempt)).copied()
    }
}

/// Hands every batch of some columns of a table to `take`.
fn rows(
    folder: &Path,
    table: &str,
    columns: &[&str],
    mut take: impl FnMut(&RecordBatch),
) -> Result<()> {
    let path = folder.join(format!("{table}.parquet"));
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io(&path, error)),
    };
    let bad = |error: &dyn std::fmt::Display| Error::Table(format!("{}: {error}", path.display()));
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| bad(&error))?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let reader = builder.with_projection(mask).build();
    for batch in reader.map_err(|error| bad(&error))? {
        take(&batch.map_err(|error| bad(&error))?);
    }
    Ok(())
}
