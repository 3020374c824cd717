//! A row of table `thread_counters`.

use crate::parse::counters::IoBytes;
use crate::parse::process::SchedStat;

/// What is not read each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// State letter.
    pub state: &'static str,
    /// User time (ns).
    pub user_ns: i64,
    /// System time (ns).
    pub system_ns: i64,
    /// Minor faults.
    pub minor_faults_count: i64,
    /// Major faults.
    pub major_faults_count: i64,
    /// `None` where only `/proc` was read.
    pub switches: Option<Switches>,
    /// What it read and wrote.
    pub io: IoBytes,
    /// CPU it last ran on.
    pub cpu: i32,
}

/// Context switches of a thread since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// It waited for something.
    pub voluntary_count: i64,
    /// It was taken off its CPU.
    pub involuntary_count: i64,
}

/// The row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRow<'a> {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Time of the reading.
    pub t_mono_ns: i64,
    /// Name.
    pub comm: &'a str,
    /// Scheduler's counters.
    pub counters: SchedStat,
    /// `None` where only `schedstat` was read.
    pub detail: Option<Detail>,
    /// First sight.
    pub first: bool,
    /// The thread is gone.
    pub last: bool,
}
