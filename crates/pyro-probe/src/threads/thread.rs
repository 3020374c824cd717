//! One thread: its counters as last read and written, and what it was last seen doing.

use crate::output::{Detail, Switches, ThreadRow};
use crate::parse::counters::{Comm, Counters};
use crate::parse::process::SchedStat;
use crate::rows::Rows;
use crate::rows::states::{Coder, Place, Runnable, Seen, State};

use super::cpu_time::CpuTime;
use super::files::Files;

#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) pid: i32,
    pub(super) tid: i32,
    /// Last pass that saw it.
    pub(super) pass: u64,
    /// Its last row was written as it ended.
    pub(super) exited: bool,
    /// When a pass first missed it, or 0: its end may be reported a moment later.
    missed_ns: i64,
    pub(super) read_ns: i64,
    pub(super) written_ns: i64,
    pub(super) coder: Coder,
    pub(super) comm: Comm,
    /// Start, in the source's unit: another one under the same number is another thread.
    pub(super) start: i64,
    pub(super) counters: SchedStat,
    cpu_time: CpuTime,
    /// Where it last waited.
    pub(super) place: Place,
    /// Since when it has slept, and until when that is known; 0: it ran since.
    asleep_ns: (i64, i64),
    /// Its wait for a CPU as the kernel counted it, and the part of it that was sleep.
    counted_delay_ns: i64,
    pub(super) mistaken_ns: i64,
    /// What is needed only where files are read.
    pub(super) files: Option<Box<Files>>,
    /// Readings in a row that found nothing new.
    pub(super) quiet_count: u32,
    /// `timeslices_count` when it waited there.
    pub(super) place_of: Option<i64>,
    pub(super) runnable: Runnable,
}

impl Thread {
    pub(super) fn new(pid: i32, tid: i32) -> Self {
        Self {
            pid,
            tid,
            ..Self::default()
        }
    }

    /// Writes a row of new counters, and before it one of the reading before, so that straight lines
    /// between rows are right.
    pub(super) fn changed(
        &mut self,
        now: i64,
        (counters, detail, first): (SchedStat, Option<Detail>, bool),
        rows: &mut Rows,
    ) {
        if !first && self.read_ns != self.written_ns {
            rows.counters(self.row(None, false, false));
        }
        (self.counters, self.read_ns, self.written_ns) = (counters, now, now);
        rows.counters(self.row(detail, first, false));
    }

    /// Notes what it was seen doing at the last reading.
    pub(super) fn saw(
        &mut self,
        state: State,
        io_wait: Option<bool>,
        switches_count: i64,
        rows: &mut Rows,
    ) {
        let place = match state {
            State::OnCpu | State::Other => Place::default(),
            _ => self.place,
        };
        let seen = Seen {
            state,
            io_wait,
            switches_count,
            place,
            context: rows.context(self.pid, self.tid),
            annotation: rows.annotation(self.pid, self.tid),
        };
        if let Some(run) = self.coder.take(self.read_ns, seen) {
            rows.state(self.pid, self.tid, run);
        }
    }

    /// Notes that a pass did not find it; false once it is known to be gone, with its last rows written.
    pub(super) fn missed(&mut self, now: i64, rows: &mut Rows) -> bool {
        if self.exited || self.missed_ns != 0 {
            self.gone(now, rows);
            return false;
        }
        self.missed_ns = now;
        true
    }

    /// Notes that a pass found it after all.
    pub(super) fn found(&mut self) {
        self.missed_ns = 0;
    }

    /// Notes that it has not run since it was last read. One that waits for a CPU is left alone: how
    /// long it had none is known when it runs.
    pub(super) fn slept_on(&mut self, now: i64, rows: &mut Rows) {
        self.read_ns = now;
        let last = self.coder.last();
        if self.exited || last.is_none_or(|seen| seen.state.is_runnable()) {
            return;
        }
        let context = rows.context(self.pid, self.tid);
        let annotation = rows.annotation(self.pid, self.tid);
        if let Some(run) = self.coder.still(now, context, annotation) {
            rows.state(self.pid, self.tid, run);
        }
    }

    /// Notes that it slept from its last reading until now, as the kernel says.
    pub(super) fn asleep_until(&mut self, now: i64) {
        if self.asleep_ns.0 == 0 {
            self.asleep_ns.0 = self.read_ns;
        }
        self.asleep_ns.1 = now;
    }

    /// Counters without sleep among the waiting for a CPU. Kernels that take sleepers off their run
    /// queues late (Linux 6.12 and later) may count all of a sleep so.
    pub(super) fn counters_of(&mut self, counted: &Counters) -> SchedStat {
        let mut counters = sched_stat(counted);
        let growth = counters.run_delay_ns - self.counted_delay_ns;
        if growth > 0 {
            if self.asleep_ns.0 != 0 {
                let awake_ns = counted.t_mono_ns - self.asleep_ns.1;
                self.mistaken_ns += (growth - awake_ns.max(0)).max(0);
            }
            self.counted_delay_ns = counters.run_delay_ns;
        }
        if counters.timeslices_count != self.counters.timeslices_count {
            self.asleep_ns = (0, 0);
        }
        counters.run_delay_ns -= self.mistaken_ns;
        counters
    }

    /// Writes its last rows, unless that was done as it ended.
    pub(super) fn gone(&mut self, now: i64, rows: &mut Rows) {
        if self.exited {
            return;
        }
        self.read_ns = if self.missed_ns == 0 {
            now
        } else {
            self.missed_ns
        };
        rows.counters(self.row(None, false, true));
        self.end_state(rows);
    }

