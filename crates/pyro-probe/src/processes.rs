//! Which processes are followed, and their own series.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use crate::bpf::ThreadIterator;
use crate::host::Machine;
use crate::kernel_threads::KernelThreads;
use crate::parse::counters::Counters;
use crate::parse::process::{io, stat, status};
use crate::parse::ticks_ns;
use crate::rows::Rows;
use crate::series::Recorder;
use crate::sys::{Buffer, Descriptors, Folder, ProcFile, mono_ns, process_cpu_ns, watch_exit};
use crate::threads::{Source, Threads};
use crate::tier::Tier;

/// What a pass reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Threads and fast series.
    Fast,
    /// The slow series too.
    Slow,
    /// Everything, whatever seems idle: there will be no other pass.
    Last,
}

/// Why a process is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Named on the command line.
    Root,
    /// Child of a followed process, or of the root's session.
    Descendant,
    /// Named by a plugin file.
    Plugin,
}

impl Why {
    /// Word for reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Descendant => "descendant",
            Self::Plugin => "plugin",
        }
    }
}

/// A process that is or was followed, for the report.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Process id.
    pub pid: i32,
    /// Name.
    pub comm: String,
    /// Why it is followed.
    pub why: Why,
    /// First and last reading.
    pub first_mono_ns: i64,
    /// Last reading.
    pub last_mono_ns: i64,
    /// CPU time of the process as last read, ended threads included.
    pub cpu_ns: Option<i64>,
    /// It ended while we looked.
    pub gone: bool,
}

#[derive(Debug)]
struct Process {
    seen: Seen,
    scope: usize,
    parent_pid: i64,
    stat: ProcFile,
    io: Option<ProcFile>,
    status: ProcFile,
    tasks: Folder,
    listing_due: bool,
    exit: Option<OwnedFd>,
    threads: Option<Threads>,
}

/// The followed processes.
pub struct Processes {
    machine: Machine,
    descriptors: Descriptors,
    with_threads: bool,
    tier: Tier,
    iterator: Option<ThreadIterator>,
    root: i32,
    followed: BTreeMap<i32, Process>,
    strangers: BTreeSet<i32>,
    proc_folder: Folder,
    /// The newest process of the last look, and its place in the listing of `/proc`.
    newest: (i32, i64),
    listing: Vec<u8>,
    /// Threads of the kernel itself.
    pub kernel: KernelThreads,
    /// Those that ended.
    pub ended: Vec<Seen>,
    /// Threads seen of ended processes, and readings done of them.
    ended_threads: (u64, u64),
    /// Processes whose I/O counters may not be read.
    pub io_denied: u64,
}

impl Processes {
    /// Follows nothing yet. With an iterator threads are read through it, else from `/proc`.
    ///
    /// # Errors
    /// If `/proc` cannot be listed.
    pub fn new(
        machine: Machine,
        root: i32,
        with_threads: bool,
        (tier, iterator): (Tier, Option<ThreadIterator>),
        descriptors: &Descriptors,
    ) -> std::io::Result<Self> {
        Ok(Self {
            machine,
            descriptors: descriptors.clone(),
            with_threads,
            tier,
            iterator,
            root,
            followed: BTreeMap::new(),
            strangers: BTreeSet::from([std::process::id() as i32]),
            proc_folder: Folder::open("/proc")?,
            newest: (0, 0),
            kernel: KernelThreads::new(descriptors),
            listing: Vec::new(),
            ended: Vec::new(),
            ended_threads: (0, 0),
            io_denied: 0,
        })
    }

    /// Nothing is left to follow.
    pub fn is_empty(&self) -> bool {
        self.followed.is_empty()
    }

    /// Those followed now.
    pub fn alive(&self) -> impl Iterator<Item = &Seen> {
        self.followed.values().map(|process| &process.seen)
    }

