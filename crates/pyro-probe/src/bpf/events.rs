//! The programs that see every switch, request and reading call, `events.bpf.c`.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray, RingBuf};
use aya::programs::BtfTracePoint;
use aya::sys::{Stats, enable_stats};
use aya::{Ebpf, Pod};
use serde_json::{Value, json};

use super::cost::Cost;
use super::iterators::{bind, load_iterator};
use super::kernel::Kernel;
use super::object::object;
use super::refusal::{Refusal, damaged, refused};
use crate::parse::events::{
    self, Event, LATENCY, LATENCY_KEY, LOST, Latency, OffCpu, STACK, SUM, SUM_KEY,
};
use crate::sys::bpf::iterate;
use crate::sys::map::drain;
use crate::sys::{ahead_of_kernel_ns, mono_ns};

/// Programs and their tracepoints, in groups that are of use only together; the first must be had.
const GROUPS: [(&str, &[(&str, &str)]); 3] = [
    (
        "scheduler",
        &[
            ("switched", "sched_switch"),
            ("waking", "sched_waking"),
            ("runnable", "sched_wakeup"),
            ("born", "sched_wakeup_new"),
            ("forked", "sched_process_fork"),
        ],
    ),
    (
        "block requests",
        &[
            ("inserted", "block_rq_insert"),
            ("issued", "block_rq_issue"),
            ("completed", "block_rq_complete"),
        ],
    ),
    (
        "reading calls",
        &[("entered", "sys_enter"), ("left", "sys_exit")],
    ),
];

/// Iterators over the threads of a process: to watch them, and to report those off their CPU.
const FOLLOW: &str = "follow";
const OFF_NOW: &str = "off_now";

/// The programs, attached.
pub struct Events {
    object: Ebpf,
    ring: RingBuf<MapData>,
    /// Has the kernel count the programs' time for as long as it is open.
    statistics: Option<OwnedFd>,
    /// What they cost; `None` where the kernel does not count it.
    cost: Option<Cost>,
    /// Groups that cannot be had here, and why.
    pub missing: Vec<(&'static str, String)>,
    /// Which of the two buffers of sums is added to.
    buffer: u32,
    /// Our clock less that of the programs.
    ahead_ns: i64,
}

impl Events {
    /// Loads the programs and attaches them; nothing is followed yet.
    ///
    /// # Errors
    /// Why the scheduler's events cannot be had here.
    pub fn attach(kernel: &Kernel) -> Result<Self, Refusal> {
        own_namespace()?;
        let mut object = kernel.load(object!("events"))?;
        let mut missing = Vec::new();
        for (name, programs) in GROUPS {
            match attach_group(&mut object, kernel, programs) {
                Ok(()) => {}
                Err(refusal) if name == GROUPS[0].0 => return Err(refusal),
                Err(refusal) => missing.push((name, refusal.reason)),
            }
        }
        for program in [FOLLOW, OFF_NOW] {
            load_iterator(&mut object, program, kernel)?;
        }
        let ring = object.take_map("told").ok_or_else(damaged)?;
        let statistics = enable_stats(Stats::RunTime).ok();
        Ok(Self {
            ring: RingBuf::try_from(ring).map_err(refused)?,
            object,
            cost: statistics.is_some().then(|| Cost::start(mono_ns())),
            statistics,
            missing,
            buffer: 0,
            ahead_ns: ahead_of_kernel_ns(),
        })
    }

    /// Watches the threads of a process from now on, and all that they create.
    ///
    /// # Errors
    /// What the system says: `ESRCH` where the process has ended.
    pub fn follow(&mut self, pid: i32) -> io::Result<()> {
        self.visit(FOLLOW, pid)
    }

    /// Has the threads of a process that are off their CPU reported, in the ring buffer.
    ///
    /// # Errors
    /// What the system says: `ESRCH` where the process has ended.
    pub fn report_off_now(&mut self, pid: i32) -> io::Result<()> {
        self.visit(OFF_NOW, pid)
    }

    /// Runs an iterator; it writes nothing for us to read.
    fn visit(&self, program: &str, pid: i32) -> io::Result<()> {
        let link = bind(&self.object, program, pid)?;
        iterate(&link)?.read_to_end(&mut Vec::new()).map(drop)
    }

    /// Takes what the ring buffer holds.
    pub fn take(&mut self, mut each: impl FnMut(Event)) {
        while let Some(record) = self.ring.next() {
            Event::parse(&record, self.ahead_ns)
                .into_iter()
                .for_each(&mut each);
        }
    }

    /// Has the kernel add to the other buffer of sums.
    pub fn swap_buffers(&mut self) {
        self.buffer ^= 1;
        let map = self.object.map_mut("side");
        if let Some(Ok(mut map)) = map.map(Array::<_, u32>::try_from) {
            let _ = map.set(0, self.buffer, 0);
        }
    }

