//! Rows of table `delays`.

use std::collections::HashMap;

use crate::parse::taskstats::{Delay, KINDS, Stats};

/// Threads of a process that may be delayed at one time. A thread that was waiting when delay
/// accounting was switched on has no begin of its wait: the kernel then counts from the boot on, and
/// a growth that this many threads could not have waited for is left out.
const DELAYED_AT_ONCE: i64 = 1024;

/// A row of table `delays`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Time of the reading.
    pub t_mono_ns: i64,
    /// Process.
    pub pid: i64,
    /// Thread; `None`: all of the process.
    pub tid: Option<i64>,
    /// Kind of delay.
    pub kind: &'static str,
    /// Delays since its start, and their time.
    pub delay: Delay,
}

/// The last reading of a kind of delay.
#[derive(Debug)]
pub struct Last {
    /// Delays, and their time.
    pub delay: Delay,
    /// Time that the kernel counted and that cannot have been: see [`DELAYED_AT_ONCE`].
    pub false_ns: i64,
    /// When it was read.
    pub seen_ns: i64,
    /// When the last row was written.
    pub written_ns: i64,
}

/// Rows of a process: of kinds that grew since the reading before, and of that.
pub fn process_rows(
    known: &mut HashMap<(i64, usize), Last>,
    pid: i64,
    t_mono_ns: i64,
    stats: &Stats,
    emit: &mut dyn FnMut(Row),
) {
    for (kind, counted) in stats.delays.iter().enumerate() {
        let Some(counted) = *counted else { continue };
        let row = |t_mono_ns, delay| Row {
            t_mono_ns,
            pid,
            tid: None,
            kind: KINDS[kind],
            delay,
        };
        let first = !known.contains_key(&(pid, kind));
        let last = known.entry((pid, kind)).or_insert(Last {
            delay: Delay::default(),
            false_ns: 0,
            seen_ns: 0,
            written_ns: 0,
        });
        let grown = counted.total_ns - last.false_ns - last.delay.total_ns;
        let passed = t_mono_ns.saturating_sub(last.seen_ns);
        // At first sight its age is not known: no wait is as long as since the boot.
        let most = if first {
            t_mono_ns / 2
        } else {
            passed.saturating_mul(DELAYED_AT_ONCE)
        };
        if grown > most {
            last.false_ns += grown;
        }
        let delay = Delay {
            count: counted.count,
            total_ns: counted.total_ns - last.false_ns,
        };
        if first || last.delay != delay {
            if !first && last.seen_ns != last.written_ns {
                emit(row(last.seen_ns, last.delay));
            }
            emit(row(t_mono_ns, delay));
            (last.delay, last.written_ns) = (delay, t_mono_ns);
        }
        last.seen_ns = t_mono_ns;
    }
}
