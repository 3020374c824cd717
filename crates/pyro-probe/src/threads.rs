//! The threads of one process: their counters, and what each pass saw them doing.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use crate::bpf::ThreadIterator;
use crate::parse::process::SchedStat;
use crate::parse::thread_record::Record;
use crate::rows::Rows;
use crate::states::{Coder, Place, Runnable, Seen, State};
use crate::sys::{Buffer, Descriptors};

mod cpu_time;
mod files;

use cpu_time::CpuTime;
use files::{Access, Files};

/// What only `stat` knows.
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

/// Where threads are read from.
#[derive(Debug)]
pub enum Source {
    /// The kernel hands out records (T0, T1): the iterator, bound to the process.
    Records(Rc<OwnedFd>),
    /// `/proc`, where it may be read also where a thread waits (T2).
    Files,
    /// `/proc`, states alone (T3).
    StatesOnly,
}

#[derive(Debug, Default)]
struct Thread {
    files: Option<Files>,
    comm: String,
    /// Start, in the source's unit: another one under the same number is another thread.
    start: i64,
    counters: SchedStat,
    cpu_time: CpuTime,
    read_ns: i64,
    written_ns: i64,
    /// Readings in a row that found nothing new.
    quiet_count: u32,
    /// Where it last waited, and its `timeslices_count` then.
    place: Place,
    place_of: Option<i64>,
    runnable: Runnable,
    coder: Coder,
    /// Last pass that saw it.
    pass: u64,
    /// Its last row was written as it ended.
    exited: bool,
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
    source: Source,
    access: Access,
    threads: BTreeMap<i32, Thread>,
    /// Threads seen so far.
    pub seen: u64,
    /// Readings of a thread done so far.
    pub readings: u64,
    passes: u64,
    /// The last pass read every thread.
    whole: bool,
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
            passes: 0,
            whole: false,
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

    /// Takes in the records of all threads; last rows for those that are gone.
    ///
    /// # Errors
    /// If the kernel hands out no records.
    pub fn pass_records(
        &mut self,
        iterator: &mut ThreadIterator,
        rows: &mut Rows,
    ) -> std::io::Result<()> {
        let Source::Records(link) = &self.source else {
            return Err(std::io::ErrorKind::Unsupported.into());
        };
        let link = Rc::clone(link);
        self.passes += 1;
        iterator.read(&link, |record| self.take(record, rows))?;
        let (pid, pass, now) = (self.pid, self.passes, crate::sys::mono_ns());
        self.threads.retain(|&tid, thread| {
            let there = thread.pass == pass;
            if !there {
                thread.gone(pid, tid, now, rows);
            }
            there
        });
        Ok(())
    }

    fn take(&mut self, record: &Record, rows: &mut Rows) {
        let (pid, tid, now) = (self.pid, record.tid, record.t_mono_ns);
        if tid <= 0 {
            return;
        }
        self.readings += 1;
        let thread = self.threads.entry(tid).or_default();
        if thread.pass != 0 && thread.start != record.start_ns {
            thread.gone(pid, tid, now, rows);
            *thread = Thread::default();
        }
        let first = thread.pass == 0;
        thread.pass = self.passes.max(1);
        if thread.exited {
            return;
        }
        if thread.comm != record.comm {
            record.comm.clone_into(&mut thread.comm);
        }
        let state = State::of_record(record);
        let counters = counters_of(record);
        if first {
            thread.start = record.start_ns;
            self.seen += 1;
        }
        if first || counters != thread.counters {
            let detail = thread.detail_of(record, state);
            thread.changed(pid, tid, now, (counters, Some(detail), first), rows);
        }
        thread.read_ns = now;
        if !record.as_before && !record.on_cpu {
            thread.place = Place {
                syscall: record.syscall,
                user_sp: record.user_sp,
                user_pc: record.user_pc,
                kernel_stack: rows.stacks.of_addresses(record.frames()),
            };
        }
        let place = match state {
            State::OnCpu | State::Other => Place::default(),
            _ => thread.place,
        };
        let seen = Seen {
            state,
            io_wait: Some(record.io_wait),
            switches_count: record
                .voluntary_count
                .saturating_add(record.involuntary_count),
            place,
            context: rows.context(pid, tid),
            annotation: rows.annotation(pid, tid),
        };
        if let Some(run) = thread.coder.take(now, seen) {
            rows.state(pid, tid, run);
        }
    }

