//! Jobs and stages of which further events may come.

use std::collections::VecDeque;

use pyro_model::Result;
use rustc_hash::FxHashMap;

use crate::eventlog::json::{Cursor, padded};
use crate::eventlog::properties::Properties;
use crate::eventlog::stage_info::{Info, info};
use crate::eventlog::tables::{Tables, time_ns};

/// Stages whose jobs have ended are remembered for late events until there are so many of them …
const REMEMBERED_STAGES: usize = 4096;
/// … or what is kept of the never-submitted ones takes so many bytes.
const REMEMBERED_BYTES: usize = 16 << 20;

/// A job that has not ended.
#[derive(Debug, Default)]
pub struct Job {
    /// Submission, ms.
    pub submit: Option<i64>,
    /// Its stages.
    pub stage_ids: Vec<i64>,
    /// Its local properties.
    pub properties: Properties,
}

#[derive(Debug, Default)]
struct Stage {
    job_id: Option<i64>,
    open_jobs: u32,
    sql_id: Option<i64>,
    iteration: Option<i32>,
    submitted: bool,
    /// `Stage Info` of the job's start, until the stage is submitted.
    planned: Option<Box<[u8]>>,
}

/// Stages of an application: those of running jobs, and a bounded number of older ones.
#[derive(Debug, Default)]
pub struct Stages {
    stages: FxHashMap<i64, Stage>,
    /// `Stage Info` of attempts that were submitted and not completed.
    open: FxHashMap<(i64, i32), Box<[u8]>>,
    ended: VecDeque<i64>,
    ended_bytes: usize,
}

impl Stages {
    /// Stages held.
    #[cfg(test)]
    pub fn known_count(&self) -> usize {
        self.stages.len()
    }

    /// SQL execution for which a stage runs.
    #[inline]
    pub fn sql_id(&self, stage_id: i64) -> Option<i64> {
        self.stages.get(&stage_id)?.sql_id
    }

    /// A job that needs the stages has started; `planned` is what its event says of them.
    pub fn job_started(&mut self, job_id: i64, job: &Job, planned: Vec<(i64, &[u8])>) {
        for &id in &job.stage_ids {
            let stage = self.stages.entry(id).or_default();
            stage.open_jobs += 1;
            if stage.job_id.is_none() {
                stage.job_id = Some(job_id);
                stage.sql_id = job.properties.sql_id;
                stage.iteration = job.properties.iteration;
            }
        }
        for (id, raw) in planned {
            if let Some(stage) = self.stages.get_mut(&id).filter(|stage| !stage.submitted) {
                stage.planned.get_or_insert_with(|| raw.into());
            }
        }
    }

    /// A job has ended: its stages are kept for late events, until there are too many.
    ///
    /// # Errors
    /// If a row cannot be written.
    pub fn job_ended(&mut self, job: Job, app_index: i32, tables: &mut Tables) -> Result<()> {
        for id in job.stage_ids {
            let Some(stage) = self.stages.get_mut(&id) else {
                continue;
            };
            stage.open_jobs = stage.open_jobs.saturating_sub(1);
            if stage.open_jobs == 0 {
                self.ended_bytes += stage.planned.as_ref().map_or(0, |raw| raw.len());
                self.ended.push_back(id);
            }
        }
        while self.ended.len() > REMEMBERED_STAGES || self.ended_bytes > REMEMBERED_BYTES {
            let Some(id) = self.ended.pop_front() else {
                break;
            };
            let Some(stage) = self.stages.get(&id) else {
                continue;
            };
            let bytes = stage.planned.as_ref().map_or(0, |raw| raw.len());
            self.ended_bytes = self.ended_bytes.saturating_sub(bytes);
            if stage.open_jobs == 0 {
                self.forget(app_index, id, tables)?;
            }
        }
        Ok(())
    }

