//! Delay accounting for as long as a probe runs.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::client::{ATTR_PID, ATTR_TGID, Client};
use super::exits::{ExitEvent, Exits};
use super::guardian;
use super::rows::{Last, Row, process_rows};
use super::setting::{SWITCH, Setting};
use super::threads::{MEMORY, Threads};
use crate::parse::taskstats::{KINDS, Message, Stats, WITH_PROCESSES, messages};
use crate::sys::mono_ns;

/// Delay accounting for as long as a probe runs; without permission it does nothing and says why.
#[derive(Debug, Default)]
pub struct Taskstats {
    client: Option<Client>,
    setting: Option<Setting>,
    switched_on: bool,
    pub(super) last: HashMap<(i64, usize), Last>,
    threads: Threads,
    refused: Option<String>,
    not_switched_on: Option<String>,
    exits: Exits,
    overruns_count: u64,
}

impl Taskstats {
    /// Asks for delays and exits; switches delay accounting on, with the old setting kept in a file in `records`.
    pub fn start(records: &Path) -> Self {
        let mut taskstats = Self::default();
        match Client::open() {
            Ok(client) => taskstats.client = Some(client),
            Err(error) => {
                taskstats.refused = Some(format!("taskstats: {error}"));
                return taskstats;
            }
        }
        match Setting::hold(Path::new(SWITCH), "1", records) {
            Ok(setting) => {
                taskstats.switched_on = setting.is_some();
                taskstats.setting = setting;
                if taskstats.switched_on
                    && let Err(error) = guardian::start()
                {
                    eprintln!("pyro-probe: no guardian of {SWITCH}: {error}");
                }
            }
            Err(error) => taskstats.not_switched_on = Some(error.to_string()),
        }
        taskstats
    }

    /// Reads the delays of processes; rows for those that grew, and for the reading before. Where their
    /// waits for memory did, all of their `threads` are read too.
    pub fn pass(
        &mut self,
        pids: impl Iterator<Item = i32>,
        threads: impl Fn(i32) -> Vec<i32>,
        emit: &mut dyn FnMut(Row),
    ) {
        for pid in pids {
            let process = i64::from(pid);
            let Some(stats) = self.ask(ATTR_TGID, pid) else {
                continue;
            };
            let (now, before) = (mono_ns(), self.memory_waits(process));
            process_rows(&mut self.last, process, now, &stats, emit);
            if self.memory_waits(process) != before {
                for tid in threads(pid) {
                    self.thread(pid, tid, emit);
                }
            }
            self.threads.looked(process, now);
        }
    }

    fn ask(&mut self, attribute: u16, id: i32) -> Option<Stats> {
        self.client.as_mut()?.ask(attribute, id)
    }

    /// How often a process had waited for memory when it was last read.
    fn memory_waits(&self, pid: i64) -> i64 {
        MEMORY
            .filter_map(|kind| Some(self.last.get(&(pid, kind))?.delay.count))
            .sum()
    }

    /// Forgets processes that are gone: their last readings become rows.
    pub fn forget(&mut self, alive: impl Fn(i64) -> bool, emit: &mut dyn FnMut(Row)) {
        self.threads.forget(&alive);
        self.last.retain(|&(pid, kind), last| {
            let there = alive(pid);
            if !there && last.seen_ns != last.written_ns {
                emit(Row {
                    t_mono_ns: last.seen_ns,
                    pid,
                    tid: None,
                    kind: KINDS[kind],
                    delay: last.delay,
                });
            }
            there
        });
    }

    /// Reads the waits for memory of one thread that lives.
    fn thread(&mut self, pid: i32, tid: i32, emit: &mut dyn FnMut(Row)) {
        if let Some(stats) = self.ask(ATTR_PID, tid) {
            let thread = (pid.into(), tid.into());
            self.threads.lives(thread, mono_ns(), &stats, emit);
        }
    }

    /// Reads the delays of one thread for the last time.
    pub fn last_of(&mut self, pid: i32, tid: i32, emit: &mut dyn FnMut(Row)) {
        if let Some(stats) = self.ask(ATTR_PID, tid) {
            let thread = (pid.into(), tid.into());
            self.threads.ended(thread, mono_ns(), &stats, emit);
        }
    }

    /// Whether the kernel says of which process a thread that ended was.
    pub fn knows_processes(&self) -> bool {
        let client = self.client.as_ref();
        client.is_none_or(|client| client.version >= WITH_PROCESSES)
    }

    /// Hands over every thread that ended since the last call, of followed processes and their
    /// children; rows of what had delayed it, and its process if that ended with it. `process_of`
    /// gives the process of a thread where the kernel does not say it.
    pub fn exits(
        &mut self,
        follows: impl Fn(i64) -> bool,
        process_of: impl Fn(i64) -> Option<i64>,
        emit: &mut dyn FnMut(ExitEvent),
    ) {
        let Some(client) = self.client.as_mut() else {
            return;
        };
        while let Some(datagram) = client.exits.take(&mut client.buffer) {
            let now = mono_ns();
            for message in messages(datagram) {
                match message {
                    Message::Thread(stats) => {
                        let both = (&stats, &mut self.threads);
                        self.exits.take(now, both, &follows, &process_of, emit);
                    }
                    Message::Process(pid, stats) if follows(pid) => {
                        process_rows(&mut self.last, pid, now, &stats, &mut |row| {
                            emit(ExitEvent::Delay(row));
                        });
                    }
                    _ => {}
                }
            }
        }
        self.overruns_count += u64::from(client.exits.overran());
    }

    /// Puts the switch back as it was found.
    pub fn end(&mut self) {
        if let Some(mut setting) = self.setting.take()
            && let Err(error) = setting.put_back()
        {
            eprintln!("pyro-probe: {error}");
        }
    }

    /// What came of it, for the probe's report.
    pub fn report(&self) -> Value {
        json!({
            "available": self.client.is_some(),
            "switched_on": self.switched_on,
            "version": self.client.as_ref().map_or(0, |client| client.version),
            "exits_count": self.exits.taken_count,
            "unassigned_exits_count": self.exits.unassigned_count,
            "lost_exits": self.overruns_count + self.exits.unassigned_count > 0,
            "reason": self.refused.as_ref().or(self.not_switched_on.as_ref()),
        })
    }
}
