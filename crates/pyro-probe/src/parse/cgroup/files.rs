//! Files of both versions.

use super::series::*;
use crate::parse::numbers::{Emit, name_value_lines, named, number};

/// Parses `cpu.stat`.
pub fn cpu_stat(text: &str, emit: &mut Emit) {
    name_value_lines(text, CPU_STAT, emit);
}

/// Parses what `cpu.stat` says of the quota.
pub fn throttling(text: &str, emit: &mut Emit) {
    cpu_stat(text, &mut |series, value| {
        if series.contains("periods") || series.contains("throttled") {
            emit(series, value);
        }
    });
}

/// Parses a file of [`CPU_LIMITS`].
pub fn cpu_limit(file: &str, text: &str, emit: &mut Emit) {
    match file {
        "cpu.max" => cpu_max(text, emit),
        _ => single(file, text, emit),
    }
}

/// Parses `memory.stat`.
pub fn memory_stat(text: &str, emit: &mut Emit) {
    name_value_lines(text, MEMORY_STAT, emit);
}

/// Parses `memory.events` or `memory.oom_control`.
pub fn memory_events(text: &str, emit: &mut Emit) {
    name_value_lines(text, MEMORY_EVENTS, emit);
}

/// Parses v2's `cpu.max`: quota (or `max`) and period in µs.
pub fn cpu_max(text: &str, emit: &mut Emit) {
    let mut words = text.split_ascii_whitespace();
    if let Some(quota) = words.next().and_then(number) {
        emit(CPU_QUOTA, quota.saturating_mul(1000));
    }
    if let Some(period) = words.next().and_then(number) {
        emit("cpu_period_ns", period.saturating_mul(1000));
    }
}

/// Parses a file that holds one number; "max", -1 and v1's huge limits say "unlimited" and emit nothing.
pub fn single(file: &str, text: &str, emit: &mut Emit) {
    let Some((series, factor)) = named(SINGLE, file) else {
        return;
    };
    if let Some(value) = number(text.trim()).filter(|value| (0..UNLIMITED_BYTES).contains(value)) {
        emit(series, value.saturating_mul(factor));
    }
}

/// Parses `cpuset.cpus.effective` (v1: `cpuset.effective_cpus`): ranges of CPUs.
pub fn cpus_allowed(text: &str, emit: &mut Emit) {
    let mut count = Some(0);
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        count = match (count, number(first), number(last)) {
            (Some(count), Some(first), Some(last)) if first <= last => {
                Some(last.saturating_sub(first).saturating_add(count + 1))
            }
            _ => None,
        };
    }
    if let Some(count) = count {
        emit(CPUS_ALLOWED, count);
    }
}

/// Parses v2's `io.stat`: bytes of all devices together.
pub fn io_stat(text: &str, emit: &mut Emit) {
    for (key, series) in [("rbytes=", IO[0]), ("wbytes=", IO[1])] {
        let values = text.split_ascii_whitespace();
        let values = values.filter_map(|word| number(word.strip_prefix(key)?));
        emit(series, values.fold(0, i64::saturating_add));
    }
}

/// Parses v2's `io.max`: the lowest limit of any device; "max" is none.
pub fn io_max(text: &str, emit: &mut Emit) {
    for (key, series) in [("rbps=", IO[2]), ("wbps=", IO[3])] {
        let values = text.split_ascii_whitespace();
        if let Some(lowest) = values
            .filter_map(|word| number(word.strip_prefix(key)?))
            .min()
        {
            emit(series, lowest);
        }
    }
}