    /// Takes a thread in, if it is new: reads its files, writes its first row.
    pub fn add(&mut self, tid: i32, clock: impl Fn() -> i64, buffer: &mut Buffer, rows: &mut Rows) {
        if self.threads.contains_key(&tid) {
            return;
        }
        let mut files = Files::new(self.pid, tid, &self.descriptors);
        let Some(counters) = files.schedstat(buffer) else {
            return;
        };
        let now = clock();
        let mut thread = Thread::default();
        let Some(detail) = files.detail(
            buffer,
            self.ticks_per_second,
            &mut thread.comm,
            &mut thread.start,
        ) else {
            return;
        };
        thread.files = Some(files);
        let letter = detail.state;
        thread.changed(self.pid, tid, now, (counters, Some(detail), true), rows);
        thread.read_ns = now;
        thread.see(
            self.pid,
            tid,
            (letter, counters),
            &mut self.access,
            buffer,
            rows,
        );
        self.threads.insert(tid, thread);
        self.seen += 1;
    }

    /// Reads the files of every thread (`all`), or of those whose turn it is; rows for those that
    /// ran, and last rows for those that are gone.
    pub fn pass_files(
        &mut self,
        all: bool,
        clock: impl Fn() -> i64,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) {
        self.passes += 1;
        self.whole = true;
        let (pid, passes, ticks) = (self.pid, self.passes, self.ticks_per_second);
        let (readings, access) = (&mut self.readings, &mut self.access);
        let whole = &mut self.whole;
        self.threads.retain(|&tid, thread| {
            let its_turn = (passes + tid as u64).is_multiple_of(QUIET_EVERY);
            if thread.quiet_count >= QUIET_AFTER && !its_turn && !all {
                *whole = false;
                return true;
            }
            *readings += 1;
            let there = thread.read(pid, tid, (ticks, clock()), access, buffer, rows);
            if !there {
                thread.gone(pid, tid, clock(), rows);
            }
            there
        });
    }

    /// Whether every thread was read since one ran last.
    pub fn is_settled(&self) -> bool {
        self.whole
    }

    /// Notes that no thread ran since the last pass, as the CPU clock of the process stood still, and
    /// that pass read them all.
    pub fn none_ran(&mut self, now_ns: i64) {
        self.passes += 1;
        for thread in self.threads.values_mut() {
            thread.read_ns = now_ns;
            thread.coder.extend(now_ns);
        }
    }

    /// Writes the last row of a thread that ended: its counters then are its last ones. A thread that
    /// lived between two passes has this row alone. Call it before the next pass.
    pub fn exited(&mut self, record: &Record, rows: &mut Rows) {
        let (pid, tid, now) = (self.pid, record.tid, record.t_mono_ns);
        let thread = self.threads.entry(tid).or_default();
        if thread.exited {
            return;
        }
        let first = thread.written_ns == 0;
        self.seen += u64::from(first);
        if thread.comm != record.comm {
            record.comm.clone_into(&mut thread.comm);
        }
        if !first && thread.read_ns != thread.written_ns {
            rows.counters(pid, thread.row(tid, None, false, false));
        }
        (thread.counters, thread.read_ns) = (counters_of(record), now);
        let detail = thread.detail_of(record, State::Other);
        rows.counters(pid, thread.row(tid, Some(detail), first, true));
        if let Some(run) = thread.coder.end(now) {
            rows.state(pid, tid, run);
        }
        // It may be listed for a moment yet: kept until a pass does not see it.
        if matches!(self.source, Source::Records(_)) {
            thread.start = record.start_ns;
        }
        thread.pass = self.passes.max(1);
        thread.exited = true;
    }

    /// Writes the states held: nobody will look any more.
    pub fn end_states(&mut self, rows: &mut Rows) {
        for (&tid, thread) in &mut self.threads {
            if let Some(run) = thread.coder.end(thread.read_ns) {
                rows.state(self.pid, tid, run);
            }
        }
    }

    /// Writes last rows: the process is gone.
    pub fn end(&mut self, now_ns: i64, rows: &mut Rows) {
        for (tid, mut thread) in std::mem::take(&mut self.threads) {
            thread.gone(self.pid, tid, now_ns, rows);
        }
    }
}

fn counters_of(record: &Record) -> SchedStat {
    SchedStat {
        run_ns: record.run_ns,
        run_delay_ns: record.run_delay_ns,
        timeslices_count: record.timeslices_count,
    }
}

