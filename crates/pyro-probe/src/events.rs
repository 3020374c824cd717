//! Tier T0: rows of time off the CPU, of latencies and of threads that ended.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::bpf::{Events, Kernel, Refusal};
use crate::kernel_stacks::KernelStacks;
use crate::parse::counters::Counters;
use crate::parse::events::{Event, Latency, OffCpu};
use crate::rows::Rows;
use crate::sys::mono_ns;

/// A buffer of sums is complete so long after it was swapped.
const SETTLED: Duration = Duration::from_millis(2);

/// The events of followed processes.
pub struct Recording {
    events: Events,
    /// Numbers of stacks by the kernel's hash of them.
    stacks: HashMap<u64, Option<i32>>,
    devices: HashMap<(u32, u32), String>,
    watched: BTreeSet<i32>,
    /// Begin of the period that is being added up.
    since_ns: i64,
    /// Begin and end of a period whose sums can be taken.
    due: Option<(i64, i64)>,
    intervals_count: i64,
    exits_count: u64,
}

impl Recording {
    /// Attaches the programs.
    ///
    /// # Errors
    /// Why they cannot be had here.
    pub fn start(kernel: &Kernel) -> Result<Self, Refusal> {
        Ok(Self {
            events: Events::attach(kernel)?,
            stacks: HashMap::new(),
            devices: HashMap::new(),
            watched: BTreeSet::new(),
            since_ns: mono_ns(),
            due: None,
            intervals_count: 0,
            exits_count: 0,
        })
    }

    /// Watches processes that are not watched yet.
    pub fn follow(&mut self, pids: impl Iterator<Item = i32>) {
        for pid in pids {
            if !self.watched.contains(&pid) && self.events.follow(pid).is_ok() {
                self.watched.insert(pid);
            }
        }
    }

    /// Forgets processes that are gone: another one may come under an old number.
    pub fn forget_gone(&mut self, alive: impl Fn(i32) -> bool) {
        self.watched.retain(|&pid| alive(pid));
    }

    /// Takes what came since the last pass; passes on the threads that ended.
    pub fn pass(&mut self, rows: &mut Rows, ended: &mut dyn FnMut(&mut Rows, i32, &Counters)) {
        let mut taken = Vec::new();
        self.events.take(|event| taken.push(event));
        for event in taken {
            match event {
                Event::OffCpu(off) => self.off_cpu(&off, None, rows),
                Event::Ended(pid, last) => {
                    self.exits_count += 1;
                    ended(rows, pid, &last);
                }
            }
        }
        if let Some(period) = self.due.take() {
            self.sums(period, rows);
        }
    }

    /// Ends a period: its sums are taken in the next pass.
    pub fn swap_buffers(&mut self) {
        let now = mono_ns();
        self.events.swap_buffers();
        self.due = Some((self.since_ns, now));
        self.since_ns = now;
    }

    /// Takes all remaining events, including those of threads that are still off their CPU.
    pub fn finish(&mut self, rows: &mut Rows, ended: &mut dyn FnMut(&mut Rows, i32, &Counters)) {
        self.pass(rows, ended);
        self.swap_buffers();
        std::thread::sleep(SETTLED);
        for &pid in &self.watched {
            // One that has ended has nothing to report.
            let _ = self.events.report_off_now(pid);
        }
        self.pass(rows, ended);
        self.events.look_at_cost();
    }

    fn sums(&mut self, period: (i64, i64), rows: &mut Rows) {
        let (mut offs, mut latencies) = (Vec::new(), Vec::new());
        self.events
            .take_sums(|off| offs.push(off), |latency| latencies.push(latency));
        for off in offs {
            self.off_cpu(&off, Some(period), rows);
        }
        for latency in latencies {
            self.latency(&latency, period, rows);
        }
    }

