//! Counters of `perf_event_open`: of threads, of memory controllers and links, of energy.
//!
//! Everything is tried, nothing is inferred from a model or a version; what cannot be had goes to
//! the report with its reason.

mod cycles;
mod events;
mod format;
mod kernel;
mod memory;
mod resctrl;
mod rows;
mod sysfs;
#[cfg(test)]
mod tests;
mod threads;
mod traffic;

use std::path::Path;

use serde_json::{Value, json};

use crate::output::{Outputs, ThreadRow};
use crate::perf::events::Tried;
use crate::perf::kernel::{Kernel, System};
use crate::perf::memory::{Meter, Refused};
use crate::perf::resctrl::Resctrl;
use crate::perf::rows::{Emit, Row};
pub use crate::perf::sysfs::Sysfs;
#[cfg(test)]
pub use crate::perf::sysfs::tests_support;
use crate::perf::threads::Threads;
use crate::sys::{Descriptors, mono_ns};
pub use cycles::try_cycle_counter;
pub use events::OfThreads;

/// What is counted in a recording.
#[derive(Debug)]
pub struct Perf<K: Kernel = System> {
    kernel: K,
    tried: Vec<Tried>,
    threads: Threads<K>,
    meters: Vec<Meter<K::Handle>>,
    resctrl: Option<Resctrl>,
    refused: Vec<Refused>,
}

impl Perf {
    /// Opens what this machine has.
    pub fn start(descriptors: &Descriptors, of_threads: OfThreads) -> Self {
        let sysfs = Sysfs::at("/sys");
        let mut started = Self::open(System, &sysfs, amd_cpu(), of_threads, descriptors);
        match Resctrl::create(
            Path::new("/sys/fs/resctrl"),
            &sysfs,
            std::process::id(),
            mono_ns(),
        ) {
            Ok(resctrl) => started.resctrl = Some(resctrl),
            Err(refused) => started.refused.push(refused),
        }
        started
    }
}

impl<K: Kernel> Perf<K> {
    fn nothing(kernel: K, descriptors: &Descriptors) -> Self {
        Self {
            kernel,
            tried: Vec::new(),
            threads: Threads::new(Vec::new(), descriptors),
            meters: Vec::new(),
            resctrl: None,
            refused: Vec::new(),
        }
    }

    fn open(
        mut kernel: K,
        sysfs: &Sysfs,
        amd: Option<(u32, u32)>,
        of_threads: OfThreads,
        descriptors: &Descriptors,
    ) -> Self {
        let (mut plan, mut tried) = events::try_out(&mut kernel, events::catalogue(sysfs));
        if let Some(reason) = events::spared(&tried, of_threads) {
            plan.clear();
            for one in &mut tried {
                one.refused.get_or_insert_with(|| reason.clone());
            }
        }
        let mut refused = Vec::new();
        let meters = memory::open(&mut kernel, sysfs, amd, &mut refused);
        Self {
            tried,
            threads: Threads::new(plan, descriptors),
            meters,
            refused,
            ..Self::nothing(kernel, descriptors)
        }
    }

    /// Takes note of a reading of a thread (a row of `thread_counters`).
    pub fn seen(&mut self, row: &ThreadRow, outputs: &mut Outputs) {
        if row.first
            && let Some(resctrl) = &mut self.resctrl
        {
            resctrl.follow(row.tid);
        }
        let key = (row.pid, row.tid);
        self.note(key, mono_ns, row.first, row.last, &mut |row| {
            write(outputs, row)
        });
    }

    fn note(
        &mut self,
        key: (i32, i32),
        clock: impl Fn() -> i64,
        first: bool,
        last: bool,
        emit: &mut Emit,
    ) {
        self.threads
            .seen(&mut self.kernel, key, clock(), first, last, emit);
    }

    /// Reads the threads that ran since the last pass; with `slow` also memory and energy.
    pub fn pass(&mut self, slow: bool, outputs: &mut Outputs) {
        self.turn(slow, mono_ns, &mut |row| write(outputs, row));
    }

    fn turn(&mut self, slow: bool, clock: impl Fn() -> i64, emit: &mut Emit) {
        self.threads.pass(&mut self.kernel, slow, &clock, emit);
        if slow {
            for meter in &mut self.meters {
                meter.read(&mut self.kernel, clock(), emit);
            }
            if let Some(resctrl) = &mut self.resctrl {
                resctrl.read(clock(), emit);
            }
        }
    }

    /// Takes the last readings and closes the counters of threads.
    pub fn finish(&mut self, outputs: &mut Outputs) {
        self.end(mono_ns, &mut |row| write(outputs, row));
    }

    fn end(&mut self, clock: impl Fn() -> i64, emit: &mut Emit) {
        self.turn(true, &clock, emit);
        self.threads.finish(&mut self.kernel, &clock, emit);
        self.meters.iter_mut().for_each(|meter| meter.end(emit));
        if let Some(resctrl) = &mut self.resctrl {
            resctrl.end(emit);
        }
    }

