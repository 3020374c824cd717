//! Delay accounting of followed processes, and every thread's last counters, from the kernel's taskstats.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::parse::counters::Counters;
use crate::parse::taskstats::{Delay, KINDS, Message, Stats, messages, request};
use crate::setting::Setting;
use crate::sys::netlink::Netlink;
use crate::sys::{self, mono_ns};

/// The switch of delay accounting.
pub const SWITCH: &str = "/proc/sys/kernel/task_delayacct";

/// Threads of a process that may be delayed at one time. A thread that was waiting when delay
/// accounting was switched on has no begin of its wait: the kernel then counts from the boot on, and
/// a growth that this many threads could not have waited for is left out.
const DELAYED_AT_ONCE: i64 = 1024;

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CMD_GET: u8 = 1;
const ATTR_PID: u16 = 1;
const ATTR_TGID: u16 = 2;
const ATTR_REGISTER_CPUMASK: u16 = 3;
/// A datagram holds two structures at most: a thread's and its process's.
const DATAGRAM_BYTES: usize = 16 << 10;

/// A row of table `delays`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Time of the reading.
    pub t_mono_ns: i64,
    /// Process.
    pub pid: i64,
    /// Thread; `None`: all of the process.
    pub tid: Option<i64>,
    /// Kind of delay.
    pub kind: &'static str,
    /// Delays since its start, and their time.
    pub delay: Delay,
}

/// What the kernel tells as a thread ends.
#[derive(Debug)]
pub enum Told {
    /// What had delayed it, or its process.
    Delay(Row),
    /// Its process, and its last counters.
    Ended(i64, Counters),
}

#[derive(Debug)]
struct Last {
    delay: Delay,
    /// Time that the kernel counted and that cannot have been: see [`DELAYED_AT_ONCE`].
    false_ns: i64,
    seen_ns: i64,
    written_ns: i64,
}

/// Questions to taskstats, and what it says of threads that end.
#[derive(Debug)]
struct Client {
    family: u16,
    asking: Netlink,
    exits: Netlink,
    buffer: Vec<u8>,
}

/// Delay accounting for as long as a probe runs; without permission it does nothing and says why.
#[derive(Debug, Default)]
pub struct Taskstats {
    client: Option<Client>,
    setting: Option<Setting>,
    switched_on: bool,
    last: HashMap<(i64, usize), Last>,
    refused: Option<String>,
    not_switched_on: Option<String>,
    version: u16,
    exits_count: u64,
    overruns_count: u64,
}

impl Taskstats {
    /// Asks for delays and exits; switches delay accounting on, with a record in `records` of how it was.
    pub fn start(records: &Path) -> Self {
        let mut made = Self::default();
        match Client::open() {
            Ok(client) => made.client = Some(client),
            Err(error) => {
                made.refused = Some(format!("taskstats: {error}"));
                return made;
            }
        }
        match Setting::hold(Path::new(SWITCH), "1", records) {
            Ok(setting) => {
                made.switched_on = setting.is_some();
                made.setting = setting;
            }
            Err(error) => made.not_switched_on = Some(error.to_string()),
        }
        made
    }

