//! The threads of one process: which there are, and what is done with all of them.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use super::files::{Access, Files};
use super::thread::Thread;
use crate::parse::counters::Counters;
use crate::rows::Rows;
use crate::sys::Descriptors;

/// Where threads are read from.
#[derive(Debug)]
pub enum Source {
    /// The kernel returns records (T0, T1): the iterator, bound to the process.
    Records(Rc<OwnedFd>),
    /// `/proc`, where it may be read also where a thread waits (T2).
    Files,
    /// `/proc`, states alone (T3).
    StatesOnly,
}

/// The threads of a process that were seen and are not known to be gone.
#[derive(Debug)]
pub struct Threads {
    pub(super) pid: i32,
    pub(super) ticks_per_second: i64,
    pub(super) descriptors: Descriptors,
    pub(super) source: Source,
    pub(super) access: Access,
    pub(super) threads: BTreeMap<i32, Thread>,
    /// Threads seen so far.
    pub seen: u64,
    /// Readings of a thread done so far.
    pub readings: u64,
    /// Sleep that the kernel counted as waiting for a CPU, taken out.
    pub mistaken_ns: i64,
    pub(super) passes: u64,
    /// As long as none runs, all are as the last pass found them.
    pub(super) settled: bool,
}

impl Threads {
    /// No thread yet.
    pub fn new(pid: i32, ticks_per_second: i64, descriptors: &Descriptors, source: Source) -> Self {
        Self {
            pid,
            ticks_per_second,
            descriptors: descriptors.clone(),
            access: Access::new(!matches!(source, Source::StatesOnly)),
            source,
            threads: BTreeMap::new(),
            seen: 0,
            readings: 0,
            mistaken_ns: 0,
            passes: 0,
            settled: false,
        }
    }

    /// Threads that are not known to be gone.
    pub fn count(&self) -> i64 {
        self.threads.len() as i64
    }

    /// Numbers of those threads.
    pub fn numbers(&self) -> impl Iterator<Item = i32> {
        self.threads.keys().copied()
    }

    /// Whether new threads must be looked for in `/proc` and given to [`Self::add`].
    pub fn need_listing(&self) -> bool {
        !matches!(self.source, Source::Records(_))
    }

    /// Whether no thread needs a reading as long as none runs.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Notes that no thread ran since the last pass, as the CPU clock of the process did not advance.
    pub fn none_ran(&mut self, now_ns: i64, rows: &mut Rows) {
        self.passes += 1;
        for thread in self.threads.values_mut() {
            thread.slept_on(now_ns, rows);
        }
    }

    /// Writes the last row of a thread that ended: its counters then are its last ones. A thread that
    /// lived between two passes has this row alone. Call it before the next pass.
    pub fn exited(&mut self, last: &Counters, rows: &mut Rows) {
        let (pid, tid) = (self.pid, last.tid);
        let thread = self.threads.entry(tid);
        let thread = thread.or_insert_with(|| Thread::new(pid, tid));
        let mistaken = thread.mistaken_ns;
        self.seen += u64::from(thread.exit(last, rows));
        self.mistaken_ns += thread.mistaken_ns - mistaken;
        self.listed_yet(last);
    }

    /// Takes note of a thread whose only row was written before its process was followed: a pass that
    /// sees it yet writes none.
    pub fn had_exited(&mut self, last: &Counters) {
        let (pid, tid) = (self.pid, last.tid);
        let thread = self.threads.entry(tid);
        let thread = thread.or_insert_with(|| Thread::new(pid, tid));
        (thread.exited, thread.read_ns) = (true, last.t_mono_ns);
        self.listed_yet(last);
    }

    /// Keeps a thread that ended until a pass does not see it: it may be listed for a moment yet.
    fn listed_yet(&mut self, last: &Counters) {
        let (pid, tid) = (self.pid, last.tid);
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        if matches!(self.source, Source::Records(_)) {
            thread.start = last.start_ns;
        } else {
            let files = || Box::new(Files::new(pid, tid, &self.descriptors));
            thread.files.get_or_insert_with(files);
        }
        thread.pass = self.passes.max(1);
    }

    /// Writes the states held: no pass follows.
    pub fn end_states(&mut self, rows: &mut Rows) {
        for thread in self.threads.values_mut() {
            thread.end_state(rows);
        }
    }

    /// Writes last rows: the process is gone.
    pub fn end(&mut self, now_ns: i64, rows: &mut Rows) {
        for mut thread in std::mem::take(&mut self.threads).into_values() {
            thread.gone(now_ns, rows);
        }
    }
}