    /// The account of it.
    pub fn report(&self) -> Value {
        let figures = self.threads.figures;
        let traffic = self.meters.iter().map(|meter| {
            json!({
                "measure": meter.measure,
                "scope": meter.scope,
                "source": meter.source,
                "counters_count": meter.counters(),
            })
        });
        let refused = self.refused.iter();
        json!({
            "events": self.tried.iter().map(Tried::to_json).collect::<Vec<_>>(),
            "traffic": traffic.collect::<Vec<_>>(),
            "traffic_refused": refused
                .map(|(reason, remedy)| json!({"reason": reason, "remedy": remedy}))
                .collect::<Vec<_>>(),
            "resctrl_figures_count": self.resctrl.as_ref().map(Resctrl::figures_count),
            "resctrl_refused_threads_count": self.resctrl.as_ref().map(|resctrl| resctrl.refused),
            "threads_count": figures.threads,
            "threads_refused_count": figures.refused,
            "threads_beyond_limit_count": figures.beyond_limit,
            "readings_count": figures.readings,
            "displaced_groups_count": figures.displaced,
        })
    }
}

/// Appends a row of table `perf_counts`.
fn write(outputs: &mut Outputs, row: Row) {
    let rows = &mut outputs.perf_counts.rows;
    rows.host.append_value(&outputs.host);
    rows.t_mono_ns.append_value(row.t_mono_ns);
    rows.scope.append_value(row.scope);
    rows.pid
        .append_option(row.thread.map(|thread| i64::from(thread.0)));
    rows.tid
        .append_option(row.thread.map(|thread| i64::from(thread.1)));
    rows.event.append_value(row.event);
    rows.value.append_value(row.count.value);
    rows.enabled_ns.append_value(row.count.enabled_ns);
    rows.running_ns.append_value(row.count.running_ns);
    outputs.perf_counts.row_done();
}

/// Family and model of an x86 CPU by AMD.
fn amd_cpu() -> Option<(u32, u32)> {
    family_and_model(&std::fs::read_to_string("/proc/cpuinfo").ok()?)
}

/// `cpu family` and `model` in `/proc/cpuinfo`, if that is of AMD.
fn family_and_model(text: &str) -> Option<(u32, u32)> {
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(found, _)| found.trim() == name)?;
        Some(value.trim())
    };
    if value("vendor_id")? != "AuthenticAMD" {
        return None;
    }
    Some((
        value("cpu family")?.parse().ok()?,
        value("model")?.parse().ok()?,
    ))
}

/// A capability for `tiers`: name, means, and what came of it.
pub struct Capability {
    /// `counters`, `bandwidth` or `energy`.
    pub name: &'static str,
    /// By which means.
    pub tier: &'static str,
    /// What it is, or why it is not there and what to do.
    pub outcome: Result<String, Refused>,
}

/// Tries everything and closes it again.
pub fn capabilities() -> Vec<Capability> {
    let perf = Perf::open(
        System,
        &Sysfs::at("/sys"),
        amd_cpu(),
        OfThreads::All,
        &Descriptors::new(0),
    );
    let of = |software: bool| {
        let (there, not): (Vec<&Tried>, Vec<&Tried>) = perf
            .tried
            .iter()
            .filter(|tried| tried.software == software)
            .partition(|tried| tried.refused.is_none());
        let names = |list: &[&Tried]| {
            list.iter()
                .map(|tried| tried.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        match not.first().and_then(|first| first.refused.clone()) {
            None => Ok(names(&there)),
            Some((reason, remedy)) if there.is_empty() => {
                Err((format!("{}: {reason}", names(&not)), remedy))
            }
            Some((reason, _)) => Ok(format!("{} (not {}: {reason})", names(&there), names(&not))),
        }
    };
    let traffic = |energy: bool| {
        let found: Vec<String> = perf
            .meters
            .iter()
            .filter(|meter| meter.measure.starts_with("energy") == energy)
            .map(|meter| format!("{} ({}, {})", meter.measure, meter.source, meter.scope))
            .collect();
        found.join(", ")
    };
    let or = |text: String, otherwise: Refused| {
        if text.is_empty() {
            Err(otherwise)
        } else {
            Ok(text)
        }
    };
    let mut no_memory = "no PMU of a memory controller".to_owned();
    for (reason, _) in &perf.refused {
        no_memory.push_str("; ");
        no_memory.push_str(reason);
    }
    let remedy = "Use bare metal or a machine type that shows them; else bandwidth is estimated from cache misses, where there is a PMU.";
    let no_energy = "no PMU of the power supply (RAPL)".to_owned();
    let capability = |name, tier, outcome| Capability {
        name,
        tier,
        outcome,
    };
    vec![
        capability("counters", "software", of(true)),
        capability("counters", "hardware", of(false)),
        capability(
            "bandwidth",
            "memory controllers",
            or(traffic(false), (no_memory, remedy)),
        ),
        capability(
            "energy",
            "RAPL",
            or(traffic(true), (no_energy, "Use bare metal.")),
        ),
    ]
}
