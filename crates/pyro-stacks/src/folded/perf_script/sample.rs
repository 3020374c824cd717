//! What is read of a sample.

/// One sample.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    /// The kernel's name of the thread.
    pub comm: Vec<u8>,
    /// Process.
    pub pid: Option<i64>,
    /// Thread.
    pub tid: Option<i64>,
    /// Time on perf's clock.
    pub t_ns: Option<i64>,
    /// What the sample stands for, in the event's unit.
    pub period: Option<i64>,
    /// Number of the event.
    pub event: u32,
    /// Symbols, leaf first.
    pub stack: Vec<u32>,
}
