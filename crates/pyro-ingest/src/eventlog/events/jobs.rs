//! Events about jobs.

use pyro_model::Result;

use super::event_error::EventError;
use crate::eventlog::json::{Cursor, Malformed};
use crate::eventlog::properties::properties;
use crate::eventlog::stage_info::{brief, integers};
use crate::eventlog::state::{App, Job};
use crate::eventlog::tables::{Tables, time_ns};

/// `SparkListenerJobStart`.
pub fn job_start(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), EventError> {
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
                planned.push((id.ok_or(Malformed("a stage has no id"))?, line.raw()?));
                Ok(())
            })?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let job_id = job_id.ok_or(Malformed("the job has no id"))?;
    if app.ends.jobs.has(job_id, 0) || app.ends.one_application() && app.jobs.contains_key(&job_id)
    {
        app.ends.again("SparkListenerJobStart");
        return Ok(());
    }
    app.saw(job.submit);
    app.stages.job_started(job_id, &job, planned);
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
) -> std::result::Result<(), EventError> {
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
    let job_id = job_id.ok_or(Malformed("the job has no id"))?;
    if !app.ends.jobs.first(job_id, 0) {
        app.ends.again("SparkListenerJobEnd");
        return Ok(());
    }
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
        app.sql
            .write_some_if_many(app.index, &app.symbols, tables)?;
    }
    Ok(app.stages.job_ended(job, app.index, tables)?)
}

/// Writes the jobs that have not ended.
///
/// # Errors
/// If a row cannot be written.
pub fn finish(app: &mut App, tables: &mut Tables) -> Result<()> {
    let mut jobs: Vec<_> = app.jobs.drain().collect();
    jobs.sort_unstable_by_key(|(id, _)| *id);
    for (id, job) in jobs {
        write_job(app.index, id, &job, "running", None, None, tables)?;
    }
    Ok(())
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
