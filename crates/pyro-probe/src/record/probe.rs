//! The probe at work: its readings, pass after pass.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::keeper::Keeper;
use super::timing::Timing;

use crate::annotate::Annotations;
use crate::args::Options;
use crate::events::Recording;
use crate::host::{Host, Machine};
use crate::output::{Outputs, Recorder, no_more, numbered, replace};
use crate::perf::Perf;
use crate::processes::{Cause, Depth, Named, Processes};
use crate::rows::Rows;
use crate::slot::Slots;
use crate::sys::{self, Buffer, Descriptors, Folder, mono_ns};
use crate::taskstats::{self, ExitEvent, Taskstats};
use crate::tiers::grant::{self, Tier};

/// A slow reading in so many passes.
const SLOW_EVERY: u64 = 5;
/// How often rows are written, the report is replaced and plugin files are looked for.
const HOUSEKEEPING_NS: i64 = 1_000_000_000;
/// How often all processes are looked at again, in rounds of housekeeping.
const FULL_SCAN_EVERY: u64 = 10;
/// Why it ends where its keeper has: another probe may go on in its place.
const UNKEPT: &str = "nobody waits for it";

pub(super) struct Probe {
    pub(super) options: Options,
    pub(super) raw: Folder,
    pub(super) report_path: PathBuf,
    pub(super) descriptors: Descriptors,
    pub(super) host: Host,
    pub(super) processes: Processes,
    pub(super) named: Named,
    pub(super) recorder: Recorder,
    pub(super) rows: Rows,
    pub(super) tier: Tier,
    pub(super) tier_reason: Option<String>,
    pub(super) events: Option<Recording>,
    pub(super) taskstats: Taskstats,
    pub(super) keeper: Option<Keeper>,
    pub(super) buffer: Buffer,
    pub(super) timing: Timing,
    pub(super) rounds: u64,
    pub(super) children_due: bool,
    /// A process or thread was created between the last two passes.
    pub(super) created: bool,
    pub(super) listing: Vec<u8>,
}

/// Of the descriptors that are allowed, those that files of `/proc` may fill: the rest is for
/// processes that come later.
fn for_files(allowed: usize) -> usize {
    allowed.saturating_sub((allowed / 8).max(64))
}

impl Probe {
    pub(super) fn start(options: &Options) -> io::Result<Self> {
        let started_mono_ns = mono_ns();
        // At first: it may end while the probe starts.
        let keeper = options.keeper_pid.map(Keeper::watch);
        let allowed = for_files(sys::raise_descriptor_limit());
        let descriptors = Descriptors::new(options.max_open.min(allowed));
        let (host, part) = (&options.host, options.part);
        let report_name = format!("probe-{host}{}.report.json", numbered(part));
        let at = |path: &Path, error: io::Error| {
            io::Error::other(format!("{}: {error}", path.display()))
        };
        let raw = Folder::open(&options.raw_dir.to_string_lossy())
            .map_err(|error| at(&options.raw_dir, error))?;
        let (machine, mut buffer) = (Machine::ask(), Buffer::default());
        let mut recorder = Recorder::default();
        let annotations = options.annotation.as_deref().map(Annotations::new);
        let annotations = annotations.transpose().map_err(io::Error::other)?;
        let granted = grant::grant(options.tier.0, options.root_pid);
        let mut processes = Processes::new(
            machine,
            options.root_pid,
            options.with_threads(),
            (granted.tier, granted.iterator),
            &descriptors,
        )?;
        if !processes.follow(options.root_pid, Cause::Root, &mut recorder, &mut buffer) {
            return Err(io::Error::other(format!(
                "process {} does not exist or has ended",
                options.root_pid
            )));
        }
        for &pid in &options.also_pids {
            processes.follow(pid, Cause::Root, &mut recorder, &mut buffer);
        }
        let mut rows = Rows::new(Outputs::create(&options.raw_dir, host, part)?);
        rows.perf = options
            .with_counters()
            .then(|| Perf::start(&descriptors, options.thread_counters));
        rows.slots = options.with_threads().then(|| Slots::new(&options.raw_dir));
        rows.annotations = annotations;
        Ok(Self {
            options: options.clone(),
            raw,
            report_path: options.raw_dir.join(report_name),
            host: Host::open(machine, options.root_pid, &descriptors, &mut buffer),
            descriptors,
            processes,
            named: Named::new(&options.raw_dir),
            recorder,
            rows,
            keeper,
            tier: granted.tier,
            tier_reason: granted.reason,
            events: granted.events,
            taskstats: Taskstats::start(Path::new(taskstats::RECORDS)),
            buffer,
            timing: Timing::start(started_mono_ns, options.hz, options.budget),
            rounds: 0,
            children_due: true,
            created: true,
            listing: Vec::new(),
        })
    }

