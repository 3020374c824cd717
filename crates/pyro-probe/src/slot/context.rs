//! What a thread works for.

/// What a thread works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// Sequence of the slot: another one is another task or execution.
    pub sequence: i64,
    /// Task.
    pub task_attempt_id: Option<i64>,
    /// Stage.
    pub stage_id: Option<i64>,
    /// Stage attempt.
    pub stage_attempt: Option<i32>,
    /// SQL execution.
    pub sql_id: Option<i64>,
}
