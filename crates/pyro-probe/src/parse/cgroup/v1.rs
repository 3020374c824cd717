//! Files that only v1 has.

use super::mounts::Mount;
use super::series::IO;
use crate::parse::numbers::{Emit, number, ticks_ns};

/// File that counts the CPU time of every thread below the root of `cpuacct`.
pub fn root_usage(mounts: &[Mount]) -> Option<String> {
    mounts
        .iter()
        .find(|mount| mount.root == "/" && mount.controllers.iter().any(|has| has == "cpuacct"))
        .map(|mount| format!("{}/cpuacct.usage", mount.point))
}

/// Parses `blkio.throttle.io_service_bytes_recursive`: bytes of all devices together.
pub fn io_service_bytes(text: &str, emit: &mut Emit) {
    for (word, series) in [("Read", IO[0]), ("Write", IO[1])] {
        let values = text.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace().skip(1);
            (words.next() == Some(word)).then(|| words.next().and_then(number))?
        });
        emit(series, values.fold(0, i64::saturating_add));
    }
}

/// Parses `blkio.throttle.read_bps_device` or `write_bps_device`: the lowest limit of any device.
pub fn bps_device(file: &str, text: &str, emit: &mut Emit) {
    let limits = text.lines();
    let limits = limits.filter_map(|line| line.split_ascii_whitespace().nth(1));
    if let Some(lowest) = limits.filter_map(number).min() {
        emit(
            if file.contains(".read_") {
                IO[2]
            } else {
                IO[3]
            },
            lowest,
        );
    }
}

/// Parses `cpuacct.stat`: clock ticks.
pub fn cpuacct_stat(text: &str, ticks_per_second: i64, emit: &mut Emit) {
    for line in text.lines() {
        let series = match line.split_ascii_whitespace().next() {
            Some("user") => "cpu_user_ns",
            Some("system") => "cpu_system_ns",
            _ => continue,
        };
        if let Some(ticks) = line.split_ascii_whitespace().nth(1).and_then(number) {
            emit(series, ticks_ns(ticks, ticks_per_second));
        }
    }
}
