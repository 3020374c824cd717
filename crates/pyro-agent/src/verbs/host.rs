//! `host`: finds the executors of this machine, has them recorded, and ships what was recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::args::HostOptions;
use crate::canary::{Canary, GLANCE, LIMIT, Lines, Presence};
use crate::executors::{Executor, ProcTree, discover};
use crate::ship::{Clock, SystemClock, replace};
use crate::stop::Stop;
use crate::stores;
use crate::verbs::next::{Next, State};
use crate::verbs::recorder::{Of, Program, Recorder, has_written};
use crate::verbs::reporter::Beside;
use crate::verbs::restarts::Restarts;
use crate::verbs::rests::{Rest, Rests};
use crate::verbs::session::{OF_THE_HOST, Session};

/// By its group, or by anybody.
const WRITTEN_BY_OTHERS: u32 = 0o022;

/// Records and ships until SIGTERM comes.
///
/// # Errors
/// If it cannot begin.
pub fn host(options: &HostOptions) -> Result<(), String> {
    let stop = Stop::listen().map_err(|error| error.to_string())?;
    // A store that is refused leaves no folder behind.
    stores::open(&options.shipping.to, None)?;
    take(&options.work_dir).map_err(|error| format!("{}: {error}", options.work_dir.display()))?;
    let mut before = Rests::of_killed(&options.work_dir, &options.shipping);
    let clock = SystemClock::default();
    let mut restarts = Restarts::new(
        clock,
        clock.wall_ns() as u64 ^ u64::from(std::process::id()),
    );
    let mut recording = Recording::begin(options)?;
    let mut canary = canary_of(options);
    recording.take_canaries(options, &mut canary);
    loop {
        // Before anything waits for the store.
        recording.look();
        before.ship(options.shipping.every);
        let room = room(options, &before);
        recording.round(&mut restarts, &told(&canary), room);
        // While the store is away, every folder more would have a spool of its own.
        let is_away = before.is_away();
        let state = State {
            is_stopping: stop.wait(Duration::ZERO),
            is_away,
            is_old: recording.since.elapsed() >= options.renew
                // Without their beginning most streams cannot be read.
                || recording.had_no_room && room > 0,
            is_due: restarts.is_due(),
        };
        match state.next(|| has_written(recording.session.path())) {
            Next::End => break,
            Next::GoOn => {}
            Next::RecordAgain => {
                recording.record_again(options);
                restarts.again(recording.recorder.ended().is_none());
            }
            // The new one begins before the old one ends: nothing of the host is missed between them.
            Next::BeginAnew(reason) => match Recording::begin(options) {
                Ok(mut next) => {
                    restarts.again(next.recorder.ended().is_none());
                    let old = std::mem::replace(&mut recording, next);
                    recording.take_canaries(options, &mut canary);
                    if let Some(rest) = old.end(&restarts, &told(&canary), reason) {
                        before.add(rest);
                    }
                }
                Err(error) => eprintln!("pyro-agent: streams are not begun anew: {error}"),
            },
        }
        if asked_to_stop(&stop, options.shipping.every, &mut canary) {
            break;
        }
    }
    let canaries = told(&canary);
    drop(canary);
    let Recording {
        mut recorder,
        mut session,
        ..
    } = recording;
    recorder.stop();
    let also = beside(restarts.told(recorder.state()), &canaries);
    let round = session.finish(true, &also, "asked to stop");
    if !round.is_done() {
        // The next agent of this folder ships the rest.
        return Err(session.left(round));
    }
    session.remove();
    session.complete()
}

/// Waits for the next round; canaries are measured meanwhile, as then nothing is shipped.
fn asked_to_stop(stop: &Stop, every: Duration, canary: &mut Option<Canary>) -> bool {
    let begun = Instant::now();
    while let Some(left) = every.checked_sub(begun.elapsed()) {
        // No canary is begun only to be broken off.
        if stop.wait(Duration::ZERO) {
            return true;
        }
        let is_running = canary.as_mut().is_some_and(|canary| {
            canary.step();
            canary.is_running()
        });
        if stop.wait(if is_running { left.min(GLANCE) } else { left }) {
            return true;
        }
    }
    false
}

/// Canaries of this host; `None` if there are to be none.
fn canary_of(options: &HostOptions) -> Option<Canary> {
    let presence = Presence::new(ProcTree::new(&options.proc));
    (!options.canary.is_zero())
        .then(|| Canary::new(program(options), options.canary, LIMIT, presence))
}

fn told(canary: &Option<Canary>) -> Value {
    canary.as_ref().map_or(Value::Null, Canary::report)
}

fn beside(recorder: Value, canary: &Value) -> Beside {
    Beside {
        recorder,
        canary: canary.clone(),
    }
}

fn program(options: &HostOptions) -> PathBuf {
    let program = options.probe.clone().or_else(beside_us);
    program.unwrap_or_else(|| PathBuf::from("pyro-probe"))
}

/// Streams of the host, from their begin until they are begun anew.
struct Recording {
    session: Session,
    recorder: Recorder,
    found: Found,
    since: Instant,
    /// Folders that were left had taken all of the spool.
    had_no_room: bool,
}

