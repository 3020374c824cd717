//! Which processes are followed.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

use crate::bpf::ThreadIterator;
use crate::host::Machine;
use crate::host::kernel_threads::KernelThreads;
use crate::output::Recorder;
use crate::parse::counters::Counters;
use crate::parse::process::stat;
use crate::rows::Rows;
use crate::sys::{Buffer, Descriptors, Folder, ProcFile, mono_ns, process_cpu_ns};
use crate::threads::{Source, Threads};
use crate::tiers::grant::Tier;

mod named;
mod process;

pub use named::Named;
use process::Process;
#[cfg(test)]
pub use process::SERIES;
pub use process::{Cause, Depth, Seen};

/// So many ended processes are known by their threads: the kernel may report their ends later.
const ENDED_LATELY: usize = 64;

/// So many threads that ended before their process was followed are known, and for how long (ns): the
/// report of an end wakes the probe, which may take the CPU of a process before it has ended.
const ENDED_UNSEEN: (usize, i64) = (64, 10_000_000_000);

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
    /// The last of them, with the threads that had their last rows then.
    ended_lately: VecDeque<(i32, BTreeSet<i32>)>,
    /// Threads that had their only row before their process was followed.
    ended_unseen: VecDeque<(i32, Counters)>,
    /// Of ended processes: threads seen, readings done of them, and sleep counted as waiting.
    ended_threads: (u64, u64, i64),
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
            ended_lately: VecDeque::with_capacity(ENDED_LATELY),
            ended_unseen: VecDeque::with_capacity(ENDED_UNSEEN.0),
            ended_threads: (0, 0, 0),
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

    /// Threads seen, readings of threads done, and sleep that was counted as waiting for a CPU, since
    /// the start.
    pub fn thread_figures(&self) -> (u64, u64, i64) {
        let threads = self
            .followed
            .values()
            .filter_map(|process| process.threads.as_ref());
        threads.fold(self.ended_threads, |sum, threads| {
            (
                sum.0 + threads.seen,
                sum.1 + threads.readings,
                sum.2 + threads.mistaken_ns,
            )
        })
    }

    /// Follows a process, unless it is followed already, gone, or ourselves.
    pub fn follow(
        &mut self,
        pid: i32,
        why: Cause,
        recorder: &mut Recorder,
        buffer: &mut Buffer,
    ) -> bool {
        if self.followed.contains_key(&pid) || pid == std::process::id() as i32 {
            return false;
        }
        let (machine, descriptors) = (self.machine, &self.descriptors);
        let Some(mut process) = Process::open(pid, why, machine, descriptors, recorder, buffer)
        else {
            return false;
        };
        self.io_denied += u64::from(process.io.is_none());
        process.threads = self.with_threads.then(|| {
            let source = self.source(pid);
            if matches!(source, Source::Records(_)) {
                process.held.push(descriptors.hold(1));
            }
            let mut threads = Threads::new(pid, machine.ticks_per_second, descriptors, source);
            // Numbers are not given again that soon: it is the same process.
            let since = mono_ns() - ENDED_UNSEEN.1;
            let ended = self.ended_unseen.iter();
            for (_, last) in ended.filter(|(of, last)| *of == pid && last.t_mono_ns > since) {
                threads.had_exited(last);
            }
            threads
        });
        self.followed.insert(pid, process);
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
    /// given in turn: as long as `last_pid`, the last one given, has not wrapped around, new processes have
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
        let wrapped = all || last_pid < newest.0;
        if wrapped {
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
        if wrapped {
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
                !(ours && self.follow(pid, Cause::Descendant, recorder, buffer))
            });
            if candidates.len() == before {
                break;
            }
        }
        self.strangers
            .extend(candidates.iter().map(|candidate| candidate.0));
    }

    /// Reads the threads of all processes, before anything that takes time: a thread that the
    /// probe keeps from a CPU meanwhile would look different. Returns the processes whose clock could not be read.
    pub fn pass_threads(
        &mut self,
        depth: Depth,
        created: bool,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) -> Vec<i32> {
        let mut unread = Vec::new();
        for (&pid, process) in &mut self.followed {
            process.listing_due |= created;
            match process_cpu_ns(pid) {
                None => unread.push(pid),
                cpu_ns => {
                    process.read_threads(depth, cpu_ns, self.iterator.as_mut(), buffer, rows);
                }
            }
        }
        unread
    }

    /// Reads the files of all processes. One of `unread` may be gone; if not, its threads are read.
    pub fn pass_files(
        &mut self,
        depth: Depth,
        unread: &[i32],
        recorder: &mut Recorder,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) {
        let pids: Vec<i32> = self.followed.keys().copied().collect();
        for pid in pids {
            let Some(process) = self.followed.get_mut(&pid) else {
                continue;
            };
            if !process.read(depth, self.machine, recorder, buffer) {
                self.end(pid, recorder, buffer, rows);
                continue;
            }
            if unread.contains(&pid) {
                process.read_threads(depth, None, self.iterator.as_mut(), buffer, rows);
            }
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

    /// Threads of one process that are read.
    pub fn threads_of(&self, pid: i32) -> Vec<i32> {
        let process = self.followed.get(&pid);
        let threads = process.and_then(|process| process.threads.as_ref());
        threads.map_or_else(Vec::new, |threads| threads.numbers().collect())
    }

    /// Processes by their threads, with those that ended lately.
    pub fn by_thread(&self) -> HashMap<i64, i64> {
        let ended = self.ended_lately.iter();
        let ended = ended.flat_map(|(pid, tids)| tids.iter().map(move |&tid| (*pid, tid)));
        let main = self.followed.keys().map(|&pid| (pid, pid));
        let all = ended.chain(main).chain(self.threads());
        all.map(|(pid, tid)| (tid.into(), pid.into())).collect()
    }

    /// Writes the last counters of a thread that ended. Its process may have come and gone unseen.
    pub fn exited(&mut self, pid: i32, last: &Counters, rows: &mut Rows) {
        if !self.with_threads {
            return;
        }
        let followed = self.followed.get_mut(&pid);
        if let Some(threads) = followed.and_then(|process| process.threads.as_mut()) {
            threads.exited(last, rows);
        } else if !self.has_ended(pid, last.tid) {
            let ticks = self.machine.ticks_per_second;
            let mut unseen = Threads::new(pid, ticks, &self.descriptors, Source::Files);
            unseen.exited(last, rows);
            self.ended_threads.0 += unseen.seen;
            if self.ended_unseen.len() == ENDED_UNSEEN.0 {
                self.ended_unseen.pop_front();
            }
            self.ended_unseen.push_back((pid, *last));
        }
    }

    /// Whether the last rows of a thread were written as its process ended.
    fn has_ended(&self, pid: i32, tid: i32) -> bool {
        let mut lately = self.ended_lately.iter();
        lately.any(|(ended, threads)| *ended == pid && threads.contains(&tid))
    }

    /// Descriptors that signal the end of a followed process, with its number.
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
        process.read_threads(Depth::Last, None, self.iterator.as_mut(), buffer, rows);
        if let Some(threads) = process.threads.as_mut() {
            if self.ended_lately.len() == ENDED_LATELY {
                self.ended_lately.pop_front();
            }
            self.ended_lately
                .push_back((pid, threads.numbers().collect()));
            threads.end(mono_ns(), rows);
            self.ended_threads.0 += threads.seen;
            self.ended_threads.1 += threads.readings;
            self.ended_threads.2 += threads.mistaken_ns;
        }
        recorder.end(Some(process.scope));
        self.strangers.insert(pid);
        self.ended.push(Seen {
            gone: true,
            ..process.seen
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::process::Command;

    use arrow_ipc::reader::StreamReader;

    use crate::output::Outputs;
    use crate::sys::watch_exit;

    #[test]
    fn a_process_whose_end_was_told_before_it_is_found_has_one_first_row() {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = Rows::new(Outputs::create(folder.path(), "h", 1).unwrap());
        // Between the report of its end and its end: the report wakes the probe, which takes its CPU.
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        let descriptors = Descriptors::new(64);
        let how = (Tier::T2, None);
        let mut processes = Processes::new(Machine::ask(), 1, true, how, &descriptors).unwrap();
        let (mut recorder, mut buffer) = (Recorder::default(), Buffer::default());
        let last = Counters {
            t_mono_ns: mono_ns(),
            run_ns: 1,
            tid: pid,
            ..Counters::default()
        };
        processes.exited(pid, &last, &mut rows);
        let followed = processes.follow(pid, Cause::Descendant, &mut recorder, &mut buffer);
        for _ in 0..2 {
            processes.pass_threads(Depth::Slow, true, &mut buffer, &mut rows);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        processes.end(pid, &mut recorder, &mut buffer, &mut rows);
        assert!(followed);
        assert_eq!(processes.thread_figures().0, 1);
        rows.outputs.finish();
        let file = std::fs::File::open(folder.path().join("probe-h-threads.arrows")).unwrap();
        let written = StreamReader::try_new(file, None).unwrap();
        let written: usize = written.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(written, 1, "its only row");
    }

    #[test]
    fn what_is_open_of_a_process_besides_its_files_counts_until_it_is_let_go() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (pid, watched) = (child.id() as i32, watch_exit(child.id() as i32).is_some());
        // No file of `/proc` is kept open.
        let descriptors = Descriptors::new(0);
        let how = (Tier::T3, None);
        let mut processes = Processes::new(Machine::ask(), pid, false, how, &descriptors).unwrap();
        let (mut recorder, mut buffer) = (Recorder::default(), Buffer::default());
        let followed = processes.follow(pid, Cause::Root, &mut recorder, &mut buffer);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(followed);
        assert_eq!(descriptors.kept(), 1 + usize::from(watched));
        drop(processes);
        assert_eq!(descriptors.kept(), 0);
    }
}
