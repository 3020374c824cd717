//! What the agent itself uses, and may use.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for all but the files that are shipped: folders, records, the store.
const RESERVE: u64 = 64;

/// Allows as many open files as this process may have: every file that is shipped is kept open. Returns how many
/// of these there may be.
pub fn allow_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let _ = setrlimit(Resource::Nofile, raised);
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(most.saturating_sub(RESERVE)).unwrap_or(usize::MAX)
}

/// CPU time of this process, ns; `None` where `/proc` does not say.
pub fn cpu_ns() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_ascii_whitespace().skip(11).take(2);
    let ticks = ticks
        .map(|field| field.parse::<u64>().ok())
        .sum::<Option<u64>>()?;
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(ticks * (1_000_000_000 / per_second))
}

/// Largest resident size of this process, bytes.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_are_known() {
        let mut sum = 0u64;
        while super::cpu_ns().unwrap() == 0 {
            sum = (0..1_000_000u64).fold(sum, |sum, one| sum ^ one.wrapping_mul(sum | 1));
        }
        assert!(super::peak_rss_bytes().unwrap() > 100_000, "{sum}");
    }
}