    /// A stage attempt was submitted; `raw` is its `Stage Info`.
    pub fn submitted(&mut self, id: i64, attempt: i32, raw: &[u8], local: &Properties) {
        let stage = self.stages.entry(id).or_default();
        stage.submitted = true;
        stage.planned = None;
        stage.sql_id = local.sql_id.or(stage.sql_id);
        stage.iteration = local.iteration.or(stage.iteration);
        self.open.insert((id, attempt), raw.into());
    }

    /// A stage attempt has completed.
    ///
    /// # Errors
    /// If its row cannot be written.
    pub fn completed(
        &mut self,
        id: i64,
        info: &Info<'_>,
        app_index: i32,
        tables: &mut Tables,
    ) -> Result<()> {
        self.open.remove(&(id, info.attempt as i32));
        let stage = self.stages.entry(id).or_default();
        stage.submitted = true;
        stage.planned = None;
        let status = if info.failure.is_some() {
            "failed"
        } else {
            "succeeded"
        };
        stage.write(app_index, info, status, tables)
    }

    /// Writes what is still open at the end of the log.
    ///
    /// # Errors
    /// If a row cannot be written.
    pub fn finish(&mut self, app_index: i32, tables: &mut Tables) -> Result<()> {
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_unstable_by_key(|(key, _)| *key);
        for ((id, _), raw) in open {
            let stage = self.stages.entry(id).or_default();
            stage.write_raw(app_index, id, &raw, "running", tables)?;
        }
        let mut ids: Vec<_> = self.stages.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.forget(app_index, id, tables)?;
        }
        Ok(())
    }

    /// Drops a stage. One that was never submitted was skipped, or is still to come if its job runs.
    fn forget(&mut self, app_index: i32, id: i64, tables: &mut Tables) -> Result<()> {
        let Some(stage) = self.stages.remove(&id) else {
            return Ok(());
        };
        if stage.submitted {
            return Ok(());
        }
        let status = if stage.open_jobs == 0 {
            "skipped"
        } else {
            "pending"
        };
        let raw = stage.planned.as_deref().unwrap_or_default();
        stage.write_raw(app_index, id, raw, status, tables)
    }
}

impl Stage {
    fn write_raw(
        &self,
        app_index: i32,
        id: i64,
        raw: &[u8],
        status: &str,
        tables: &mut Tables,
    ) -> Result<()> {
        let line = padded(raw);
        // Of what a job's start says about a stage only the shape was checked: the id may be all there is.
        let info = info(&mut Cursor::new(&line, raw.len())).unwrap_or_default();
        let info = Info {
            stage_id: Some(id),
            ..info
        };
        self.write(app_index, &info, status, tables)
    }

    fn write(
        &self,
        app_index: i32,
        info: &Info<'_>,
        status: &str,
        tables: &mut Tables,
    ) -> Result<()> {
        let rows = &mut tables.stages.rows;
        rows.app_index.append_value(app_index);
        rows.stage_id.append_value(info.stage_id.unwrap_or(-1));
        rows.stage_attempt.append_value(info.attempt as i32);
        rows.name.append_option(info.name.map(|text| text.decode()));
        rows.details
            .append_option(info.details.map(|text| text.decode()));
        rows.job_id.append_option(self.job_id);
        rows.sql_id.append_option(self.sql_id);
        rows.iteration.append_option(self.iteration);
        rows.parent_ids
            .append_value(info.parents.iter().copied().map(Some));
        rows.rdd_names.append_option(info.rdds.as_deref());
        rows.planned_tasks_count.append_option(info.tasks);
        let times = if matches!(status, "skipped" | "pending") {
            (None, None)
        } else {
            (info.submit, info.complete)
        };
        rows.submit_wall_ns.append_option(time_ns(times.0));
        rows.complete_wall_ns.append_option(time_ns(times.1));
        rows.status.append_value(status);
        rows.failure_reason
            .append_option(info.failure.map(|text| text.decode()));
        tables.stages.row_done()
    }
}
