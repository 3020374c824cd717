//! Counters of the threads of one process.

use std::collections::BTreeMap;

use crate::parse::process::{SchedStat, schedstat, stat};
use crate::parse::ticks_ns;
use crate::sys::{Buffer, Descriptors, ProcFile};

/// What only `stat` knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// State letter.
    pub state: String,
    /// User time (ns, in steps of a clock tick).
    pub user_ns: i64,
    /// System time (ns, in steps of a clock tick).
    pub system_ns: i64,
    /// Minor faults.
    pub minor_faults_count: i64,
    /// Major faults.
    pub major_faults_count: i64,
    /// `None` where only `/proc` was read.
    pub switches: Option<Switches>,
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

/// A row of table `thread_counters`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'a> {
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

#[derive(Debug)]
struct Thread {
    schedstat: ProcFile,
    stat: ProcFile,
    comm: String,
    start_ticks: i64,
    counters: SchedStat,
    read_ns: i64,
    written_ns: i64,
    /// Readings in a row that found nothing new.
    quiet_count: u32,
}

/// A thread that did not run in so many readings is read in one pass of [`QUIET_EVERY`] only: its
/// rows stay right, but the moment when it runs again is known less finely.
const QUIET_AFTER: u32 = 20;
const QUIET_EVERY: u64 = 4;

/// The threads of a process that were seen and are not known to be gone.
#[derive(Debug)]
pub struct Threads {
    pid: i32,
    ticks_per_second: i64,
    descriptors: Descriptors,
    threads: BTreeMap<i32, Thread>,
    /// Threads seen so far.
    pub seen: u64,
    /// Readings of a thread done so far.
    pub readings: u64,
    passes: u64,
}

impl Threads {
    /// No thread yet.
    pub fn new(pid: i32, ticks_per_second: i64, descriptors: &Descriptors) -> Self {
        let descriptors = descriptors.clone();
        Self {
            pid,
            ticks_per_second,
            descriptors,
            threads: BTreeMap::new(),
            seen: 0,
            readings: 0,
            passes: 0,
        }
    }

    /// Threads that are not known to be gone.
    pub fn count(&self) -> i64 {
        self.threads.len() as i64
    }

    /// Takes a thread in, if it is new: reads both its files, writes its first row.
    pub fn add(
        &mut self,
        tid: i32,
        clock: impl Fn() -> i64,
        buffer: &mut Buffer,
        emit: &mut dyn FnMut(Row),
    ) {
        if self.threads.contains_key(&tid) {
            return;
        }
        let base = format!("/proc/{}/task/{tid}", self.pid);
        let mut thread = Thread {
            schedstat: ProcFile::new(&format!("{base}/schedstat"), &self.descriptors),
            stat: ProcFile::new(&format!("{base}/stat"), &self.descriptors),
            comm: String::new(),
            start_ticks: 0,
            counters: SchedStat::default(),
            read_ns: 0,
            written_ns: 0,
            quiet_count: 0,
        };
        let Some(counters) = thread.read_schedstat(buffer) else {
            return;
        };
        thread.counters = counters;
        thread.read_ns = clock();
        let Some(detail) = thread.read_detail(buffer, self.ticks_per_second) else {
            return;
        };
        emit(thread.row(tid, Some(detail), true, false));
        thread.written_ns = thread.read_ns;
        self.threads.insert(tid, thread);
        self.seen += 1;
    }

    /// Reads every thread (`all`), or those whose turn it is; rows for those that ran, and last rows
    /// for those that are gone.
    pub fn pass(
        &mut self,
        all: bool,
        clock: impl Fn() -> i64,
        buffer: &mut Buffer,
        emit: &mut dyn FnMut(Row),
    ) {
        self.passes += 1;
        self.threads.retain(|&tid, thread| {
            let its_turn = (self.passes + tid as u64).is_multiple_of(QUIET_EVERY);
            if thread.quiet_count >= QUIET_AFTER && !its_turn && !all {
                return true;
            }
            self.readings += 1;
            let read = thread.read_schedstat(buffer);
            let now = clock();
            let Some(counters) = read else {
                thread.read_ns = now;
                emit(thread.row(tid, None, false, true));
                return false;
            };
            if counters == thread.counters {
                thread.read_ns = now;
                thread.quiet_count += 1;
                return true;
            }
            thread.quiet_count = 0;
            if thread.read_ns != thread.written_ns {
                emit(thread.row(tid, None, false, false));
            }
            let start_ticks = thread.start_ticks;
            let detail = thread.read_detail(buffer, self.ticks_per_second);
            // A new thread under an old number, seen only where files are not kept open.
            let reborn = thread.start_ticks != start_ticks;
            if reborn {
                emit(Row {
                    t_mono_ns: now,
                    last: true,
                    ..thread.row(tid, None, false, true)
                });
            }
            (thread.counters, thread.read_ns) = (counters, now);
            thread.written_ns = thread.read_ns;
            emit(thread.row(tid, detail, reborn, false));
            true
        });
    }

    /// Notes that no thread ran since the last pass, as the CPU clock of the process stood still.
    pub fn none_ran(&mut self, now_ns: i64) {
        self.passes += 1;
        for thread in self.threads.values_mut() {
            thread.read_ns = now_ns;
        }
    }

    /// Writes last rows: the process is gone.
    pub fn end(&mut self, now_ns: i64, emit: &mut dyn FnMut(Row)) {
        for (tid, mut thread) in std::mem::take(&mut self.threads) {
            thread.read_ns = now_ns;
            emit(thread.row(tid, None, false, true));
        }
    }
}

impl Thread {
    fn read_schedstat(&mut self, buffer: &mut Buffer) -> Option<SchedStat> {
        schedstat(self.schedstat.read(buffer).ok()?)
    }

    fn read_detail(&mut self, buffer: &mut Buffer, ticks_per_second: i64) -> Option<Detail> {
        let parsed = stat(self.stat.read(buffer).ok()?)?;
        if self.comm != parsed.comm {
            self.comm = parsed.comm.to_owned();
        }
        self.start_ticks = parsed.start_ticks;
        Some(Detail {
            state: parsed.state.to_owned(),
            user_ns: ticks_ns(parsed.user_ticks, ticks_per_second),
            system_ns: ticks_ns(parsed.system_ticks, ticks_per_second),
            minor_faults_count: parsed.minor_faults_count,
            major_faults_count: parsed.major_faults_count,
            switches: None,
            cpu: i32::try_from(parsed.cpu).unwrap_or(-1),
        })
    }

    fn row(&self, tid: i32, detail: Option<Detail>, first: bool, last: bool) -> Row<'_> {
        Row {
            tid,
            t_mono_ns: self.read_ns,
            comm: &self.comm,
            counters: self.counters,
            detail,
            first,
            last,
        }
    }
}