    /// Reads until there is a reason to end.
    pub(super) fn run(&mut self) -> &'static str {
        let mut housekeeping_due = mono_ns();
        let mut due = housekeeping_due;
        loop {
            let now = mono_ns();
            self.timing.late.note(due, now);
            self.pass(now);
            if now >= housekeeping_due {
                if !self.raw.still_there() {
                    return "folder removed";
                }
                if self.keeper.as_ref().is_some_and(Keeper::is_gone) {
                    return UNKEPT;
                }
                housekeeping_due = now + HOUSEKEEPING_NS;
                self.housekeeping();
            }
            due = self.timing.schedule.next_due(mono_ns());
            while mono_ns() < due {
                if self.processes.is_empty() {
                    return "processes ended";
                }
                if sys::stop_requested() {
                    return "asked to stop";
                }
                self.wait(due);
            }
        }
    }

    /// Waits; a process that ends meanwhile gets its last reading at once.
    fn wait(&mut self, due: i64) {
        let exits = self.processes.exits();
        let fds: Vec<_> = exits.iter().map(|exit| exit.1).collect();
        let ended = sys::wait(due, &fds);
        if ended.contains(&true) {
            self.threads_ended();
        }
        for ((pid, _), _) in exits.into_iter().zip(ended).filter(|(_, ended)| *ended) {
            self.processes
                .end(pid, &mut self.recorder, &mut self.buffer, &mut self.rows);
        }
    }

    /// Takes what the kernel reported of threads since the last call: those that ended have their last
    /// row before a second pass misses them.
    fn threads_ended(&mut self) {
        let (processes, rows) = (&mut self.processes, &mut self.rows);
        if let Some(events) = &mut self.events {
            events.follow(processes.alive().map(|seen| seen.pid));
            events.pass(rows, &mut |rows, pid, last| {
                processes.exited(pid, last, rows);
            });
        }
        let traced = self.events.is_some();
        let followed: Vec<i64> = processes.alive().map(|seen| seen.pid.into()).collect();
        let follows = |pid| followed.contains(&pid);
        let by_thread = match self.taskstats.knows_processes() {
            true => HashMap::new(),
            false => processes.by_thread(),
        };
        let process_of = |tid: i64| by_thread.get(&tid).copied();
        self.taskstats
            .exits(follows, process_of, &mut |event| match event {
                ExitEvent::Delay(row) => rows.delay(row),
                ExitEvent::Ended(pid, last) if !traced => processes.exited(pid as i32, &last, rows),
                ExitEvent::Ended(..) => {}
            });
    }

    fn pass(&mut self, now: i64) {
        let slow = self.timing.passes.is_multiple_of(SLOW_EVERY);
        let depth = if slow { Depth::Slow } else { Depth::Fast };
        self.timing.passes += 1;
        let probe = self.recorder.scope("probe");
        self.recorder
            .record(now, probe, "passes_count", self.timing.passes as i64);
        let period_ns = self.timing.schedule.period_ns();
        self.recorder.record(now, probe, "period_ns", period_ns);
        // Threads first: one that the probe keeps from a CPU meanwhile would look different.
        if let Some(slots) = &mut self.rows.slots {
            slots.refresh();
        }
        let unread =
            self.processes
                .pass_threads(depth, self.created, &mut self.buffer, &mut self.rows);
        self.threads_ended();
        self.processes.pass_files(
            depth,
            &unread,
            &mut self.recorder,
            &mut self.buffer,
            &mut self.rows,
        );
        self.rows.count(slow);
        self.created = self.host.pass(slow, &mut self.recorder, &mut self.buffer);
        self.children_due |= self.created;
        // Processes are few and long-lived beside threads: looked for less often, but at once in the first second.
        if self.children_due && (slow || self.timing.passes < self.options.hz as u64) {
            self.children_due = false;
            self.processes.find_descendants(
                false,
                self.host.last_pid,
                &mut self.recorder,
                &mut self.buffer,
            );
        }
        if slow {
            let (user, system, _) = sys::own_usage();
            self.recorder
                .record(mono_ns(), probe, "own_cpu_ns", user + system);
            if let Some(cpu_ns) = self.events.as_ref().and_then(Recording::cpu_ns) {
                self.recorder
                    .record(mono_ns(), probe, "programs_cpu_ns", cpu_ns);
            }
            let (processes, rows) = (&self.processes, &mut self.rows);
            let pids = || processes.alive().map(|seen| seen.pid);
            self.host
                .pass_quotas(pids(), &mut self.recorder, &mut self.buffer);
            let threads = |pid| processes.threads_of(pid);
            self.taskstats
                .pass(pids(), threads, &mut |row| rows.delay(row));
        }
        self.rows.series(&mut self.recorder);
    }

    fn housekeeping(&mut self) {
        let mut named = Vec::new();
        let _ = self.raw.list(&mut self.listing, |name| {
            named.extend(self.named.process(name));
        });
        for (pid, why) in named {
            self.processes
                .follow(pid, why, &mut self.recorder, &mut self.buffer);
        }
        if self.rounds.is_multiple_of(FULL_SCAN_EVERY) {
            self.processes.find_descendants(
                true,
                self.host.last_pid,
                &mut self.recorder,
                &mut self.buffer,
            );
        }
        self.processes
            .kernel
            .pass(&mut self.recorder, &mut self.buffer);
        let alive: Vec<i32> = self.processes.alive().map(|seen| seen.pid).collect();
        let (follows, rows) = (|pid| alive.contains(&pid), &mut self.rows);
        if let Some(events) = &mut self.events {
            events.swap_buffers();
            events.look_at_cost();
            if self.rounds.is_multiple_of(FULL_SCAN_EVERY) {
                events.forget_gone(follows);
            }
        }
        self.taskstats
            .forget(|pid| follows(pid as i32), &mut |row| rows.delay(row));
        self.rounds += 1;
        if let Some(annotations) = &mut self.rows.annotations {
            let alive: Vec<i32> = self.processes.alive().map(|seen| seen.pid).collect();
            annotations.refresh(|pid| alive.contains(&pid));
        }
        self.rows.stacks.write(&mut self.rows.outputs, false);
        self.rows.outputs.flush();
        self.timing.clock_pairs.tick();
        self.timing.keep_pace();
        // A report that cannot be written now is written again in a second.
        let _ = replace(&self.report_path, &self.report("running", None), false);
    }

    pub(super) fn finish(mut self, reason: &'static str) {
        let unread =
            self.processes
                .pass_threads(Depth::Last, true, &mut self.buffer, &mut self.rows);
        self.processes.pass_files(
            Depth::Last,
            &unread,
            &mut self.recorder,
            &mut self.buffer,
            &mut self.rows,
        );
        self.last_events();
        self.rows.end_counters();
        self.processes
            .kernel
            .pass(&mut self.recorder, &mut self.buffer);
        self.recorder.end(None);
        self.rows.series(&mut self.recorder);
        self.rows.stacks.write(&mut self.rows.outputs, true);
        self.rows.outputs.finish();
        match &mut self.rows.slots {
            Some(slots) if reason == UNKEPT => slots.remove_ended(),
            Some(slots) => slots.remove(),
            None => {}
        }
        if self.raw.still_there()
            && let Err(error) = replace(
                &self.report_path,
                &self.report("finished", Some(reason)),
                true,
            )
        {
            eprintln!("pyro-probe: {}: {error}", self.report_path.display());
        }
        no_more(&self.report_path);
    }

    /// What events and delay accounting still hold.
    fn last_events(&mut self) {
        self.threads_ended();
        let threads = self.processes.threads();
        let (processes, rows) = (&mut self.processes, &mut self.rows);
        for &(pid, tid) in &threads {
            self.taskstats.last_of(pid, tid, &mut |row| rows.delay(row));
        }
        self.taskstats.forget(|_| false, &mut |row| rows.delay(row));
        self.taskstats.end();
        if let Some(events) = &mut self.events {
            events.finish(rows, &mut |rows, pid, last| {
                processes.exited(pid, last, rows)
            });
        }
    }
}