    /// Takes the sums of the buffer that is not added to.
    pub fn take_sums(&mut self, mut off: impl FnMut(OffCpu), mut latency: impl FnMut(Latency)) {
        let (sums, latencies) = match self.buffer {
            0 => ("sums1", "latencies1"),
            _ => ("sums0", "latencies0"),
        };
        if let Some(Map::HashMap(map)) = self.object.map(sums) {
            let _ = drain(map, SUM_KEY, SUM, |key, value| {
                off(events::sum(key, value));
            });
        }
        if let Some(Map::HashMap(map)) = self.object.map(latencies) {
            let _ = drain(map, LATENCY_KEY, LATENCY, |key, value| {
                latency(events::latency(key, value));
            });
        }
    }

    /// Frames of a stack by its hash, leaf first.
    pub fn stack(&self, hash: u64) -> Vec<u64> {
        let bytes: Option<[u8; STACK]> = self.read("stacks", hash);
        bytes
            .map(|bytes| events::frames(&bytes))
            .unwrap_or_default()
    }

    fn read<K: Pod, V: Pod>(&self, map: &str, key: K) -> Option<V> {
        let map = HashMap::<_, K, V>::try_from(self.object.map(map)?).ok()?;
        map.get(&key, 0).ok()
    }

    /// What found no room, by what it was.
    pub fn lost(&self) -> Vec<(&'static str, u64)> {
        LOST.into_iter()
            .zip(0..)
            .map(|(name, index)| (name, self.counted(index)))
            .collect()
    }

    /// Switches without an event: their intervals are known from the scheduler's own times.
    pub fn unseen_switches(&self) -> u64 {
        self.counted(LOST.len() as u32)
    }

    fn counted(&self, index: u32) -> u64 {
        let lost = self.object.map("lost");
        let Some(Ok(lost)) = lost.map(PerCpuArray::<_, u64>::try_from) else {
            return 0;
        };
        lost.get(&index, 0).map_or(0, |values| values.iter().sum())
    }

    /// Looks at what the programs cost, once a second: counting costs as well, so that it is done in
    /// some seconds only.
    pub fn look_at_cost(&mut self) {
        let counted = self.counted_cost().map(|(_, _, ns)| ns).sum();
        if let Some(cost) = &mut self.cost {
            let counts = cost.look(mono_ns(), counted, self.statistics.is_some());
            if counts != self.statistics.is_some() {
                self.statistics = counts.then(|| enable_stats(Stats::RunTime).ok()).flatten();
            }
        }
    }

    /// CPU time of all programs, in ns: an estimate. `None` where the kernel does not count it.
    pub fn cpu_ns(&self) -> Option<i64> {
        self.cost.as_ref().map(Cost::cpu_ns)
    }

    /// Share of the time in which the programs' cost was counted.
    pub fn counted_ratio(&self) -> Option<f64> {
        self.cost.as_ref().map(Cost::counted_ratio)
    }

    /// Runs and time of every program, estimated; `None` where the kernel does not count them.
    pub fn costs(&self) -> Option<Value> {
        let scale = self.cost.as_ref()?.scale();
        let scaled = |counted: f64| (counted * scale).round() as i64;
        let rows = self.counted_cost().map(|(event, count, ns)| {
            json!({"event": event, "count": scaled(count as f64), "cpu_ns": scaled(ns as f64)})
        });
        Some(rows.collect())
    }

    /// Tracepoint, runs and ns of every program, as the kernel counted them.
    fn counted_cost(&self) -> impl Iterator<Item = (&'static str, u64, i64)> {
        self.object.programs().filter_map(|(name, program)| {
            let info = program.info().ok()?;
            let mut known = GROUPS.iter().flat_map(|group| group.1);
            let tracepoint = known.find(|known| known.0 == name)?.1;
            let ns = i64::try_from(info.run_time().as_nanos()).unwrap_or(i64::MAX);
            Some((tracepoint, info.run_count(), ns))
        })
    }
}

fn attach_group(
    object: &mut Ebpf,
    kernel: &Kernel,
    programs: &[(&str, &str)],
) -> Result<(), Refusal> {
    for (name, tracepoint) in programs {
        let program: &mut BtfTracePoint = object
            .program_mut(name)
            .ok_or_else(damaged)?
            .try_into()
            .map_err(refused)?;
        program.load(tracepoint, kernel.types()).map_err(refused)?;
    }
    for (name, _) in programs {
        let program = object.program_mut(name).ok_or_else(damaged)?;
        let program: &mut BtfTracePoint = program.try_into().map_err(refused)?;
        program.attach().map_err(refused)?;
    }
    Ok(())
}

/// Inode of the host's own PID namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h). What a mounted
/// `/proc` shows of numbers (NSpid) begins at its own namespace and does not show it.
const HOST_PID_NAMESPACE: u64 = 0xefff_fffc;

/// The programs see the host's numbers of processes: ours must be the same.
fn own_namespace() -> Result<(), Refusal> {
    match std::fs::metadata("/proc/self/ns/pid") {
        Ok(found) if found.ino() == HOST_PID_NAMESPACE => Ok(()),
        _ => Err(Refusal {
            reason: "the probe runs in a PID namespace of its own".to_owned(),
            remedy: "Run the probe in the host's PID namespace (docker run --pid=host).",
        }),
    }
}
