//! Which job a stage ran for: the plugin cannot know it, the event log does.

use std::path::Path;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use pyro_model::Result;
use rustc_hash::FxHashMap;

use crate::read_table::read_table;

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
        let table = |name: &str| out.as_ref().join(format!("{name}.parquet"));
        read_table(&table("apps"), &["app_index", "app_id"], |batch| {
            let (index, id) = (
                batch["app_index"].as_primitive::<Int32Type>(),
                &batch["app_id"],
            );
            let id = id.as_string::<i32>();
            for row in (0..batch.num_rows()).filter(|&row| !id.is_null(row)) {
                ids.insert(index.value(row), id.value(row).into());
            }
            Ok(())
        })?;
        let columns = ["app_index", "stage_id", "stage_attempt", "job_id"];
        read_table(&table("stages"), &columns, |batch| {
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
            Ok(())
        })?;
        Ok(jobs)
    }

    /// Job of an attempt; of the run's only application, where the plugin did not record its own.
    pub fn of(&self, app: Option<&str>, stage: i64, attempt: i32) -> Option<i64> {
        let stages = match app {
            Some(app) => self.apps.get(app)?,
            None if self.apps.len() == 1 => self.apps.values().next()?,
            None => return None,
        };
        stages.get(&(stage, attempt)).copied()
    }
}
