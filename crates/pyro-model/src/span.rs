//! Task spans on the monotonic clock.

/// One task as its executor saw it, from `onTaskStart` to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskSpan {
    /// Host of the executor.
    pub host: String,
    /// Process id of the executor.
    pub pid: i64,
    /// OS thread id of the task thread.
    pub tid: i64,
    /// Executor id.
    pub executor_id: Option<String>,
    /// Start, CLOCK_MONOTONIC.
    pub start_mono_ns: i64,
    /// End, CLOCK_MONOTONIC; `None` if it was never seen.
    pub end_mono_ns: Option<i64>,
    /// Stage.
    pub stage_id: i64,
    /// Stage attempt.
    pub stage_attempt: i32,
    /// Spark's TID.
    pub task_attempt_id: i64,
    /// Partition.
    pub partition: i64,
    /// Job, from the event log.
    pub job_id: Option<i64>,
    /// SQL execution.
    pub sql_id: Option<i64>,
    /// Iteration of the workload.
    pub iteration: Option<i32>,
}

impl TaskSpan {
    /// Whether the span covers `mono_ns`; a span without an end covers everything after its start.
    pub fn covers(&self, mono_ns: i64) -> bool {
        self.start_mono_ns <= mono_ns && self.end_mono_ns.is_none_or(|end| mono_ns <= end)
    }
}
