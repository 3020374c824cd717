//! What delayed each thread: waits for memory from reading to reading, other kinds in all at its end.

use std::collections::HashMap;
use std::ops::Range;

use super::rows::Row;
use crate::parse::taskstats::{Delay, KINDS, Stats};

/// Kinds of delay that are waits for memory: `swapin`, `freepages`, `thrashing` and `compact`.
pub const MEMORY: Range<usize> = 2..6;

/// Waits for memory of a thread, and when they were read.
type Read = (i64, [Delay; MEMORY.end - MEMORY.start]);

/// Threads that have waited for memory, as last read.
///
/// All threads of a process are read once its waits for memory have grown, and none before. So what a
/// thread's waits grew by lies after the last reading of its process, however long ago its own was.
#[derive(Debug, Default)]
pub struct Threads {
    last: HashMap<(i64, i64), Read>,
    looked_ns: HashMap<i64, i64>,
}

impl Threads {
    /// Notes that a process was read, and its threads too if they had waited.
    pub fn looked(&mut self, pid: i64, t_mono_ns: i64) {
        self.looked_ns.insert(pid, t_mono_ns);
    }

    /// Forgets processes that are gone.
    pub fn forget(&mut self, alive: impl Fn(i64) -> bool) {
        self.looked_ns.retain(|&pid, _| alive(pid));
        self.last.retain(|&(pid, _), _| alive(pid));
    }

    /// Rows of a thread that lives: of the waits for memory that grew, one from when on they did, and
    /// one of now. Waits that the kernel says were longer than the thread lived are left out.
    pub fn lives(
        &mut self,
        (pid, tid): (i64, i64),
        now: i64,
        stats: &Stats,
        emit: &mut dyn FnMut(Row),
    ) {
        let began = match stats.elapsed_ns {
            0 => 0,
            elapsed => now.saturating_sub(elapsed),
        };
        let looked = self.looked_ns.get(&pid).copied().unwrap_or(0);
        let known = self.last.get(&(pid, tid)).copied();
        // A smaller count is that of another thread under the same number.
        let same = |(_, waits): &Read| {
            MEMORY
                .zip(waits)
                .all(|(kind, wait)| stats.delays[kind].is_none_or(|now| now.count >= wait.count))
        };
        let (read_ns, before) = known.filter(same).unwrap_or((began, Read::default().1));
        let since = looked.max(read_ns);
        let mut after = before;
        for (kind, wait) in MEMORY.zip(&mut after) {
            let counted = stats.delays[kind].filter(|delay| is_true(stats, delay));
            let Some(counted) = counted.filter(|counted| counted.count > wait.count) else {
                continue;
            };
            for (t_mono_ns, delay) in [(since, *wait), (now, counted)] {
                emit(row((pid, tid), t_mono_ns, kind, delay));
            }
            *wait = counted;
        }
        if after != before || known.is_some() {
            self.last.insert((pid, tid), (now, after));
        }
    }

    /// Rows of a thread that ended: the same, and what else ever delayed it.
    pub fn ended(
        &mut self,
        thread: (i64, i64),
        now: i64,
        stats: &Stats,
        emit: &mut dyn FnMut(Row),
    ) {
        self.lives(thread, now, stats, emit);
        self.last.remove(&thread);
        for (kind, delay) in stats.delays.iter().enumerate() {
            let delay = delay.filter(|delay| is_true(stats, delay) && !MEMORY.contains(&kind));
            if let Some(delay) = delay {
                emit(row(thread, now, kind, delay));
            }
        }
    }
}

/// Whether it delayed the thread, and for no longer than it lived.
fn is_true(stats: &Stats, delay: &Delay) -> bool {
    delay.count > 0 && (stats.elapsed_ns == 0 || delay.total_ns <= stats.elapsed_ns)
}

fn row((pid, tid): (i64, i64), t_mono_ns: i64, kind: usize, delay: Delay) -> Row {
    Row {
        t_mono_ns,
        pid,
        tid: Some(tid),
        kind: KINDS[kind],
        delay,
    }
}
