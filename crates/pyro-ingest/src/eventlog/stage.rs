//! Jobs and stages.

use std::collections::VecDeque;

use pyro_model::Result;
use rustc_hash::FxHashMap;

use super::app::{App, Fail};
use super::json::{Bad, Cursor, padded};
use super::properties::{Properties, properties};
use super::sql;
use super::stage_info::{Info, brief, info, integers};
use super::tables::{Tables, time_ns};

/// Stages whose jobs have ended are remembered for late events until there are so many of them …
const REMEMBERED_STAGES: usize = 4096;
/// … or what is kept of the never-submitted ones takes so many bytes.
const REMEMBERED_BYTES: usize = 16 << 20;

/// A job that has not ended.
#[derive(Debug, Default)]
pub struct Job {
    submit: Option<i64>,
    stage_ids: Vec<i64>,
    properties: Properties,
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
}

/// `SparkListenerJobStart`.
pub fn job_start(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
    let mut job_id = None;
    let mut job = Job::default();
    let mut planned: Vec<(i64, &[u8])> = Vec::new();
    line.rest_of_line(|line, key| {
        match key {
            b"Job ID" => job_id = line.optional_integer()?,
            b"Submission Time" => job.submit = line.optional_integer()?,
            b"Stage IDs" => job.stage_ids = integers(line)?,
            b"Properties" => job.properties = properties(line)?,
            b"Stage Infos" => line.array(|line| {
                let mut look = line.clone();
                let id = if look.literal(b"{\"Stage ID\":") {
                    look.optional_integer()?
                } else {
                    brief(&mut look)?.stage_id
                };
                planned.push((id.ok_or(Bad("a stage has no id"))?, line.raw()?));
                Ok(())
            })?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let job_id = job_id.ok_or(Bad("the job has no id"))?;
    app.saw(job.submit);
    for &id in &job.stage_ids {
        let stage = app.stages.stages.entry(id).or_default();
        stage.open_jobs += 1;
        if stage.job_id.is_none() {
            stage.job_id = Some(job_id);
            stage.sql_id = job.properties.sql_id;
            stage.iteration = job.properties.iteration;
        }
    }
    for (id, raw) in planned {
        if let Some(stage) = app
            .stages
            .stages
            .get_mut(&id)
            .filter(|stage| !stage.submitted)
        {
            stage.planned.get_or_insert_with(|| raw.into());
        }
    }
    if let Some(sql_id) = job.properties.sql_id {
        app.sql.job_started(sql_id);
    }
    app.jobs.insert(job_id, job);
    Ok(())
}

/// `SparkListenerJobEnd`.
pub fn job_end(
    app: &mut App,
    tables: &mut Tables,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), Fail> {
    let (mut job_id, mut end, mut result, mut error) = (None, None, None, None);
    line.rest_of_line(|line, key| {
        match key {
            b"Job ID" => job_id = line.optional_integer()?,
            b"Completion Time" => end = line.optional_integer()?,
            b"Job Result" => line.object(|line, key| {
                match key {
                    b"Result" => result = line.optional_string()?,
                    b"Exception" if line.at_object() => line.object(|line, key| {
                        match key {
                            b"Message" => error = line.optional_string()?,
                            _ => line.skip()?,
                        }
                        Ok(())
                    })?,
                    _ => line.skip()?,
                }
                Ok(())
            })?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let job_id = job_id.ok_or(Bad("the job has no id"))?;
    app.saw(end);
    let job = app.jobs.remove(&job_id).unwrap_or_default();
    let status = if result.is_some_and(|result| result.raw == b"JobSucceeded") {
        "succeeded"
    } else {
        "failed"
    };
    let error = error.map(|error| error.decode());
    write_job(
        app.index,
        job_id,
        &job,
        status,
        end,
        error.as_deref(),
        tables,
    )?;
    if let Some(sql_id) = job.properties.sql_id {
        app.sql.job_ended(sql_id);
        sql::shed(app, tables)?;
    }
    for id in job.stage_ids {
        let Some(stage) = app.stages.stages.get_mut(&id) else {
            continue;
        };
        stage.open_jobs = stage.open_jobs.saturating_sub(1);
        if stage.open_jobs == 0 {
            app.stages.ended_bytes += stage.planned.as_ref().map_or(0, |raw| raw.len());
            app.stages.ended.push_back(id);
        }
    }
    while app.stages.ended.len() > REMEMBERED_STAGES || app.stages.ended_bytes > REMEMBERED_BYTES {
        let Some(id) = app.stages.ended.pop_front() else {
            break;
        };
        let Some(stage) = app.stages.stages.get(&id) else {
            continue;
        };
        app.stages.ended_bytes = app
            .stages
            .ended_bytes
            .saturating_sub(stage.planned.as_ref().map_or(0, |raw| raw.len()));
        if stage.open_jobs == 0 {
            forget(app, id, tables)?;
        }
    }
    Ok(())
}

/// `SparkListenerStageSubmitted`.
pub fn submitted(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
    let mut raw: &[u8] = b"{}";
    let mut stage_info = Info::default();
    let mut local = Properties::default();
    line.rest_of_line(|line, key| {
        match key {
            b"Stage Info" => {
                let mut look = line.clone();
                raw = line.raw()?;
                stage_info = brief(&mut look)?;
            }
            b"Properties" => local = properties(line)?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let id = stage_info.stage_id.ok_or(Bad("the stage has no id"))?;
    app.saw(stage_info.submit);
    let stage = app.stages.stages.entry(id).or_default();
    stage.submitted = true;
    stage.planned = None;
    stage.sql_id = local.sql_id.or(stage.sql_id);
    stage.iteration = local.iteration.or(stage.iteration);
    app.stages
        .open
        .insert((id, stage_info.attempt as i32), raw.into());
    Ok(())
}

/// `SparkListenerStageCompleted`.
pub fn completed(
    app: &mut App,
    tables: &mut Tables,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), Fail> {
    let mut stage_info = Info::default();
    line.rest_of_line(|line, key| {
        match key {
            b"Stage Info" => stage_info = info(line)?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let id = stage_info.stage_id.ok_or(Bad("the stage has no id"))?;
    app.saw(stage_info.submit);
    app.saw(stage_info.complete);
    app.stages.open.remove(&(id, stage_info.attempt as i32));
    let stage = app.stages.stages.entry(id).or_default();
    stage.submitted = true;
    stage.planned = None;
    let status = if stage_info.failure.is_some() {
        "failed"
    } else {
        "succeeded"
    };
    write_stage(app.index, stage, &stage_info, status, tables)?;
    Ok(())
}

/// Writes what is still open at the end of the log.
pub fn finish(app: &mut App, tables: &mut Tables) -> Result<()> {
    let mut open: Vec<_> = app.stages.open.drain().collect();
    open.sort_unstable_by_key(|(key, _)| *key);
    for ((id, _), raw) in open {
        let stage = app.stages.stages.entry(id).or_default();
        write_raw(app.index, id, stage, &raw, "running", tables)?;
    }
    let mut ids: Vec<_> = app.stages.stages.keys().copied().collect();
    ids.sort_unstable();
    for id in ids {
        forget(app, id, tables)?;
    }
    let mut jobs: Vec<_> = app.jobs.drain().collect();
    jobs.sort_unstable_by_key(|(id, _)| *id);
    for (id, job) in jobs {
        write_job(app.index, id, &job, "running", None, None, tables)?;
    }
    Ok(())
}

/// Drops a stage. One that was never submitted was skipped, or is still to come if its job runs.
fn forget(app: &mut App, id: i64, tables: &mut Tables) -> Result<()> {
    let Some(stage) = app.stages.stages.remove(&id) else {
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
    write_raw(
        app.index,
        id,
        &stage,
        stage.planned.as_deref().unwrap_or_default(),
        status,
        tables,
    )
}

fn write_raw(
    app_index: i32,
    id: i64,
    stage: &Stage,
    raw: &[u8],
    status: &str,
    tables: &mut Tables,
) -> Result<()> {
    let line = padded(raw);
    // Of what a job's start says about a stage only the shape was checked: the id may be all there is.
    let info = info(&mut Cursor::new(&line, raw.len())).unwrap_or_default();
    write_stage(
        app_index,
        stage,
        &Info {
            stage_id: Some(id),
            ..info
        },
        status,
        tables,
    )
}

fn write_stage(
    app_index: i32,
    stage: &Stage,
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
    rows.job_id.append_option(stage.job_id);
    rows.sql_id.append_option(stage.sql_id);
    rows.iteration.append_option(stage.iteration);
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

fn write_job(
    app_index: i32,
    job_id: i64,
    job: &Job,
    status: &str,
    end: Option<i64>,
    error: Option<&str>,
    tables: &mut Tables,
) -> Result<()> {
    let rows = &mut tables.jobs.rows;
    rows.app_index.append_value(app_index);
    rows.job_id.append_value(job_id);
    rows.submit_wall_ns.append_option(time_ns(job.submit));
    rows.end_wall_ns.append_option(time_ns(end));
    rows.status.append_value(status);
    rows.error.append_option(error);
    rows.stage_ids
        .append_value(job.stage_ids.iter().copied().map(Some));
    rows.sql_id.append_option(job.properties.sql_id);
    rows.job_group
        .append_option(job.properties.job_group.as_deref());
    rows.description
        .append_option(job.properties.description.as_deref());
    rows.iteration.append_option(job.properties.iteration);
    rows.warmup.append_option(job.properties.warmup);
    tables.jobs.row_done()
}
