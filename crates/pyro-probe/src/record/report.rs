//! The probe's account of itself.

use serde_json::{Value, json};

use super::probe::Probe;
use crate::annotate::Annotations;
use crate::events::Recording;
use crate::perf::Perf;
use crate::processes::Seen;
use crate::slot::Slots;
use crate::sys;
use crate::tiers::grant::Tier;

/// Ended processes named in the report.
const REPORTED_PROCESSES: usize = 1000;

impl Probe {
    /// What the report says now; `state` is `running` or `finished`.
    pub(super) fn report(&self, state: &str, reason: Option<&str>) -> Value {
        let (user, system, rss) = sys::own_usage();
        let programs = self.events.as_ref().and_then(Recording::cpu_ns);
        let (threads_seen, thread_readings, mistaken_ns) = self.processes.thread_figures();
        let ended = self.processes.ended.iter().rev().take(REPORTED_PROCESSES);
        let processes: Vec<Value> = self
            .processes
            .alive()
            .chain(ended)
            .map(Seen::to_json)
            .collect();
        let mut report = json!({
            "schema": "pyrometer/probe-report/1",
            "version": env!("CARGO_PKG_VERSION"),
            "host": self.options.host,
            "tier": self.tier.name(),
            "tier_asked": self.options.tier.0.map_or("auto", Tier::name),
            "tier_reason": self.tier_reason,
            "pid": std::process::id(),
            "root_pid": self.options.root_pid,
            "hz": self.options.hz,
            "state": state,
            "end_reason": reason,
            "samples_count": thread_readings,
            "threads_seen_count": threads_seen,
            "run_delay_mistaken_ns": mistaken_ns,
            "thread_rows_count": self.rows.outputs.threads.written,
            "series_rows_count": self.rows.outputs.series.written,
            "rows_count": self.rows.outputs.written(),
            "kernel_stacks_dropped_count": self.rows.stacks.dropped,
            "dropped_rows_count": self.rows.outputs.dropped(),
            "write_error": self.rows.outputs.error(),
            "context": self.rows.slots.as_ref().map(Slots::to_json),
            "kept_open_count": self.descriptors.kept(),
            "open_read_close_count": self.descriptors.open_read_close(),
            "io_denied_processes_count": self.processes.io_denied,
            "named": self.named.to_json(),
            "counters": self.rows.perf.as_ref().map(Perf::report),
            "annotation": self.rows.annotations.as_ref().map(Annotations::to_json),
            "own_cpu_ns": user + system + programs.unwrap_or(0),
            "own_user_ns": user,
            "own_system_ns": system,
            "own_peak_rss_bytes": rss,
            "clock_ticks_per_second": sys::sysconf(libc::_SC_CLK_TCK),
            "cgroup_folders": self.host.group_folders(),
            "processes_count": self.processes.alive().count() + self.processes.ended.len(),
            "processes": processes,
        });
        report["own_programs_cpu_ns"] = programs.into();
        report["events"] = self.events.as_ref().map(Recording::report).into();
        report["events_lost_count"] = self.events.as_ref().map(Recording::dropped).into();
        report["taskstats"] = self.taskstats.report();
        self.timing.report(&mut report);
        report
    }
}
