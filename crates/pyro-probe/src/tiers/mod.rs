//! What can be measured here: every capability is tried, none is inferred from a version.

pub mod grant;
mod others;
mod outcome;

use std::path::Path;

use serde_json::{Value, json};

use crate::bpf::{Events, Kernel, ThreadIterator};
use crate::host::energy;
use crate::perf;
use crate::sys::Descriptors;
use crate::taskstats;

use outcome::{Outcome, no, read, yes};

/// The iterator over the threads of a process.
fn thread_iterator() -> Outcome {
    match Kernel::read().and_then(|kernel| ThreadIterator::load(&kernel)) {
        Ok(_) => yes("the kernel's iterator over threads was loaded and saw this process"),
        Err(refusal) => no(refusal.reason, refusal.remedy),
    }
}

/// The events of the scheduler, of block devices and of reading calls.
fn scheduler_events() -> Outcome {
    match Kernel::read().and_then(|kernel| Events::attach(&kernel)) {
        Err(refusal) => no(refusal.reason, refusal.remedy),
        Ok(events) if events.missing.is_empty() => {
            yes("the programs on the scheduler, block requests and reading calls were attached")
        }
        Ok(events) => {
            let missing = events.missing.iter();
            let missing: Vec<String> = missing
                .map(|(what, why)| format!("{what}: {why}"))
                .collect();
            yes(format!(
                "the programs on the scheduler were attached; not available: {}",
                missing.join("; ")
            ))
        }
    }
}

/// The kept-open `/proc` of our own process.
fn kept_open_proc() -> Outcome {
    let pid = std::process::id();
    let needed = [
        (
            format!("task/{pid}/schedstat"),
            "Use a kernel built with CONFIG_SCHED_INFO.",
        ),
        (
            format!("task/{pid}/stat"),
            "Mount /proc without subset=pid.",
        ),
        ("io".to_owned(), "Mount /proc without subset=pid."),
    ];
    for (file, remedy) in needed {
        let path = format!("/proc/{pid}/{file}");
        if let Err(error) = read(&path) {
            return no(format!("{path}: {error}"), remedy);
        }
    }
    yes(format!(
        "/proc/{pid}/task/{pid}/schedstat, stat and /proc/{pid}/io can be read"
    ))
}

fn cycle_counter() -> Outcome {
    let Err(error) = perf::try_cycle_counter() else {
        return yes("perf_event_open counts CPU cycles");
    };
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => no(
            format!("perf_event_open: {error}: this (virtual) machine has no hardware counters"),
            "Use a machine type that exposes a PMU to its guests, or bare metal.",
        ),
        Some(libc::EACCES | libc::EPERM) => no(
            format!("perf_event_open: {error}"),
            "Run: sysctl kernel.perf_event_paranoid=1",
        ),
        _ => no(
            format!("perf_event_open: {error}"),
            "Allow perf_event_open in the container's seccomp profile.",
        ),
    }
}

fn resctrl() -> Outcome {
    let known = read("/proc/filesystems")
        .unwrap_or_default()
        .contains("resctrl");
    match (known, Path::new("/sys/fs/resctrl/info").exists()) {
        (_, true) => yes("/sys/fs/resctrl is mounted"),
        (true, false) => no(
            "the kernel has resctrl but it is not mounted",
            "Run: mount -t resctrl resctrl /sys/fs/resctrl",
        ),
        (false, false) => no(
            "the kernel or the CPU has no resctrl",
            "Memory bandwidth needs a CPU with MBM (Intel RDT, AMD QoS), rarely shown to virtual machines.",
        ),
    }
}

fn pressure() -> Outcome {
    match read("/proc/pressure/cpu") {
        Ok(_) => yes("/proc/pressure can be read"),
        Err(error) => no(
            format!("/proc/pressure/cpu: {error}"),
            "Boot with psi=1 (CONFIG_PSI).",
        ),
    }
}

fn delay_accounting() -> Outcome {
    if let Err(error) = taskstats::try_taskstats() {
        return no(
            format!("taskstats: {error}"),
            "Run as root or give pyro-probe CAP_NET_ADMIN, in the host's PID and user namespaces.",
        );
    }
    let path = taskstats::SWITCH;
    let may_write = std::fs::OpenOptions::new().write(true).open(path).is_ok();
    match read(path).as_deref().map(str::trim) {
        Ok("1") => yes("taskstats answers; kernel.task_delayacct is 1"),
        Ok(value) if may_write => yes(format!(
            "taskstats answers; kernel.task_delayacct is {value}: it is switched on while the probe runs"
        )),
        Ok(value) => no(
            format!("kernel.task_delayacct is {value} and may not be changed"),
            "Run: sysctl kernel.task_delayacct=1",
        ),
        Err(error) => no(
            format!("{path}: {error}"),
            "Boot with delayacct (CONFIG_TASK_DELAY_ACCT).",
        ),
    }
}