impl Recording {
    /// Takes a new raw folder: a recorder begins its files anew.
    fn begin(options: &HostOptions) -> Result<Self, String> {
        let birth = SystemClock::default().wall_ns();
        let raw = options.work_dir.join(format!("{birth:x}"));
        let made = fs::DirBuilder::new().mode(0o700).create(&raw);
        made.map_err(|error| format!("{}: {error}", raw.display()))?;
        let session = Session::begin(&raw, OF_THE_HOST, &options.shipping, true, None)
            .inspect_err(|_| drop(fs::remove_dir_all(&raw)))?;
        let recorder = recorder(options, session.path());
        Ok(Self {
            session,
            recorder,
            found: Found::new(ProcTree::new(&options.proc)),
            since: Instant::now(),
            had_no_room: false,
        })
    }

    /// Has canaries written here from now on.
    fn take_canaries(&self, options: &HostOptions, canary: &mut Option<Canary>) {
        let Some(canary) = canary else {
            return;
        };
        match Lines::begin(self.session.folder(), &options.shipping.host) {
            Ok(lines) => canary.write_to(lines),
            Err(error) => eprintln!("pyro-agent: canaries are not written: {error}"),
        }
    }

    /// Has the executors recorded that have come.
    fn look(&mut self) {
        self.found.look(&self.session);
    }

    fn round(&mut self, restarts: &mut Restarts<SystemClock>, canary: &Value, room: u64) {
        self.session.bound(room);
        self.had_no_room |= room == 0;
        restarts.look(self.recorder.ended().as_deref());
        let also = beside(restarts.told(self.recorder.state()), canary);
        self.session.round(false, &also);
    }

    /// Starts the recorder once more, which left nothing.
    fn record_again(&mut self, options: &HostOptions) {
        self.recorder = recorder(options, self.session.path());
    }

    /// Ends it; what has not arrived by then is left.
    fn end(
        mut self,
        restarts: &Restarts<SystemClock>,
        canary: &Value,
        reason: &'static str,
    ) -> Option<Rest> {
        self.recorder.stop();
        let state = beside(restarts.told(self.recorder.state()), canary);
        let round = self.session.finish(true, &state, reason);
        if !round.is_done() {
            return Some(Rest::new(self.session, reason, state, round.waiting));
        }
        self.session.remove();
        None
    }
}

/// What the present streams may have wait for the store: all folders have one spool together, and the oldest are kept.
fn room(options: &HostOptions, before: &Rests) -> u64 {
    let spool = options.shipping.spool_mib << 20;
    let left = spool.saturating_sub(before.waiting_bytes());
    // Of less than a part of it no stream would have more than its beginning.
    if left < spool / 16 { 0 } else { left }
}

/// Makes the work folder, or takes one where nobody else can write: what files there name is followed, and what an
/// agent left there removed.
fn take(work_dir: &Path) -> io::Result<()> {
    let mut private = fs::DirBuilder::new();
    private.mode(0o700).recursive(true).create(work_dir)?;
    let about = fs::metadata(work_dir)?;
    let is_ours = about.uid() == rustix::process::geteuid().as_raw();
    match is_ours && about.mode() & WRITTEN_BY_OTHERS == 0 {
        true => Ok(()),
        false => Err(io::Error::other(
            "others may write there. Give a folder of this user's alone, or one that is to be made",
        )),
    }
}

/// Executors that were told to the recorder.
struct Found {
    tree: ProcTree,
    /// Name of this host as the kernel has it: what the recorder holds it against.
    host: String,
    /// Rounds since a process was seen first; `None` for a JVM, which has been looked at for good.
    seen: BTreeMap<i32, Option<u32>>,
}

impl Found {
    fn new(tree: ProcTree) -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self {
            tree,
            host: host.trim().to_owned(),
            seen: BTreeMap::new(),
        }
    }

    /// Looks at new processes, and at those that may have become a JVM since (a shell that executes one keeps its number):
    /// 1, 2, 4, 8 and so on rounds after the first, which costs little and is never late by more than they waited. Writes a file for
    /// each executor: what the recorder follows, and what a reader ties its rows to.
    fn look(&mut self, session: &Session) {
        let Ok(pids) = self.tree.pids() else {
            return;
        };
        let here: BTreeSet<i32> = pids.into_iter().collect();
        self.seen.retain(|pid, _| here.contains(pid));
        let mut jvms = Vec::new();
        for pid in here {
            let Some(rounds) = self.seen.entry(pid).or_insert(Some(0)) else {
                continue;
            };
            let is_due = *rounds == 0 || rounds.is_power_of_two();
            *rounds = rounds.saturating_add(1);
            if let (true, Some(jvm)) = (is_due, self.tree.jvm(pid)) {
                self.seen.insert(pid, None);
                jvms.push(jvm);
            }
        }
        for executor in discover(&jvms) {
            let name = file_name(&executor);
            let content = json!({
                "schema": "pyrometer/executor/1",
                "wall_ns": SystemClock::default().wall_ns(),
                "host": self.host,
                "found": executor,
            });
            if replace(session.folder(), &name, &content.to_string()).is_err() {
                // Once more in the next round.
                self.seen.remove(&executor.pid);
            }
        }
    }
}

fn file_name(executor: &Executor) -> String {
    let started = executor.start_ticks.unwrap_or(0);
    format!("executor-{started}-{}.json", executor.pid)
}

/// It follows us and our children, and whoever a file of the folder names.
fn recorder(options: &HostOptions, raw: &Path) -> Recorder {
    let host = &options.shipping.host;
    let program = Program::new(&program(options));
    Recorder::start(&program, Of::Us, &options.pace, host, raw)
}

fn beside_us() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    Some(own.with_file_name("pyro-probe")).filter(|probe| probe.is_file())
}