    fn off_cpu(&mut self, off: &OffCpu, period: Option<(i64, i64)>, rows: &mut Rows) {
        self.intervals_count += off.count;
        let stack = self.stack(off.stack, &mut rows.stacks);
        let (begin, end) = period.unwrap_or_default();
        let to = &mut rows.outputs.off_cpu.rows;
        to.host.append_value(&rows.outputs.host);
        to.pid.append_value(off.pid.into());
        to.tid.append_value(off.tid.into());
        to.begin_mono_ns.append_value(off.begin_ns.unwrap_or(begin));
        to.end_mono_ns.append_value(off.end_ns.unwrap_or(end));
        to.count.append_value(off.count);
        to.off_ns.append_value(off.off_ns);
        to.run_queue_ns.append_value(off.run_queue_ns);
        to.kind.append_value(off.kind);
        to.io_wait.append_value(off.io_wait);
        to.kernel_stack.append_option(stack);
        let waker = off.waker.as_ref();
        to.waker_pid
            .append_option(waker.map(|waker| i64::from(waker.pid)));
        to.waker_tid
            .append_option(waker.map(|waker| i64::from(waker.tid)));
        to.waker_comm
            .append_option(waker.map(|waker| waker.comm.as_str()));
        to.waker_interrupt
            .append_option(waker.map(|waker| waker.interrupt));
        rows.outputs.off_cpu.row_done();
    }

    fn latency(&mut self, latency: &Latency, (begin, end): (i64, i64), rows: &mut Rows) {
        let device = latency.device.map(|numbers| {
            let names = self.devices.entry(numbers);
            names.or_insert_with(|| device_name(numbers)).as_str()
        });
        let to = &mut rows.outputs.io_latency.rows;
        to.host.append_value(&rows.outputs.host);
        to.begin_mono_ns.append_value(begin);
        to.end_mono_ns.append_value(end);
        to.kind.append_value(latency.kind);
        to.device.append_option(device);
        to.pid.append_value(latency.pid.into());
        to.operation.append_value(latency.operation);
        to.low_ns.append_value(latency.low_ns);
        to.count.append_value(latency.count);
        to.sum_ns.append_value(latency.sum_ns);
        to.bytes.append_value(latency.bytes);
        rows.outputs.io_latency.row_done();
    }

    fn stack(&mut self, hash: u64, stacks: &mut KernelStacks) -> Option<i32> {
        if hash == 0 {
            return None;
        }
        if let Some(&known) = self.stacks.get(&hash) {
            return known;
        }
        let frames = self.events.stack(hash);
        let number = stacks.of_addresses(frames.into_iter());
        self.stacks.insert(hash, number);
        number
    }

    /// What came of it, for the probe's report.
    pub fn report(&self) -> Value {
        let lost = self.events.lost().into_iter();
        let lost: Map<_, _> = lost
            .map(|(name, count)| (name.to_owned(), count.into()))
            .collect();
        let missing = self.events.missing.iter();
        let missing: Vec<Value> = missing
            .map(|(name, reason)| json!({"events": name, "reason": reason}))
            .collect();
        json!({
            "intervals_count": self.intervals_count,
            "exits_count": self.exits_count,
            "lost": lost,
            "unseen_switches_count": self.events.unseen_switches(),
            "missing": missing,
            "programs": self.events.costs(),
            "programs_counted_ratio": self.events.counted_ratio(),
        })
    }

    /// Events that found no room.
    pub fn dropped(&self) -> u64 {
        self.events.lost().iter().map(|(_, count)| count).sum()
    }

    /// Looks at what the programs cost; to be called once a second.
    pub fn look_at_cost(&mut self) {
        self.events.look_at_cost();
    }

    /// CPU time of the programs, in whatever thread's context they ran; `None` where it is not counted.
    pub fn cpu_ns(&self) -> Option<i64> {
        self.events.cpu_ns()
    }
}

/// Name of a block device, as in `/proc/diskstats`.
fn device_name((major, minor): (u32, u32)) -> String {
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}"));
    let name = link
        .ok()
        .and_then(|path| path.file_name().map(|name| name.to_owned()));
    name.map_or_else(
        || format!("{major}:{minor}"),
        |name| name.to_string_lossy().replace('!', "/"),
    )
}