    /// Threads seen, and readings of threads done, since the start.
    pub fn thread_figures(&self) -> (u64, u64) {
        let threads = self
            .followed
            .values()
            .filter_map(|process| process.threads.as_ref());
        threads.fold(self.ended_threads, |sum, threads| {
            (sum.0 + threads.seen, sum.1 + threads.readings)
        })
    }

    /// Follows a process, unless it is followed already, gone, or ourselves.
    pub fn follow(
        &mut self,
        pid: i32,
        why: Why,
        recorder: &mut Recorder,
        buffer: &mut Buffer,
    ) -> bool {
        if self.followed.contains_key(&pid) || pid == std::process::id() as i32 {
            return false;
        }
        let base = format!("/proc/{pid}");
        let exit = watch_exit(pid);
        let mut stat_file = ProcFile::new(&format!("{base}/stat"), &self.descriptors);
        let Some(parsed) = stat_file.read(buffer).ok().and_then(stat) else {
            return false;
        };
        if matches!(parsed.state, "Z" | "X") {
            return false;
        }
        let Ok(tasks) = Folder::open(&format!("{base}/task")) else {
            return false;
        };
        let (comm, start_ticks) = (parsed.comm.to_owned(), parsed.start_ticks);
        let parent_pid = parsed.parent_pid;
        let mut io = ProcFile::new(&format!("{base}/io"), &self.descriptors);
        let io = io.read(buffer).is_ok().then_some(io);
        self.io_denied += u64::from(io.is_none());
        let now = mono_ns();
        let scope = recorder.scope(&format!("process/{pid}"));
        let start_ns = ticks_ns(start_ticks, self.machine.ticks_per_second);
        recorder.record(now, scope, "start_time_mono_ns", start_ns);
        let ticks_per_second = self.machine.ticks_per_second;
        let threads = self
            .with_threads
            .then(|| Threads::new(pid, ticks_per_second, &self.descriptors, self.source(pid)));
        let seen = Seen {
            pid,
            comm,
            why,
            first_mono_ns: now,
            last_mono_ns: now,
            cpu_ns: None,
            gone: false,
        };
        let status = ProcFile::new(&format!("{base}/status"), &self.descriptors);
        self.followed.insert(
            pid,
            Process {
                seen,
                scope,
                parent_pid,
                stat: stat_file,
                io,
                status,
                tasks,
                listing_due: true,
                exit,
                threads,
            },
        );
        true
    }

    /// How the threads of a process are read.
    fn source(&self, pid: i32) -> Source {
        let iterator = self.iterator.as_ref();
        match iterator.and_then(|iterator| iterator.bind(pid).ok()) {
            Some(link) => Source::Records(Rc::new(link)),
            None if self.tier == Tier::T3 => Source::StatesOnly,
            None => Source::Files,
        }
    }

    /// Looks for new children of followed processes; with `all` at every process again. Numbers are
    /// given in turn: as long as `last_pid`, the last one given, has not begun anew, new processes have
    /// numbers behind those of the last look. A stranger does not become a descendant.
    pub fn find_descendants(
        &mut self,
        all: bool,
        last_pid: i32,
        recorder: &mut Recorder,
        buffer: &mut Buffer,
    ) {
        let mut present = BTreeSet::new();
        let newest = &mut self.newest;
        let anew = all || last_pid < newest.0;
        if anew {
            *newest = (0, 0);
        }
        let listing = &mut self.listing;
        let listed = self
            .proc_folder
            .list_from(newest.1, listing, |name, place| {
                if let Ok(pid) = name.parse::<i32>() {
                    present.insert(pid);
                    if (newest.0..=last_pid).contains(&pid) {
                        *newest = (pid, place);
                    }
                }
            });
        if listed.is_err() {
            return;
        }
        if anew {
            self.strangers.retain(|pid| !all && present.contains(pid));
        }
        let mut candidates: Vec<(i32, i32, i32)> = Vec::new();
        present.retain(|pid| !self.followed.contains_key(pid) && !self.strangers.contains(pid));
        for pid in present {
            let mut file = ProcFile::new(&format!("/proc/{pid}/stat"), &self.descriptors);
            let Some(parsed) = file.read(buffer).ok().and_then(stat) else {
                continue;
            };
            if parsed.of_the_kernel {
                let comm = parsed.comm.to_owned();
                self.kernel.add(pid, &comm, recorder, buffer);
                self.strangers.insert(pid);
            } else {
                candidates.push((pid, parsed.parent_pid as i32, parsed.session as i32));
            }
        }
        // A child may have a lower number than its parent: repeat until nothing is added.
        loop {
            let before = candidates.len();
            candidates.retain(|&(pid, parent, session)| {
                let ours = self.followed.contains_key(&parent) || session == self.root;
                !(ours && self.follow(pid, Why::Descendant, recorder, buffer))
            });
            if candidates.len() == before {
                break;
            }
        }
        self.strangers
            .extend(candidates.iter().map(|candidate| candidate.0));
    }

