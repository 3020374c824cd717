//! What is known of an application while its log is read, and which event goes where.

use std::collections::BTreeMap;

use pyro_model::{Error, Result};
use rustc_hash::FxHashMap;

use super::environment::{self, Executor, Facts};
use super::json::{Bad, Cursor};
use super::sql::{self, Executions};
use super::stage::{self, Job, Stages};
use super::symbols::Symbols;
use super::tables::Tables;
use super::task::{self, Running, Update};

/// Why an event was not taken.
#[derive(Debug)]
pub enum Fail {
    /// The line is damaged: counted, and reading goes on.
    Line(Bad),
    /// The tables cannot be written.
    Tables(Error),
}

impl From<Bad> for Fail {
    fn from(bad: Bad) -> Self {
        Self::Line(bad)
    }
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        Self::Tables(error)
    }
}

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

/// An application, as far as its log has been read. Its size is that of what is open: running
/// tasks, jobs and their stages, SQL executions; what is complete is in the tables.
#[derive(Default)]
pub struct App {
    /// Number of the application.
    pub index: i32,
    /// Events read.
    pub events: u64,
    /// Earliest time in any event, ms.
    pub first: Option<i64>,
    /// Latest time in any event, ms.
    pub last: Option<i64>,
    /// The application itself.
    pub facts: Facts,
    /// Executors by id.
    pub executors: BTreeMap<String, Executor>,
    /// Jobs that have not ended.
    pub jobs: FxHashMap<i64, Job>,
    /// Stages.
    pub stages: Stages,
    /// Task attempts that have not ended.
    pub running: FxHashMap<i64, Running>,
    /// SQL executions.
    pub sql: Executions,
    /// Strings that come again.
    pub symbols: Symbols,
    /// Accumulator updates of the task being read.
    pub updates: Vec<Update>,
}

impl App {
    /// Application number `index`, of which nothing is known.
    pub fn new(index: i32) -> Self {
        Self {
            index,
            ..Self::default()
        }
    }

    /// Notes a time found in an event; 0 and less mean none.
    #[inline(always)]
    pub fn saw(&mut self, ms: Option<i64>) {
        if let Some(ms) = ms.filter(|&ms| ms > 0) {
            self.first = Some(self.first.map_or(ms, |first| first.min(ms)));
            self.last = Some(self.last.map_or(ms, |last| last.max(ms)));
        }
    }

    /// Adds [`updates`](Self::updates) of a successful task to its SQL execution.
    pub fn task_updates(&mut self, stage_id: i64, stage_attempt: i32, task: i64) {
        if let Some(sql_id) = self.stages.sql_id(stage_id) {
            self.sql
                .task_updates(sql_id, (stage_id, stage_attempt), task, &self.updates);
        }
    }

    /// Takes an event called `name`; `line` stands behind the name's pair.
    #[inline]
    pub fn event(
        &mut self,
        tables: &mut Tables,
        name: &[u8],
        line: &mut Cursor<'_>,
    ) -> std::result::Result<Taken, Fail> {
        let class = memchr::memrchr(b'.', name).map_or(name, |dot| &name[dot + 1..]);
        match class {
            b"SparkListenerTaskEnd" => task::end(self, tables, line)?,
            b"SparkListenerTaskStart" => task::start(self, line)?,
            b"SparkListenerSQLAdaptiveExecutionUpdate" | b"SparkListenerSQLExecutionStart" => {
                sql::plan(self, tables, line)?;
            }
            b"SparkListenerSQLAdaptiveSQLMetricUpdates" => sql::metrics(self, line)?,
            b"SparkListenerDriverAccumUpdates" => sql::driver_updates(self, line)?,
            b"SparkListenerSQLExecutionEnd" => sql::end(self, tables, line)?,
            b"SparkListenerJobStart" => stage::job_start(self, line)?,
            b"SparkListenerJobEnd" => stage::job_end(self, tables, line)?,
            b"SparkListenerStageSubmitted" => stage::submitted(self, line)?,
            b"SparkListenerStageCompleted" => stage::completed(self, tables, line)?,
            b"SparkListenerStageExecutorMetrics" => {
                environment::stage_executor_metrics(self, line)?
            }
            b"SparkListenerExecutorAdded" => environment::executor_added(self, line)?,
            b"SparkListenerExecutorRemoved" => environment::executor_removed(self, line)?,
            b"SparkListenerBlockManagerAdded" => environment::block_manager_added(self, line)?,
            b"SparkListenerEnvironmentUpdate" => environment::environment(self, line)?,
            b"SparkListenerLogStart" => environment::log_start(self, line)?,
            b"SparkListenerApplicationStart" => environment::application_start(self, line)?,
            b"SparkListenerApplicationEnd" => environment::application_end(self, line)?,
            _ => {
                line.rest_of_line(|line, _| line.skip())?;
                self.events += 1;
                return Ok(if unneeded(name, class) {
                    Taken::Unneeded
                } else {
                    Taken::Unknown
                });
            }
        }
        self.events += 1;
        Ok(Taken::Used)
    }

    /// Writes everything that is still open.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn finish(&mut self, files: &[String], bytes: u64, tables: &mut Tables) -> Result<()> {
        let mut running: Vec<_> = self.running.drain().collect();
        running.sort_unstable_by_key(|(id, _)| *id);
        for (id, running) in running {
            task::never_ended(self.index, &self.symbols, id, running, tables)?;
        }
        sql::finish(self, tables)?;
        stage::finish(self, tables)?;
        environment::finish(self, files, bytes, tables)
    }
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