impl Thread {
    /// Reads its files; false once it is gone.
    fn read(
        &mut self,
        pid: i32,
        tid: i32,
        (ticks_per_second, now): (i64, i64),
        access: &mut Access,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) -> bool {
        let Some(files) = self.files.as_mut().filter(|_| !self.exited) else {
            return false;
        };
        let Some(counters) = files.schedstat(buffer) else {
            return false;
        };
        let changed = counters != self.counters;
        let ran = self
            .coder
            .last()
            .is_some_and(|seen| seen.state.is_runnable());
        if !changed && !ran {
            self.read_ns = now;
            self.quiet_count += 1;
            if let Some(seen) = self.coder.last().cloned()
                && let Some(run) = self.coder.take(now, seen)
            {
                rows.state(pid, tid, run);
            }
            return true;
        }
        self.quiet_count = 0;
        let start = self.start;
        let detail = files.detail(buffer, ticks_per_second, &mut self.comm, &mut self.start);
        let letter = detail.as_ref().map_or("X", |detail| detail.state);
        // A new thread under an old number, seen only where files are not kept open.
        let reborn = self.start != start;
        if reborn {
            self.gone(pid, tid, now, rows);
            (self.written_ns, self.read_ns, self.place_of) = (0, 0, None);
        }
        let before = (self.counters, self.read_ns);
        if changed || reborn {
            self.changed(pid, tid, now, (counters, detail, reborn), rows);
        }
        self.read_ns = now;
        let grown = SchedStat {
            run_ns: counters.run_ns - before.0.run_ns,
            run_delay_ns: counters.run_delay_ns - before.0.run_delay_ns,
            timeslices_count: counters.timeslices_count,
        };
        self.see(pid, tid, (letter, grown), access, buffer, rows);
        true
    }

    /// Notes what its files say it does, given its letter and how its times grew.
    fn see(
        &mut self,
        pid: i32,
        tid: i32,
        (letter, grown): (&str, SchedStat),
        access: &mut Access,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) {
        let state = State::of_letter(letter)
            .unwrap_or_else(|| self.runnable.state(grown.run_ns, grown.run_delay_ns));
        let slices = grown.timeslices_count;
        let waits = !state.is_runnable() && state != State::Other;
        if waits && self.place_of != Some(slices) {
            let read = self
                .files
                .as_mut()
                .map(|files| files.place(access, buffer, &mut rows.stacks));
            (self.place, self.place_of) = (read.unwrap_or_default(), Some(slices));
        }
        let seen = Seen {
            state,
            io_wait: None,
            switches_count: slices,
            place: if waits { self.place } else { Place::default() },
            context: rows.context(pid, tid),
            annotation: rows.annotation(pid, tid),
        };
        if let Some(run) = self.coder.take(self.read_ns, seen) {
            rows.state(pid, tid, run);
        }
    }

    /// Writes a row of new counters, and before it one of the reading before, so that straight lines
    /// between rows are right.
    fn changed(
        &mut self,
        pid: i32,
        tid: i32,
        now: i64,
        (counters, detail, first): (SchedStat, Option<Detail>, bool),
        rows: &mut Rows,
    ) {
        if !first && self.read_ns != self.written_ns {
            rows.counters(pid, self.row(tid, None, false, false));
        }
        (self.counters, self.read_ns, self.written_ns) = (counters, now, now);
        rows.counters(pid, self.row(tid, detail, first, false));
    }

    /// Writes its last rows, unless that was done as it ended.
    fn gone(&mut self, pid: i32, tid: i32, now: i64, rows: &mut Rows) {
        if self.exited {
            return;
        }
        self.read_ns = now;
        rows.counters(pid, self.row(tid, None, false, true));
        if let Some(run) = self.coder.end(now) {
            rows.state(pid, tid, run);
        }
    }

    fn detail_of(&mut self, record: &Record, state: State) -> Detail {
        let (user_ns, system_ns) =
            self.cpu_time
                .split(record.run_ns, record.utime_ns, record.stime_ns);
        Detail {
            state: state.letter(),
            user_ns,
            system_ns,
            minor_faults_count: record.minor_faults_count,
            major_faults_count: record.major_faults_count,
            switches: Some(Switches {
                voluntary_count: record.voluntary_count,
                involuntary_count: record.involuntary_count,
            }),
            cpu: record.cpu,
        }
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
