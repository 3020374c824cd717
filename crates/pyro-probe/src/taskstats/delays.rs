//! Delay accounting for as long as a probe runs.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::client::{ATTR_PID, ATTR_TGID, Client};
use super::exits::{ExitEvent, Exits};
use super::guardian;
use super::rows::{Last, Row, process_rows, thread_rows};
use super::setting::{SWITCH, Setting};
use crate::parse::taskstats::{KINDS, Message, WITH_PROCESSES, messages};
use crate::sys::mono_ns;

/// Delay accounting for as long as a probe runs; without permission it does nothing and says why.
#[derive(Debug, Default)]
pub struct Taskstats {
    client: Option<Client>,
    setting: Option<Setting>,
    switched_on: bool,
    pub(super) last: HashMap<(i64, usize), Last>,
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

    /// Reads the delays of processes; rows for those that grew, and for the reading before.
    pub fn pass(&mut self, pids: impl Iterator<Item = i32>, emit: &mut dyn FnMut(Row)) {
        let Some(client) = self.client.as_mut() else {
            return;
        };
        for pid in pids {
            if let Some(stats) = client.ask(ATTR_TGID, pid) {
                process_rows(&mut self.last, pid.into(), mono_ns(), &stats, emit);
            }
        }
    }

    /// Forgets processes that are gone: their last readings become rows.
    pub fn forget(&mut self, alive: impl Fn(i64) -> bool, emit: &mut dyn FnMut(Row)) {
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

    /// Reads the delays of one thread that lives.
    pub fn thread(&mut self, pid: i32, tid: i32, emit: &mut dyn FnMut(Row)) {
        if let Some(stats) = self
            .client
            .as_mut()
            .and_then(|client| client.ask(ATTR_PID, tid))
        {
            thread_rows(pid.into(), tid.into(), mono_ns(), &stats, emit);
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
                        self.exits.take(now, &stats, &follows, &process_of, emit);
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
