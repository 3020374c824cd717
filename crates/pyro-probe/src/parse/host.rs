//! Host-wide files of `/proc`.

use super::numbers::{Emit, name_value_lines, named, number, ticks_ns};

/// Series of the `cpu` lines of `/proc/stat`, in the kernel's order.
pub const CPU_MODES: [&str; 10] = [
    "cpu_user_ns",
    "cpu_nice_ns",
    "cpu_system_ns",
    "cpu_idle_ns",
    "cpu_iowait_ns",
    "cpu_irq_ns",
    "cpu_softirq_ns",
    "cpu_steal_ns",
    "cpu_guest_ns",
    "cpu_guest_nice_ns",
];

/// Other series of `/proc/stat`.
pub const STAT: &[(&str, &str, i64)] = &[
    ("ctxt", "context_switches_count", 1),
    ("intr", "interrupts_count", 1),
    ("softirq", "soft_interrupts_count", 1),
    ("processes", "forks_count", 1),
    ("procs_running", "procs_running_count", 1),
    ("procs_blocked", "procs_blocked_count", 1),
];

/// Parses `/proc/stat`: (CPU or `None` for the machine, series, value).
pub fn stat(
    text: &str,
    ticks_per_second: i64,
    emit: &mut dyn FnMut(Option<u32>, &'static str, i64),
) {
    for line in text.lines() {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let Some(cpu) = name.strip_prefix("cpu") else {
            name_value_lines(line, STAT, &mut |series, value| emit(None, series, value));
            continue;
        };
        let cpu = if cpu.is_empty() {
            None
        } else {
            Some(cpu.parse::<u32>())
        };
        let Ok(cpu) = cpu.transpose() else { continue };
        for (mode, value) in CPU_MODES
            .iter()
            .zip(rest.split_ascii_whitespace().map_while(number))
        {
            emit(cpu, mode, ticks_ns(value, ticks_per_second));
        }
    }
}

/// Series of `/proc/meminfo`.
pub const MEMINFO: &[(&str, &str, i64)] = &[
    ("MemTotal", "mem_total_bytes", 1024),
    ("MemFree", "mem_free_bytes", 1024),
    ("MemAvailable", "mem_available_bytes", 1024),
    ("Buffers", "mem_buffers_bytes", 1024),
    ("Cached", "mem_cached_bytes", 1024),
    ("SwapCached", "swap_cached_bytes", 1024),
    ("Active(anon)", "mem_active_anon_bytes", 1024),
    ("Inactive(anon)", "mem_inactive_anon_bytes", 1024),
    ("Active(file)", "mem_active_file_bytes", 1024),
    ("Inactive(file)", "mem_inactive_file_bytes", 1024),
    ("Dirty", "mem_dirty_bytes", 1024),
    ("Writeback", "mem_writeback_bytes", 1024),
    ("AnonPages", "mem_anon_bytes", 1024),
    ("Mapped", "mem_mapped_bytes", 1024),
    ("Shmem", "mem_shmem_bytes", 1024),
    ("SReclaimable", "mem_slab_reclaimable_bytes", 1024),
    ("SUnreclaim", "mem_slab_unreclaimable_bytes", 1024),
    ("KernelStack", "mem_kernel_stack_bytes", 1024),
    ("PageTables", "mem_page_tables_bytes", 1024),
    ("AnonHugePages", "mem_anon_huge_bytes", 1024),
    ("Zswap", "zswap_bytes", 1024),
    ("Zswapped", "zswapped_bytes", 1024),
    ("SwapTotal", "swap_total_bytes", 1024),
    ("SwapFree", "swap_free_bytes", 1024),
];

/// Parses `/proc/meminfo`.
pub fn meminfo(text: &str, emit: &mut Emit) {
    name_value_lines(text, MEMINFO, emit);
}

/// Series of `/proc/vmstat`; a factor of 0 stands for the page size.
pub const VMSTAT: &[(&str, &str, i64)] = &[
    ("pgfault", "page_faults_count", 1),
    ("pgmajfault", "major_page_faults_count", 1),
    ("pgpgin", "paged_in_bytes", 1024),
    ("pgpgout", "paged_out_bytes", 1024),
    ("pswpin", "swapped_in_bytes", 0),
    ("pswpout", "swapped_out_bytes", 0),
    ("pgscan_kswapd", "scanned_kswapd_pages_count", 1),
    ("pgscan_direct", "scanned_direct_pages_count", 1),
    ("pgsteal_kswapd", "reclaimed_kswapd_pages_count", 1),
    ("pgsteal_direct", "reclaimed_direct_pages_count", 1),
    ("workingset_refault_anon", "refaulted_anon_pages_count", 1),
    ("workingset_refault_file", "refaulted_file_pages_count", 1),
    ("workingset_refault", "refaulted_file_pages_count", 1),
    ("workingset_activate_anon", "activated_anon_pages_count", 1),
    ("workingset_activate_file", "activated_file_pages_count", 1),
    ("workingset_activate", "activated_file_pages_count", 1),
    ("workingset_restore_anon", "restored_anon_pages_count", 1),
    ("workingset_restore_file", "restored_file_pages_count", 1),
    ("workingset_restore", "restored_file_pages_count", 1),
    ("workingset_nodereclaim", "shadow_nodes_reclaimed_count", 1),
    ("pgactivate", "activated_pages_count", 1),
    ("pgdeactivate", "deactivated_pages_count", 1),
    ("nr_vmscan_write", "reclaim_written_bytes", 0),
    ("nr_dirtied", "dirtied_bytes", 0),
    ("nr_written", "written_back_bytes", 0),
    ("compact_stall", "compaction_stalls_count", 1),
    ("thp_fault_alloc", "huge_page_faults_count", 1),
    ("thp_collapse_alloc", "huge_page_collapses_count", 1),
    ("numa_local", "numa_local_pages_count", 1),
    ("numa_other", "numa_other_pages_count", 1),
    ("numa_pages_migrated", "numa_migrated_pages_count", 1),
    ("numa_hint_faults", "numa_hint_faults_count", 1),
    ("oom_kill", "oom_kills_count", 1),
    ("drop_pagecache", "cache_drops_count", 1),
];
/// The one series of `/proc/vmstat` that is a sum: over zones.
pub const ALLOC_STALLS: &str = "alloc_stalls_count";

/// Parses `/proc/vmstat`.
pub fn vmstat(text: &str, page_bytes: i64, emit: &mut Emit) {
    let mut stalls = None;
    for line in text.lines() {
        let Some((name, value)) = line.split_once(' ') else {
            continue;
        };
        let Some(value) = number(value.trim()) else {
            continue;
        };
        if name.starts_with("allocstall") {
            stalls = Some(value.saturating_add(stalls.unwrap_or(0)));
        } else if let Some((series, factor)) = named(VMSTAT, name) {
            emit(
                series,
                value.saturating_mul(if factor == 0 { page_bytes } else { factor }),
            );
        }
    }
    if let Some(stalls) = stalls {
        emit(ALLOC_STALLS, stalls);
    }
}

/// Fields of `/proc/diskstats` after the device's name: (index, series, factor).
pub const DISK: &[(usize, &str, i64)] = &[
    (0, "reads_count", 1),
    (2, "read_bytes", 512),
    (3, "read_time_ns", 1_000_000),
    (4, "writes_count", 1),
    (6, "written_bytes", 512),
    (7, "write_time_ns", 1_000_000),
    (8, "in_flight_count", 1),
    (9, "busy_time_ns", 1_000_000),
    (10, "queue_time_ns", 1_000_000),
    (15, "flushes_count", 1),
    (16, "flush_time_ns", 1_000_000),
];

/// Parses `/proc/diskstats`: (device, series, value). A device that never did I/O is left out.
pub fn disks(text: &str, emit: &mut dyn FnMut(&str, &'static str, i64)) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(device) = words.next() else { continue };
        let values: Vec<i64> = words.map_while(number).collect();
        if values.iter().any(|&value| value != 0) {
            for &(index, series, factor) in DISK {
                if let Some(value) = values.get(index) {
                    emit(device, series, value.saturating_mul(factor));
                }
            }
        }
    }
}

/// Fields of `/proc/net/dev` after the interface's name.
pub const NET: &[(usize, &str)] = &[
    (0, "received_bytes"),
    (1, "received_packets_count"),
    (2, "received_errors_count"),
    (3, "received_drops_count"),
    (8, "sent_bytes"),
    (9, "sent_packets_count"),
    (10, "sent_errors_count"),
    (11, "sent_drops_count"),
];

/// Parses `/proc/net/dev`: (interface, series, value). An interface that never carried anything is left out.
pub fn interfaces(text: &str, emit: &mut dyn FnMut(&str, &'static str, i64)) {
    for line in text.lines() {
        let Some((interface, rest)) = line.rsplit_once(':') else {
            continue;
        };
        let values: Vec<i64> = rest.split_ascii_whitespace().map_while(number).collect();
        if values.iter().any(|&value| value != 0) {
            for &(index, series) in NET {
                if let Some(&value) = values.get(index) {
                    emit(interface.trim(), series, value);
                }
            }
        }
    }
}

/// Resources of `/proc/pressure` with the series of their `some` and `full` lines.
pub const PRESSURE: &[(&str, &str, &str)] = &[
    ("cpu", "psi_cpu_some_ns", "psi_cpu_full_ns"),
    ("io", "psi_io_some_ns", "psi_io_full_ns"),
    ("memory", "psi_memory_some_ns", "psi_memory_full_ns"),
    ("irq", "psi_irq_some_ns", "psi_irq_full_ns"),
];

/// Parses a pressure file (of the host or of a control group) of `resource`.
pub fn pressure(resource: &str, text: &str, emit: &mut Emit) {
    let Some(&(_, some, full)) = PRESSURE.iter().find(|row| row.0 == resource) else {
        return;
    };
    for line in text.lines() {
        let series = match line.split_ascii_whitespace().next() {
            Some("some") => some,
            Some("full") => full,
            _ => continue,
        };
        let total = line
            .split_ascii_whitespace()
            .find_map(|word| number(word.strip_prefix("total=")?));
        if let Some(total_us) = total {
            emit(series, total_us.saturating_mul(1000));
        }
    }
}

/// Series of the three averages of `/proc/loadavg`.
pub const LOAD: [&str; 3] = ["load_1min_milli", "load_5min_milli", "load_15min_milli"];
/// Series of the thread count of `/proc/loadavg`.
pub const LOAD_THREADS: &str = "threads_count";

/// Parses `/proc/loadavg`.
pub fn loadavg(text: &str, emit: &mut Emit) {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    for (series, word) in LOAD.iter().zip(&words) {
        if let Ok(load) = word.parse::<f64>() {
            emit(series, (load * 1000.0).round() as i64);
        }
    }
    let threads = words
        .get(3)
        .and_then(|word| word.split_once('/'))
        .and_then(|(_, total)| number(total));
    if let Some(threads) = threads {
        emit(LOAD_THREADS, threads);
    }
}

/// Sums the times of all CPUs with a thread, in nanoseconds, in `/proc/schedstat`: the seventh number of
/// their lines (Documentation/scheduler/sched-stats.rst). `None` if a line lacks it, or there is none.
pub fn switched_ns(text: &str) -> Option<i64> {
    let cpus = text.lines().filter(|line| line.starts_with("cpu"));
    cpus.map(|line| line.split_ascii_whitespace().nth(7).and_then(number))
        .reduce(|sum, one| sum?.checked_add(one?))
        .flatten()
}

/// Number last given to a process or thread: the last field of `/proc/loadavg`; 0 if it is not there.
pub fn last_pid(text: &str) -> i32 {
    let field = text.split_ascii_whitespace().nth(4);
    field.and_then(|pid| pid.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
