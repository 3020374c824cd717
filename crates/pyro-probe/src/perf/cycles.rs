//! Whether there is a hardware counter at all.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use libc::c_long;

/// Tries `perf_event_open` of the CPU's cycle counter for this thread.
///
/// # Errors
/// What the system says: `ENOENT` where there is no such counter.
pub fn try_cycle_counter() -> io::Result<()> {
    const SIZE: usize = 128;
    let mut attributes = [0_u64; SIZE / 8];
    // type = PERF_TYPE_HARDWARE (0), size; config = PERF_COUNT_HW_CPU_CYCLES (0); exclude_kernel | exclude_hv.
    attributes[0] = (SIZE as u64) << 32;
    attributes[5] = 1 << 5 | 1 << 6;
    // SAFETY: the kernel reads the structure; the descriptor is ours and closed at once.
    unsafe {
        let no_group: c_long = -1;
        let raw = libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            0_i64,
            no_group,
            no_group,
            0_i64,
        );
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        drop(OwnedFd::from_raw_fd(raw as RawFd));
    }
    Ok(())
}
