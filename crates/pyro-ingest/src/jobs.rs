//! Which job a stage ran for: the plugin cannot know it, the event log does.

use std::path::Path;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use pyro_model::Result;
use rustc_hash::FxHashMap;

use crate::read_table::read_table;

/// The job of each stage attempt; none where attempts of the application differ.
type OfStages = FxHashMap<(i64, i32), Option<i64>>;

/// Jobs by stage and attempt, of each application of a run.
#[derive(Debug, Default)]
pub struct StageJobs {
    /// Attempts of an application have one id, and a log each: where these say otherwise of a stage,
    /// its job is not known.
    apps: FxHashMap<Arc<str>, OfStages>,
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
                    let job = Some(job.value(row));
                    let known = app.entry(key).or_insert(job);
                    *known = job.filter(|_| *known == job);
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
        stages.get(&(stage, attempt)).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log of an attempt of an application: `job` runs stage 4, and job 2 stage 5.
    fn log(folder: &Path, name: &str, job: i64) -> std::path::PathBuf {
        let mut events = vec![
            r#"{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"app-1","Timestamp":1}"#
                .to_owned(),
        ];
        for (job, stage) in [(job, 4), (2, 5)] {
            events.push(format!(
                r#"{{"Event":"SparkListenerJobStart","Job ID":{job},"Submission Time":1,"Stage Infos":[],"Stage IDs":[{stage}],"Properties":{{}}}}"#
            ));
            events.push(format!(
                r#"{{"Event":"SparkListenerStageCompleted","Stage Info":{{"Stage ID":{stage},"Stage Attempt ID":0,"Stage Name":"s","Number of Tasks":1,"RDD Info":[],"Parent IDs":[]}}}}"#
            ));
        }
        let path = folder.join(name);
        std::fs::write(&path, events.join("\n") + "\n").unwrap();
        path
    }

    #[test]
    fn where_attempts_of_an_application_differ_the_job_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let logs =
            [("app-1_1", 3), ("app-1_2", 9)].map(|(name, job)| log(folder.path(), name, job));
        crate::eventlog::ingest(&logs, folder.path(), &mut || true).unwrap();
        let jobs = StageJobs::read(folder.path()).unwrap();
        assert_eq!(jobs.of(Some("app-1"), 4, 0), None);
        assert_eq!(jobs.of(Some("app-1"), 5, 0), Some(2));
        assert_eq!(jobs.of(None, 5, 0), Some(2));
    }
}
