//! Which event goes where.

mod application;
mod event_error;
mod executors;
mod jobs;
mod sql;
mod stages;
mod tasks;

use pyro_model::Result;

use super::json::Cursor;
use super::state::App;
use super::tables::Tables;
pub use event_error::EventError;

/// What became of an event that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It went into the tables.
    Used,
    /// Spark writes it, no table needs it.
    Unneeded,
    /// Not an event of Spark that this version knows.
    Unknown,
}

/// Takes an event called `name`; `line` stands behind the name's pair.
#[inline]
pub fn take(
    app: &mut App,
    tables: &mut Tables,
    name: &[u8],
    line: &mut Cursor<'_>,
) -> std::result::Result<Taken, EventError> {
    let class = memchr::memrchr(b'.', name).map_or(name, |dot| &name[dot + 1..]);
    match class {
        b"SparkListenerTaskEnd" => tasks::end(app, tables, line)?,
        b"SparkListenerTaskStart" => tasks::start(app, line)?,
        b"SparkListenerSQLAdaptiveExecutionUpdate" | b"SparkListenerSQLExecutionStart" => {
            sql::plan(app, tables, line)?;
        }
        b"SparkListenerSQLAdaptiveSQLMetricUpdates" => sql::metrics(app, line)?,
        b"SparkListenerDriverAccumUpdates" => sql::driver_updates(app, line)?,
        b"SparkListenerSQLExecutionEnd" => sql::end(app, tables, line)?,
        b"SparkListenerJobStart" => jobs::job_start(app, line)?,
        b"SparkListenerJobEnd" => jobs::job_end(app, tables, line)?,
        b"SparkListenerStageSubmitted" => stages::submitted(app, line)?,
        b"SparkListenerStageCompleted" => stages::completed(app, tables, line)?,
        b"SparkListenerStageExecutorMetrics" => executors::stage_executor_metrics(app, line)?,
        b"SparkListenerExecutorAdded" => executors::executor_added(app, line)?,
        b"SparkListenerExecutorRemoved" => executors::executor_removed(app, line)?,
        b"SparkListenerBlockManagerAdded" => executors::block_manager_added(app, line)?,
        b"SparkListenerEnvironmentUpdate" => application::environment(app, line)?,
        b"SparkListenerLogStart" => application::log_start(app, line)?,
        b"SparkListenerApplicationStart" => application::application_start(app, line)?,
        b"SparkListenerApplicationEnd" => application::application_end(app, line)?,
        _ => {
            line.rest_of_line(|line, _| line.skip())?;
            app.events += 1;
            return Ok(if unneeded(name, class) {
                Taken::Unneeded
            } else {
                Taken::Unknown
            });
        }
    }
    app.events += 1;
    Ok(Taken::Used)
}

/// Writes everything that is still open.
///
/// # Errors
/// If a table cannot be written.
pub fn finish(app: &mut App, files: &[String], bytes: u64, tables: &mut Tables) -> Result<()> {
    let mut running: Vec<_> = app.running.drain().collect();
    running.sort_unstable_by_key(|(id, _)| *id);
    for (id, running) in running {
        tasks::never_ended(app.index, &app.symbols, id, running, tables)?;
    }
    app.sql.finish(app.index, &app.symbols, tables)?;
    app.stages.finish(app.index, tables)?;
    jobs::finish(app, tables)?;
    executors::finish(app, tables)?;
    application::finish(app, files, bytes, tables)
}

/// Whether Spark writes such events and no table needs them.
fn unneeded(name: &[u8], class: &[u8]) -> bool {
    const CLASSES: [&[u8]; 22] = [
        b"SparkListenerBlockManagerRemoved",
        b"SparkListenerBlockUpdated",
        b"SparkListenerExecutorBlacklisted",
        b"SparkListenerExecutorBlacklistedForStage",
        b"SparkListenerExecutorExcluded",
        b"SparkListenerExecutorExcludedForStage",
        b"SparkListenerExecutorMetricsUpdate",
        b"SparkListenerExecutorUnblacklisted",
        b"SparkListenerExecutorUnexcluded",
        b"SparkListenerMiscellaneousProcessAdded",
        b"SparkListenerNodeBlacklisted",
        b"SparkListenerNodeBlacklistedForStage",
        b"SparkListenerNodeExcluded",
        b"SparkListenerNodeExcludedForStage",
        b"SparkListenerNodeUnblacklisted",
        b"SparkListenerNodeUnexcluded",
        b"SparkListenerResourceProfileAdded",
        b"SparkListenerSpeculativeTaskSubmitted",
        b"SparkListenerTaskGettingResult",
        b"SparkListenerUnpersistRDD",
        b"SparkListenerUnschedulableTaskSetAdded",
        b"SparkListenerUnschedulableTaskSetRemoved",
    ];
    const PACKAGES: [&[u8]; 5] = [
        b"org.apache.spark.sql.catalyst.catalog.",
        b"org.apache.spark.sql.streaming.",
        b"org.apache.spark.sql.connect.",
        b"org.apache.spark.sql.hive.thriftserver.",
        b"org.apache.spark.streaming.",
    ];
    CLASSES.contains(&class) || PACKAGES.iter().any(|package| name.starts_with(package))
}