    /// Writes its last row from its last counters; true if it is its first row too.
    pub(super) fn exit(&mut self, last: &Counters, rows: &mut Rows) -> bool {
        if self.exited {
            return false;
        }
        self.exited = true;
        let first = self.written_ns == 0;
        self.comm = last.comm;
        if !first && self.read_ns != self.written_ns {
            rows.counters(self.row(None, false, false));
        }
        self.read_ns = self.read_ns.max(last.t_mono_ns);
        // The kernel makes this record while the thread still runs: a pass may have read more of it since.
        let detail = (last.run_ns >= self.counters.run_ns).then(|| {
            self.counters = self.counters_of(last);
            self.detail_of(last, State::Other)
        });
        rows.counters(self.row(detail, first, true));
        self.end_state(rows);
        first
    }

    /// Writes the state held.
    pub(super) fn end_state(&mut self, rows: &mut Rows) {
        if let Some(run) = self.coder.end(self.read_ns) {
            rows.state(self.pid, self.tid, run);
        }
    }

    pub(super) fn detail_of(&mut self, counters: &Counters, state: State) -> Detail {
        let (user_ns, system_ns) =
            self.cpu_time
                .split(counters.run_ns, counters.utime_ns, counters.stime_ns);
        Detail {
            state: state.letter(),
            user_ns,
            system_ns,
            minor_faults_count: counters.minor_faults_count,
            major_faults_count: counters.major_faults_count,
            switches: Some(Switches {
                voluntary_count: counters.voluntary_count,
                involuntary_count: counters.involuntary_count,
            }),
            io: counters.io,
            cpu: counters.cpu,
        }
    }

    fn row(&self, detail: Option<Detail>, first: bool, last: bool) -> ThreadRow<'_> {
        ThreadRow {
            pid: self.pid,
            tid: self.tid,
            t_mono_ns: self.read_ns,
            comm: self.comm.as_str(),
            counters: self.counters,
            detail,
            first,
            last,
        }
    }
}

fn sched_stat(counters: &Counters) -> SchedStat {
    SchedStat {
        run_ns: counters.run_ns,
        run_delay_ns: counters.run_delay_ns,
        timeslices_count: counters.timeslices_count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Outputs;
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::Int64Type;
    use arrow_ipc::reader::StreamReader;
    use proptest::prelude::*;

    /// What the rows of a thread say of one column, in the order in which they were written.
    fn column(name: &str, write: impl FnOnce(&mut Rows)) -> Vec<i64> {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = Rows::new(Outputs::create(folder.path(), "h", 1).unwrap());
        write(&mut rows);
        rows.outputs.finish();
        let file = std::fs::File::open(folder.path().join("probe-h-threads.arrows")).unwrap();
        let batches = StreamReader::try_new(file, None)
            .unwrap()
            .map(Result::unwrap);
        batches
            .flat_map(|batch| {
                let values = batch.column_by_name(name).unwrap();
                values
                    .as_primitive::<Int64Type>()
                    .iter()
                    .flatten()
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    fn at(t_mono_ns: i64, run_ns: i64) -> Counters {
        Counters {
            t_mono_ns,
            run_ns,
            utime_ns: run_ns,
            ..Counters::default()
        }
    }

    proptest! {
        /// The record of an end is made while the thread still runs: a pass may have read more since.
        #[test]
        fn no_row_of_an_end_is_below_one_before(read in 1..50_i64, ended in 1..50_i64) {
            for name in ["run_ns", "user_ns", "t_mono_ns"] {
                let found = column(name, |rows| {
                    let mut thread = Thread::new(1, 2);
                    let seen = at(100, read);
                    let detail = thread.detail_of(&seen, State::OnCpu);
                    let scheduled = thread.counters_of(&seen);
                    thread.changed(100, (scheduled, Some(detail), true), rows);
                    assert!(!thread.exit(&at(110, ended), rows), "it had a row");
                });
                prop_assert!(found.is_sorted(), "{name}: {found:?}");
                if name == "run_ns" {
                    prop_assert_eq!(found, vec![read, read.max(ended)]);
                }
            }
        }
    }

    fn counters(t_mono_ns: i64, run_delay_ns: i64, timeslices_count: i64) -> Counters {
        Counters {
            t_mono_ns,
            run_delay_ns,
            timeslices_count,
            ..Counters::default()
        }
    }

    fn read(thread: &mut Thread, counters: &Counters) -> i64 {
        let corrected = thread.counters_of(counters);
        (thread.counters, thread.read_ns) = (corrected, counters.t_mono_ns);
        corrected.run_delay_ns
    }

    #[test]
    fn a_sleep_is_no_wait_for_a_cpu_whatever_the_kernel_counts() {
        let mut thread = Thread::new(1, 2);
        assert_eq!(read(&mut thread, &counters(100, 30, 1)), 30);
        thread.asleep_until(200);
        thread.asleep_until(900);
        // Ten since it was last known to sleep: the rest of 800 was sleep.
        assert_eq!(read(&mut thread, &counters(910, 830, 2)), 40);
        assert_eq!(thread.mistaken_ns, 790);
        // It ran since: what it waits now counts.
        assert_eq!(read(&mut thread, &counters(2000, 1330, 3)), 540);
        thread.asleep_until(2100);
        // A true wait, after the last pass that saw it asleep.
        assert_eq!(read(&mut thread, &counters(2190, 1400, 4)), 610);
        assert_eq!(thread.mistaken_ns, 790);
    }
}