fn cgroups() -> Outcome {
    let mounts = crate::parse::cgroup::mounts(&read("/proc/self/mountinfo").unwrap_or_default());
    let v2 = mounts.iter().any(|mount| mount.controllers.is_empty());
    let mut v1: Vec<&str> = mounts
        .iter()
        .flat_map(|mount| &mount.controllers)
        .map(String::as_str)
        .filter(|&name| name != "rw")
        .collect();
    v1.sort_unstable();
    match (v1.is_empty(), v2) {
        (true, true) => yes("version 2"),
        (false, false) => yes(format!("version 1 ({})", v1.join(", "))),
        (false, true) => yes(format!("version 1 ({}) and version 2", v1.join(", "))),
        (true, false) => no(
            "no control group hierarchy is mounted",
            "Mount one: mount -t cgroup2 none /sys/fs/cgroup",
        ),
    }
}

fn frequency() -> Outcome {
    let path = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq";
    match read(path) {
        Ok(_) => yes(format!("{path} can be read")),
        Err(error) => no(
            format!("{path}: {error}"),
            "Virtual machines rarely show it; bare metal does.",
        ),
    }
}

fn energy_zones() -> Outcome {
    match energy::Energy::open(energy::ZONES, &Descriptors::new(0)).count() {
        0 if Path::new(energy::ZONES).join("intel-rapl:0").exists() => no(
            format!("{}/intel-rapl:0/energy_uj may not be read", energy::ZONES),
            "Run as root, or: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj",
        ),
        0 => no(
            format!("{} shows no energy zones (RAPL)", energy::ZONES),
            "Virtual machines rarely show them; bare metal does.",
        ),
        count => yes(format!("{count} energy zone(s) in {}", energy::ZONES)),
    }
}

/// Counters of perf events, by what they are of.
fn counters() -> Vec<(&'static str, Option<&'static str>, Outcome)> {
    let capability = |found: perf::Capability| {
        let outcome = match found.outcome {
            Ok(reason) => yes(reason),
            Err((reason, remedy)) => no(reason, remedy),
        };
        (found.name, Some(found.tier), outcome)
    };
    perf::capabilities().into_iter().map(capability).collect()
}

/// Every capability as a JSON list of `{name, tier, available, reason, remedy}`.
pub fn report() -> Value {
    let elsewhere = |what: &str| yes(format!("{what}; no probe process needed"));
    [
        ("os", Some("T0"), scheduler_events()),
        ("os", Some("T1"), thread_iterator()),
        ("os", Some("T2"), kept_open_proc()),
        (
            "os",
            Some("T3"),
            elsewhere("own processes' /proc with async-profiler's wall clock"),
        ),
        ("os", Some("T4"), elsewhere("recordings of the JVM alone")),
        (
            "os_other_users",
            Some("T2"),
            others::other_users(Path::new("/proc")),
        ),
        ("pmu", None, cycle_counter()),
        ("bandwidth", Some("resctrl"), resctrl()),
        ("pressure", None, pressure()),
        ("delay_accounting", None, delay_accounting()),
        ("cgroup", None, cgroups()),
        ("cpu_frequency", None, frequency()),
        ("energy", None, energy_zones()),
    ]
    .into_iter()
    .chain(counters())
    .map(|(name, tier, outcome)| {
        json!({
            "name": name,
            "tier": tier,
            "available": outcome.available,
            "reason": outcome.reason,
            "remedy": if outcome.remedy.is_empty() { None } else { Some(outcome.remedy) },
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_says_why_and_what_to_do() {
        let report = report();
        let rows = report.as_array().unwrap();
        let tiers: Vec<_> = rows
            .iter()
            .filter(|row| row["name"] == "os")
            .map(|row| row["tier"].clone())
            .collect();
        assert_eq!(tiers, ["T0", "T1", "T2", "T3", "T4"]);
        for row in rows {
            assert!(
                row["reason"]
                    .as_str()
                    .is_some_and(|reason| !reason.is_empty()),
                "{row}"
            );
            assert_eq!(
                row["available"].as_bool().unwrap(),
                row["remedy"].is_null(),
                "{row}"
            );
        }
        let t2 = rows.iter().find(|row| row["tier"] == "T2").unwrap();
        assert_eq!(
            t2["available"], true,
            "own processes can always be read: {t2}"
        );
    }
}
