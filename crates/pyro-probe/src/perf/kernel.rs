//! `perf_event_open` and the reading of its descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::c_long;

use crate::perf::format::Config;

/// What to count: the part of `perf_event_attr` that differs between our events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attr {
    /// `type`: a generic one, or the number of a PMU from its `type` file.
    pub kind: u32,
    /// `config`, `config1`, `config2`.
    pub config: Config,
    /// Programs only, not the kernel: all that `perf_event_paranoid` 2 allows.
    pub user_only: bool,
    /// Always on the hardware, never in turns with others.
    pub pinned: bool,
}

/// What to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A thread, on whatever CPU; 0 is the calling one.
    Thread(i32),
    /// Everything on a CPU: counters outside of the cores are opened on one CPU of their package.
    Cpu(i32),
}

/// Where counters are opened and read: the kernel, or a recording of one.
pub trait Kernel {
    /// An open counter; it counts until it is dropped.
    type Handle;

    /// Opens a counter that starts at once, by itself or as the next member of a group.
    ///
    /// # Errors
    /// What the system says.
    fn open(
        &mut self,
        attr: &Attr,
        target: Target,
        leader: Option<&Self::Handle>,
    ) -> io::Result<Self::Handle>;

    /// Reads the group of a leader; 0 bytes where a pinned group lost its place on the hardware.
    ///
    /// # Errors
    /// What the system says.
    fn read(&mut self, leader: &Self::Handle, buffer: &mut [u8]) -> io::Result<usize>;
}

/// The kernel that runs here.
#[derive(Debug, Default)]
pub struct System;

impl Kernel for System {
    type Handle = OwnedFd;

    fn open(
        &mut self,
        attr: &Attr,
        target: Target,
        leader: Option<&OwnedFd>,
    ) -> io::Result<OwnedFd> {
        // PERF_ATTR_SIZE_VER5: known to every kernel since 4.1.
        const SIZE: usize = 112;
        // PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_GROUP.
        const READ_FORMAT: u64 = 1 | 2 | 8;
        const PERF_FLAG_FD_CLOEXEC: c_long = 8;
        let mut words = [0_u64; SIZE / 8];
        words[0] = u64::from(attr.kind) | (SIZE as u64) << 32;
        words[1] = attr.config[0];
        words[4] = READ_FORMAT;
        // pinned is bit 2 of the flags, exclude_kernel bit 5, exclude_hv bit 6.
        words[5] = u64::from(attr.pinned) << 2
            | u64::from(attr.user_only) << 5
            | u64::from(attr.user_only) << 6;
        (words[7], words[8]) = (attr.config[1], attr.config[2]);
        let (pid, cpu) = match target {
            Target::Thread(tid) => (tid, -1),
            Target::Cpu(cpu) => (-1, cpu),
        };
        let group = leader.map_or(-1, |leader| leader.as_raw_fd());
        // SAFETY: the kernel reads `SIZE` bytes of the structure; the descriptor is ours alone.
        unsafe {
            let raw = libc::syscall(
                libc::SYS_perf_event_open,
                words.as_ptr(),
                c_long::from(pid),
                c_long::from(cpu),
                c_long::from(group),
                PERF_FLAG_FD_CLOEXEC,
            );
            if raw < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(OwnedFd::from_raw_fd(raw as RawFd))
        }
    }

    fn read(&mut self, leader: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the kernel writes at most `buffer.len()` bytes into memory that we own.
        let got =
            unsafe { libc::read(leader.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }
}

/// Why a counter could not be opened, and what to do about it.
pub fn refusal(error: &io::Error, hardware: bool) -> (String, &'static str) {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) if hardware => (
            format!("no PMU for it: {error}"),
            "Use a machine type that shows a PMU to its guests, or bare metal.",
        ),
        Some(libc::EACCES | libc::EPERM) => (
            format!("not allowed: {error}"),
            "Run: sysctl kernel.perf_event_paranoid=0   (as root), or give pyro-probe CAP_PERFMON.",
        ),
        Some(libc::EMFILE | libc::ENFILE) => (
            format!("too many open files: {error}"),
            "Raise the limit of open files: ulimit -n 65536",
        ),
        Some(libc::ENOSYS) => (
            format!("the kernel has no perf events: {error}"),
            "Use a kernel with CONFIG_PERF_EVENTS, and allow perf_event_open in the container's seccomp profile.",
        ),
        Some(libc::EINVAL) => (
            format!("the kernel rejects it: {error}"),
            "Nothing to do: this CPU or kernel has no such event.",
        ),
        _ => (
            error.to_string(),
            "Allow perf_event_open in the container's seccomp profile.",
        ),
    }
}
