//! Clocks.

use crate::parse::time_namespace::monotonic_offset_ns;

/// A clock in nanoseconds; `None` where it does not exist.
fn clock_ns(clock: libc::clockid_t) -> Option<i64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the structure.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then(|| time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// CLOCK_MONOTONIC.
pub fn mono_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// CLOCK_BOOTTIME, from which the starts of processes are counted.
pub fn boot_ns() -> i64 {
    clock_ns(libc::CLOCK_BOOTTIME).unwrap_or_else(mono_ns)
}

/// What CLOCK_MONOTONIC is here more than in the kernel, whose programs know no time namespace; 0 where nothing says
/// that there is one.
pub fn ahead_of_kernel_ns() -> i64 {
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets");
    offsets
        .ok()
        .and_then(|text| monotonic_offset_ns(&text))
        .unwrap_or(0)
}

/// Unix time.
pub fn wall_ns() -> i64 {
    clock_ns(libc::CLOCK_REALTIME).unwrap_or(0)
}

/// CPU time of this thread.
pub fn thread_cpu_ns() -> i64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU time of a whole process, ended threads included; `None` once it was waited for.
pub fn process_cpu_ns(pid: i32) -> Option<i64> {
    const CPUCLOCK_SCHED: i32 = 2;
    clock_ns((!pid << 3) | CPUCLOCK_SCHED)
}
