//! What is known of an application while its log is read.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::executions::Executions;
use super::facts::{Executor, Facts};
use super::running::Running;
use super::seen::Ends;
use super::stages::{Job, Stages};
use super::sums::Update;
use super::symbols::Symbols;

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
    /// Metrics of tasks that were left out as too large.
    pub beyond: u64,
    /// What has ended, and events that came again.
    pub ends: Ends,
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

    /// Adds [`updates`](Self::updates) of a successful task, of an index, to its SQL execution.
    pub fn task_updates(&mut self, stage: (i64, i32), task: i64, index: Option<i64>) {
        if let Some(sql_id) = self.stages.sql_id(stage.0) {
            // Of several applications in one log an index means several tasks.
            let index = index.filter(|_| self.ends.one_application());
            self.sql
                .task_updates(sql_id, stage, (task, index), &self.updates);
        }
    }
}