    /// Reads every process and its threads. `created` says that somewhere on the host a process or
    /// thread was created since the last pass.
    pub fn pass(
        &mut self,
        depth: Depth,
        created: bool,
        recorder: &mut Recorder,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) {
        let pids: Vec<i32> = self.followed.keys().copied().collect();
        for pid in pids {
            let Some(process) = self.followed.get_mut(&pid) else {
                continue;
            };
            let cpu_before = process.seen.cpu_ns;
            if !process.read(depth, self.machine, recorder, buffer) {
                self.end(pid, recorder, buffer, rows);
                continue;
            }
            process.listing_due |= created;
            let none_ran = cpu_before.is_some() && cpu_before == process.seen.cpu_ns;
            process.read_threads(depth, none_ran, self.iterator.as_mut(), buffer, rows);
            if depth == Depth::Last
                && let Some(threads) = process.threads.as_mut()
            {
                threads.end_states(rows);
            }
        }
    }

    /// Threads of followed processes that are not known to be gone, with their processes.
    pub fn threads(&self) -> Vec<(i32, i32)> {
        let with_threads = self.followed.iter();
        with_threads
            .filter_map(|(&pid, process)| Some((pid, process.threads.as_ref()?)))
            .flat_map(|(pid, threads)| threads.numbers().map(move |tid| (pid, tid)))
            .collect()
    }

    /// Writes the last counters of a thread that ended. Its process may have come and gone unseen.
    pub fn exited(&mut self, pid: i32, last: &Counters, rows: &mut Rows) {
        if !self.with_threads {
            return;
        }
        let threads = self.followed.get_mut(&pid);
        match threads.and_then(|process| process.threads.as_mut()) {
            Some(threads) => threads.exited(last, rows),
            None => {
                let ticks = self.machine.ticks_per_second;
                let mut unseen = Threads::new(pid, ticks, &self.descriptors, Source::Files);
                unseen.exited(last, rows);
                self.ended_threads.0 += unseen.seen;
            }
        }
    }

    /// Descriptors that tell when a followed process ends, with its number.
    pub fn exits(&self) -> Vec<(i32, RawFd)> {
        self.followed
            .values()
            .filter_map(|p| Some((p.seen.pid, p.exit.as_ref()?.as_raw_fd())))
            .collect()
    }

    /// Takes the last reading of a process that ended; as a zombie it still has its counters.
    pub fn end(&mut self, pid: i32, recorder: &mut Recorder, buffer: &mut Buffer, rows: &mut Rows) {
        let Some(mut process) = self.followed.remove(&pid) else {
            return;
        };
        process.read(Depth::Last, self.machine, recorder, buffer);
        recorder.record(mono_ns(), process.scope, "parent_pid", process.parent_pid);
        process.read_threads(Depth::Last, false, self.iterator.as_mut(), buffer, rows);
        if let Some(threads) = process.threads.as_mut() {
            threads.end(mono_ns(), rows);
            self.ended_threads.0 += threads.seen;
            self.ended_threads.1 += threads.readings;
        }
        recorder.end(Some(process.scope));
        self.strangers.insert(pid);
        self.ended.push(Seen {
            gone: true,
            ..process.seen
        });
    }
}

