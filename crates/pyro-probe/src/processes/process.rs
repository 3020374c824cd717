//! One process: its own series, and its threads.

use std::os::fd::OwnedFd;

use serde_json::{Value, json};

use crate::bpf::ThreadIterator;
use crate::host::Machine;
use crate::output::Recorder;
use crate::parse::process::{io, stat, status};
use crate::parse::ticks_ns;
use crate::rows::Rows;
use crate::sys::{
    Buffer, Descriptors, Folder, Held, ProcFile, mono_ns, process_cpu_ns, watch_exit,
};
use crate::threads::Threads;

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

/// Cause a process is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Named on the command line.
    Root,
    /// Child of a followed process, or of the root's session.
    Descendant,
    /// Named by a plugin file.
    Plugin,
    /// Named by a file of the agent.
    Executor,
}

impl Cause {
    /// Word for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Descendant => "descendant",
            Self::Plugin => "plugin",
            Self::Executor => "executor",
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
    /// Cause it is followed.
    pub why: Cause,
    /// First and last reading.
    pub first_mono_ns: i64,
    /// Last reading.
    pub last_mono_ns: i64,
    /// CPU time of the process as last read, ended threads included.
    pub cpu_ns: Option<i64>,
    /// It ended while we looked.
    pub gone: bool,
}

impl Seen {
    /// What the report says of it.
    pub fn to_json(&self) -> Value {
        json!({
            "pid": self.pid,
            "comm": self.comm,
            "why": self.why.name(),
            "first_mono_ns": self.first_mono_ns,
            "last_mono_ns": self.last_mono_ns,
            "cpu_ns": self.cpu_ns,
            "gone": self.gone,
        })
    }
}

/// A followed process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) seen: Seen,
    pub(super) scope: usize,
    pub(super) parent_pid: i64,
    stat: ProcFile,
    /// `None` where it may not be read.
    pub(super) io: Option<ProcFile>,
    status: ProcFile,
    tasks: Folder,
    /// Somewhere a thread was created since its own were listed.
    pub(super) listing_due: bool,
    /// When its threads were read last, and its CPU time then.
    clock: (i64, Option<i64>),
    /// Tells when it ends.
    pub(super) exit: Option<OwnedFd>,
    pub(super) threads: Option<Threads>,
    /// Counts the descriptors that are open besides those of files of `/proc`.
    pub(super) held: Vec<Held>,
}

impl Process {
    /// Opens what is read of a process; `None` if it is gone. Its threads are not read yet.
    pub(super) fn open(
        pid: i32,
        why: Cause,
        machine: Machine,
        descriptors: &Descriptors,
        recorder: &mut Recorder,
        buffer: &mut Buffer,
    ) -> Option<Self> {
        let exit = watch_exit(pid);
        // That, and the folder of its threads.
        let held = vec![descriptors.hold(1 + usize::from(exit.is_some()))];
        let file = |name: &str| ProcFile::new(&format!("/proc/{pid}/{name}"), descriptors);
        let mut stat_file = file("stat");
        let parsed = stat(stat_file.read(buffer).ok()?)?;
        if matches!(parsed.state, "Z" | "X") {
            return None;
        }
        let tasks = Folder::open(&format!("/proc/{pid}/task")).ok()?;
        let (comm, parent_pid) = (parsed.comm.to_owned(), parsed.parent_pid);
        let start_ns = ticks_ns(parsed.start_ticks, machine.ticks_per_second);
        let mut io = file("io");
        let io = io.read(buffer).is_ok().then_some(io);
        let now = mono_ns();
        let scope = recorder.scope(&format!("process/{pid}"));
        recorder.record(now, scope, "start_time_mono_ns", start_ns);
        Some(Self {
            seen: Seen {
                pid,
                comm,
                why,
                first_mono_ns: now,
                last_mono_ns: now,
                cpu_ns: None,
                gone: false,
            },
            scope,
            parent_pid,
            stat: stat_file,
            io,
            status: file("status"),
            tasks,
            listing_due: true,
            clock: (0, None),
            exit,
            threads: None,
            held,
        })
    }

    /// Reads its threads.
    pub(super) fn read_threads(
        &mut self,
        depth: Depth,
        cpu_ns: Option<i64>,
        iterator: Option<&mut ThreadIterator>,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) {
        let none_ran = cpu_ns.is_some() && cpu_ns == self.clock.1;
        self.clock = (mono_ns(), cpu_ns);
        let Some(threads) = self.threads.as_mut() else {
            return;
        };
        if none_ran && threads.is_settled() && depth != Depth::Last {
            threads.none_ran(mono_ns(), rows);
            return;
        }
        if let (false, Some(iterator)) = (threads.need_listing(), iterator) {
            // What the kernel does not return now it returns in the next pass, or the process is gone.
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
    pub(super) fn read(
        &mut self,
        depth: Depth,
        machine: Machine,
        recorder: &mut Recorder,
        buffer: &mut Buffer,
    ) -> bool {
        let (scope, now) = (self.scope, mono_ns());
        // The kernel adds it up over all threads: once in a pass is enough.
        let (cpu_at, cpu_ns) = match self.clock {
            (at, Some(cpu_ns)) if depth != Depth::Last => (at, Some(cpu_ns)),
            _ => (now, process_cpu_ns(self.seen.pid)),
        };
        // No thread ran: the other counters did not change either. What others do to the process (reclaim,
        // the end of a child) is seen in the next slow pass.
        if depth == Depth::Fast && cpu_ns.is_some() && cpu_ns == self.seen.cpu_ns {
            return true;
        }
        if let Some(cpu_ns) = cpu_ns {
            self.seen.cpu_ns = Some(cpu_ns);
            recorder.record(cpu_at, scope, "cpu_ns", cpu_ns);
        }
        let mut record = |name, value| recorder.record(now, scope, name, value);
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