    /// Reads the delays of processes; rows for those that grew, and for the reading before.
    pub fn pass(&mut self, pids: impl Iterator<Item = i32>, emit: &mut dyn FnMut(Row)) {
        let Some(client) = self.client.as_mut() else {
            return;
        };
        for pid in pids {
            if let Some(stats) = client.ask(ATTR_TGID, pid) {
                self.version = stats.version;
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

    /// Hands over every thread that ended since the last call, of followed processes and their
    /// children; rows of what had delayed it, and its process if that ended with it.
    pub fn exits(&mut self, follows: impl Fn(i64) -> bool, told: &mut dyn FnMut(Told)) {
        let Some(client) = self.client.as_mut() else {
            return;
        };
        while let Some(datagram) = client.exits.take(&mut client.buffer) {
            let now = mono_ns();
            for message in messages(datagram) {
                match message {
                    Message::Thread(stats) => {
                        let pid = stats.pid.unwrap_or(stats.tid);
                        if follows(pid) || follows(stats.parent_pid) {
                            self.exits_count += 1;
                            thread_rows(pid, stats.tid, now, &stats, &mut |row| {
                                told(Told::Delay(row));
                            });
                            told(Told::Ended(pid, stats.counters(now)));
                        }
                    }
                    Message::Process(pid, stats) if follows(pid) => {
                        process_rows(&mut self.last, pid, now, &stats, &mut |row| {
                            told(Told::Delay(row));
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
            "version": self.version,
            "exits_count": self.exits_count,
            "lost_exits": self.overruns_count > 0,
            "reason": self.refused.as_ref().or(self.not_switched_on.as_ref()),
        })
    }
}

/// Rows of a thread: kinds that never delayed it have none, and those that the kernel says delayed it
/// for longer than it lived.
pub fn thread_rows(pid: i64, tid: i64, t_mono_ns: i64, stats: &Stats, emit: &mut dyn FnMut(Row)) {
    for (kind, delay) in KINDS.iter().zip(stats.delays) {
        let true_of = |delay: &Delay| {
            delay.count > 0 && (stats.elapsed_ns == 0 || delay.total_ns <= stats.elapsed_ns)
        };
        if let Some(delay) = delay.filter(true_of) {
            emit(Row {
                t_mono_ns,
                pid,
                tid: Some(tid),
                kind,
                delay,
            });
        }
    }
}

fn process_rows(
    known: &mut HashMap<(i64, usize), Last>,
    pid: i64,
    t_mono_ns: i64,
    stats: &Stats,
    emit: &mut dyn FnMut(Row),
) {
    for (kind, counted) in stats.delays.iter().enumerate() {
        let Some(counted) = *counted else { continue };
        let row = |t_mono_ns, delay| Row {
            t_mono_ns,
            pid,
            tid: None,
            kind: KINDS[kind],
            delay,
        };
        let first = !known.contains_key(&(pid, kind));
        let last = known.entry((pid, kind)).or_insert(Last {
            delay: Delay::default(),
            false_ns: 0,
            seen_ns: 0,
            written_ns: 0,
        });
        let grown = counted.total_ns - last.false_ns - last.delay.total_ns;
        let passed = t_mono_ns.saturating_sub(last.seen_ns);
        // At first sight nobody knows how long it ran: no wait is as long as since the boot.
        let most = if first {
            t_mono_ns / 2
        } else {
            passed.saturating_mul(DELAYED_AT_ONCE)
        };
        if grown > most {
            last.false_ns += grown;
        }
        let delay = Delay {
            count: counted.count,
            total_ns: counted.total_ns - last.false_ns,
        };
        if first || last.delay != delay {
            if !first && last.seen_ns != last.written_ns {
                emit(row(last.seen_ns, last.delay));
            }
            emit(row(t_mono_ns, delay));
            (last.delay, last.written_ns) = (delay, t_mono_ns);
        }
        last.seen_ns = t_mono_ns;
    }
}

impl Client {
    fn open() -> io::Result<Self> {
        let mut asking = Netlink::open()?;
        let mut buffer = vec![0; DATAGRAM_BYTES];
        let name = b"TASKSTATS\0";
        asking.send(&request(
            GENL_ID_CTRL,
            CTRL_CMD_GETFAMILY,
            1,
            CTRL_ATTR_FAMILY_NAME,
            name,
        ))?;
        let told = asking.take(&mut buffer).map(messages).unwrap_or_default();
        let Some(Message::Family(family)) = told.into_iter().next() else {
            return Err(io::Error::other(
                "not built into this kernel (CONFIG_TASKSTATS)",
            ));
        };
        let exits = Netlink::open()?;
        let mut client = Self {
            family,
            asking,
            exits,
            buffer,
        };
        // Answers come before send() returns; what needs CAP_NET_ADMIN is answered with EPERM.
        let question = request(
            family,
            CMD_GET,
            1,
            ATTR_PID,
            &std::process::id().to_ne_bytes(),
        );
        client.asking.send(&question)?;
        let told = client.asking.take(&mut client.buffer).map(messages);
        match told.unwrap_or_default().first() {
            Some(Message::Thread(_)) => {}
            Some(Message::Error(code)) => return Err(io::Error::from_raw_os_error(code.abs())),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        let cpus = format!(
            "0-{}\0",
            sys::sysconf(libc::_SC_NPROCESSORS_CONF).max(1) - 1
        );
        let listen = request(family, CMD_GET, 1, ATTR_REGISTER_CPUMASK, cpus.as_bytes());
        client.exits.send(&listen)?;
        if let Some(datagram) = client.exits.take(&mut client.buffer)
            && let Some(Message::Error(code)) = messages(datagram).first()
            && *code != 0
        {
            return Err(io::Error::from_raw_os_error(code.abs()));
        }
        Ok(client)
    }

    fn ask(&mut self, attribute: u16, id: i32) -> Option<Stats> {
        let question = request(self.family, CMD_GET, 1, attribute, &id.to_ne_bytes());
        self.asking.send(&question).ok()?;
        let answer = messages(self.asking.take(&mut self.buffer)?)
            .into_iter()
            .next()?;
        match answer {
            Message::Thread(stats) | Message::Process(_, stats) => Some(stats),
            _ => None,
        }
    }
}

/// Whether taskstats answers, or why not.
///
/// # Errors
/// What the system says.
pub fn try_taskstats() -> io::Result<()> {
    Client::open().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(count: i64, total_ns: i64) -> Stats {
        let mut stats = Stats::default();
        stats.delays[1] = Some(Delay { count, total_ns });
        stats
    }

    #[test]
    fn a_process_that_is_not_delayed_is_one_row() {
        let mut known = HashMap::new();
        let mut rows = Vec::new();
        for (t, count) in [(90, 3), (91, 3), (92, 3), (93, 5), (94, 6), (95, 6)] {
            process_rows(&mut known, 7, t, &stats(count, 10 * count), &mut |row| {
                rows.push((row.t_mono_ns, row.kind, row.delay.count));
            });
        }
        let blkio = |t, count| (t, "blkio", count);
        assert_eq!(
            rows,
            [blkio(90, 3), blkio(92, 3), blkio(93, 5), blkio(94, 6)]
        );
        let mut taskstats = Taskstats {
            last: known,
            ..Taskstats::default()
        };
        let mut take = |row: Row| rows.push((row.t_mono_ns, row.kind, row.delay.count));
        taskstats.forget(|pid| pid == 7, &mut take);
        taskstats.forget(|_| false, &mut take);
        assert_eq!(rows.last(), Some(&blkio(95, 6)));
        assert!(taskstats.last.is_empty());
    }

    #[test]
    fn a_wait_since_the_boot_is_none() {
        let (mut known, mut rows) = (HashMap::new(), Vec::new());
        let boot = 65_647_639_000_000;
        for (passed, count, total) in [
            (0, 1, 5),
            (250, 2, 7),
            (500, 3, 7 + boot),
            (750, 4, 9 + boot),
        ] {
            let t = boot + passed * 1_000_000;
            process_rows(&mut known, 7, t, &stats(count, total), &mut |row| {
                rows.push((row.delay.count, row.delay.total_ns));
            });
        }
        assert_eq!(rows, [(1, 5), (2, 7), (3, 7), (4, 9)]);
        let mut thread = stats(1, boot);
        thread.elapsed_ns = 1_000_000;
        thread_rows(7, 8, boot, &thread, &mut |row| panic!("{row:?}"));
    }

    #[test]
    fn a_thread_has_rows_of_what_delayed_it() {
        let mut rows = Vec::new();
        thread_rows(1, 2, 3, &stats(0, 0), &mut |row| rows.push(row));
        assert!(rows.is_empty());
        thread_rows(1, 2, 3, &stats(4, 9), &mut |row| rows.push(row));
        assert_eq!(
            (rows.len(), rows[0].tid, rows[0].delay.total_ns),
            (1, Some(2), 9)
        );
    }

    #[test]
    fn the_kernel_answers_or_says_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut taskstats = Taskstats::start(folder.path());
        let report = taskstats.report();
        if report["available"] == false {
            assert!(!report["reason"].as_str().unwrap().is_empty(), "{report}");
            return;
        }
        let mut rows = Vec::new();
        let me = std::process::id() as i32;
        taskstats.pass([me].into_iter(), &mut |row| rows.push(row));
        assert_eq!(rows.len(), KINDS.len(), "{rows:?}");
        // The kernel adds up a thread's time at its switches and at ticks: let it be switched.
        let pause = || std::thread::sleep(std::time::Duration::from_millis(1));
        std::thread::spawn(pause).join().unwrap();
        let (mut ended, me) = (Vec::new(), i64::from(me));
        // The thread may be joined before the kernel has told of its end.
        for _ in 0..100 {
            taskstats.exits(|pid| pid == me, &mut |told| {
                if let Told::Ended(pid, record) = told {
                    ended.push((pid, record.run_ns));
                }
            });
            if !ended.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(
            ended.iter().any(|&(pid, run_ns)| pid == me && run_ns > 0),
            "{ended:?}"
        );
        taskstats.end();
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "no record stays"
        );
    }
}