impl Process {
    /// Reads its threads.
    fn read_threads(
        &mut self,
        depth: Depth,
        none_ran: bool,
        iterator: Option<&mut ThreadIterator>,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) {
        let Some(threads) = self.threads.as_mut() else {
            return;
        };
        if none_ran && threads.is_settled() && depth != Depth::Last {
            threads.none_ran(mono_ns(), rows);
            return;
        }
        if let (false, Some(iterator)) = (threads.need_listing(), iterator) {
            // What the kernel does not hand out now it does in the next pass, or the process is gone.
            let _ = threads.pass_records(iterator, rows);
            return;
        }
        // Another count is seen at once; one thread in place of another in the next slow pass.
        let count = self.tasks.folders();
        if count != Some(threads.count()) || self.listing_due && depth != Depth::Fast {
            self.listing_due = false;
            let mut listing = Vec::new();
            let _ = self.tasks.list(&mut listing, |name| {
                if let Ok(tid) = name.parse::<i32>() {
                    threads.add(tid, mono_ns, buffer, rows);
                }
            });
        }
        let all = none_ran || depth == Depth::Last;
        threads.pass_files(all, mono_ns, buffer, rows);
    }

    /// One reading; false once the process has ended.
    fn read(
        &mut self,
        depth: Depth,
        machine: Machine,
        recorder: &mut Recorder,
        buffer: &mut Buffer,
    ) -> bool {
        let (scope, now) = (self.scope, mono_ns());
        let cpu_ns = process_cpu_ns(self.seen.pid);
        // No thread ran: the other counters stood still too. What others do to the process (reclaim,
        // the end of a child) is seen in the next slow pass.
        if depth == Depth::Fast && cpu_ns.is_some() && cpu_ns == self.seen.cpu_ns {
            return true;
        }
        let mut record = |name, value| recorder.record(now, scope, name, value);
        if let Some(cpu_ns) = cpu_ns {
            self.seen.cpu_ns = Some(cpu_ns);
            record("cpu_ns", cpu_ns);
        }
        if let Some(text) = self.io.as_mut().and_then(|file| file.read(buffer).ok()) {
            io(text, &mut record);
        }
        // The kernel adds these up over all threads.
        if depth == Depth::Fast && cpu_ns.is_some() {
            return true;
        }
        let Some(parsed) = self.stat.read(buffer).ok().and_then(stat) else {
            return false;
        };
        self.parent_pid = parsed.parent_pid;
        self.seen.last_mono_ns = now;
        if self.seen.comm != parsed.comm {
            self.seen.comm = parsed.comm.to_owned();
        }
        let ended = matches!(parsed.state, "Z" | "X");
        let ticks = |ticks| ticks_ns(ticks, machine.ticks_per_second);
        for (name, value) in [
            ("user_ns", ticks(parsed.user_ticks)),
            ("system_ns", ticks(parsed.system_ticks)),
            ("children_user_ns", ticks(parsed.children_user_ticks)),
            ("children_system_ns", ticks(parsed.children_system_ticks)),
            ("minor_faults_count", parsed.minor_faults_count),
            ("major_faults_count", parsed.major_faults_count),
        ] {
            record(name, value);
        }
        if !ended {
            record("threads_count", parsed.threads_count);
            let rss = parsed.rss_pages.saturating_mul(machine.page_bytes);
            record("rss_bytes", rss);
        }
        if let Ok(text) = self.status.read(buffer) {
            status(text, &mut record);
        }
        !ended
    }
}

/// Series of a process that come from no table of the parsers.
#[cfg(test)]
pub const SERIES: [&str; 11] = [
    "start_time_mono_ns",
    "parent_pid",
    "cpu_ns",
    "user_ns",
    "system_ns",
    "children_user_ns",
    "children_system_ns",
    "minor_faults_count",
    "major_faults_count",
    "threads_count",
    "rss_bytes",
];
