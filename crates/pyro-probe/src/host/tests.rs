use std::collections::{BTreeMap, BTreeSet};

use super::series::{ALL_THREADS, PAGE_SIZE, SWITCHED};
use super::*;
use crate::parse::{cgroup, host, process};

/// `schema/series.toml` names what the code emits, and nothing else.
#[test]
fn series_are_those_of_the_schema() {
    let text = include_str!("../../../../schema/series.toml");
    let schema: toml::Table = toml::from_str(text).unwrap();
    let declared: BTreeMap<&str, BTreeSet<&str>> = schema
        .iter()
        .filter_map(|(scope, value)| {
            Some((
                scope.as_str(),
                value
                    .get("series")?
                    .as_table()?
                    .keys()
                    .map(String::as_str)
                    .collect(),
            ))
        })
        .collect();
    let ours = |table: &'static [(&'static str, &'static str, i64)]| table.iter().map(|row| row.1);
    let psi = || host::PRESSURE.iter().flat_map(|row| [row.1, row.2]);
    let mut emitted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    emitted.entry("host").or_default().extend(
        host::CPU_MODES
            .into_iter()
            .chain([ALL_THREADS, SWITCHED, PAGE_SIZE])
            .chain(ours(host::STAT))
            .chain(host::LOAD)
            .chain([host::LOAD_THREADS, host::ALLOC_STALLS])
            .chain(ours(host::MEMINFO))
            .chain(ours(host::VMSTAT))
            .chain(psi()),
    );
    emitted.entry("cpu").or_default().extend(
        host::CPU_MODES
            .into_iter()
            .chain(["frequency_hz", nodes::SERIES]),
    );
    emitted.entry("process").or_default().extend(
        crate::processes::SERIES
            .into_iter()
            .chain(ours(process::IO))
            .chain(ours(process::STATUS)),
    );
    emitted
        .entry("disk")
        .or_default()
        .extend(host::DISK.iter().map(|row| row.1));
    emitted
        .entry("net")
        .or_default()
        .extend(host::NET.iter().map(|row| row.1));
    emitted.entry("cgroup").or_default().extend(
        ours(cgroup::CPU_STAT)
            .chain(ours(cgroup::MEMORY_STAT))
            .chain(ours(cgroup::MEMORY_EVENTS))
            .chain(ours(cgroup::SINGLE))
            .chain(cgroup::IO)
            .chain([cgroup::CPUS_ALLOWED])
            .chain(psi()),
    );
    emitted
        .entry("kernel")
        .or_default()
        .extend([kernel_threads::SERIES]);
    emitted
        .entry("energy")
        .or_default()
        .extend([energy::SERIES]);
    emitted.entry("probe").or_default().extend([
        "passes_count",
        "period_ns",
        "own_cpu_ns",
        "programs_cpu_ns",
    ]);
    assert_eq!(declared, emitted);
}
