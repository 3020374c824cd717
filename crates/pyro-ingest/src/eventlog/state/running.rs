//! Task attempts that have not ended.

use super::symbols::Symbol;

/// An attempt that started and has not ended.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    /// Stage.
    pub stage_id: i64,
    /// Stage attempt.
    pub stage_attempt: i32,
    /// Index in its stage.
    pub index: Option<i64>,
    /// Partition.
    pub partition: Option<i64>,
    /// Attempt.
    pub attempt: Option<i64>,
    /// Executor.
    pub executor_id: Option<Symbol>,
    /// Host.
    pub host: Option<Symbol>,
    /// Locality.
    pub locality: Option<Symbol>,
    /// Speculative.
    pub speculative: bool,
    /// Launch, ms.
    pub launch: Option<i64>,
}
