//! Threads that ended, as the kernel reports them.

use super::rows::Row;
use super::threads::Threads;
use crate::parse::counters::Counters;
use crate::parse::taskstats::Stats;

/// What the kernel reports as a thread ends.
#[derive(Debug)]
pub enum ExitEvent {
    /// What had delayed it, or its process.
    Delay(Row),
    /// Its process, and its last counters.
    Ended(i64, Counters),
}

/// How many were taken.
#[derive(Debug, Default)]
pub struct Exits {
    /// Of followed processes and their children.
    pub taken_count: u64,
    /// Of processes that nobody knows: followed or not.
    pub unassigned_count: u64,
}

impl Exits {
    /// Takes a thread that ended. Where the kernel does not say of which process it was,
    /// `process_of` may know; a thread of a process that nobody knows is none of any.
    pub fn take(
        &mut self,
        now: i64,
        (stats, threads): (&Stats, &mut Threads),
        follows: impl Fn(i64) -> bool,
        process_of: impl Fn(i64) -> Option<i64>,
        emit: &mut dyn FnMut(ExitEvent),
    ) {
        let Some(pid) = stats.pid.or_else(|| process_of(stats.tid)) else {
            self.unassigned_count += 1;
            return;
        };
        if follows(pid) || follows(stats.parent_pid) {
            self.taken_count += 1;
            threads.ended((pid, stats.tid), now, stats, &mut |row| {
                emit(ExitEvent::Delay(row));
            });
            emit(ExitEvent::Ended(pid, stats.counters(now)));
        }
    }
}
