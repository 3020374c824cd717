//! This process: limits, use of resources, signals, and waiting for others to end.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libc::{c_int, c_long};

use super::clock::mono_ns;
use crate::parse::process::stat;

/// A constant of `sysconf`.
pub fn sysconf(name: c_int) -> i64 {
    // SAFETY: no memory is involved.
    unsafe { libc::sysconf(name) }
}

/// Own CPU time: (user, system) in ns, and the largest resident size in bytes.
pub fn own_usage() -> (i64, i64, i64) {
    // SAFETY: the kernel fills the structure.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1000;
    (
        ns(usage.ru_utime),
        ns(usage.ru_stime),
        usage.ru_maxrss * 1024,
    )
}

/// Raises the limit of open descriptors as far as allowed; returns what may be open.
pub fn raise_descriptor_limit() -> usize {
    // SAFETY: the kernel reads and fills the structure.
    unsafe {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return 256;
        }
        let wanted = libc::rlimit {
            rlim_cur: limit.rlim_max,
            rlim_max: limit.rlim_max,
        };
        let raised = libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) == 0;
        (if raised {
            limit.rlim_max
        } else {
            limit.rlim_cur
        }) as usize
    }
}

/// A descriptor that becomes readable when the process ends; `None` where the kernel has none.
pub fn watch_exit(pid: i32) -> Option<OwnedFd> {
    // SAFETY: a new descriptor, ours alone.
    unsafe {
        let raw = libc::syscall(libc::SYS_pidfd_open, pid as c_long, 0 as c_long);
        (raw >= 0).then(|| OwnedFd::from_raw_fd(raw as RawFd))
    }
}

/// When a process was started, in clock ticks since boot; `None` where it has ended, whether its
/// exit status was read or not.
pub fn start_ticks(pid: i32) -> Option<i64> {
    let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let stat = stat(&text).filter(|stat| !matches!(stat.state, "Z" | "X"))?;
    Some(stat.start_ticks)
}

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_stop(_: c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// True once SIGTERM came.
pub fn stop_requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Leaves the terminal's session, so that neither Ctrl-C nor its end reaches us, and turns SIGTERM into a request.
pub fn detach() {
    // SAFETY: the handler only stores to an atomic.
    unsafe {
        libc::setsid();
        for ignored in [libc::SIGINT, libc::SIGHUP, libc::SIGPIPE, libc::SIGQUIT] {
            libc::signal(ignored, libc::SIG_IGN);
        }
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = on_stop as *const () as usize;
        libc::sigaction(libc::SIGTERM, &action, std::ptr::null_mut());
        // Blocked except while we wait: a signal between a check and the wait is not lost.
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigaddset(&mut set, libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

/// Sleeps until `due_mono_ns`, a signal, or the end of a watched process; says which of them ended.
pub fn wait(due_mono_ns: i64, watched: &[RawFd]) -> Vec<bool> {
    let rest = Duration::from_nanos((due_mono_ns - mono_ns()).max(0) as u64);
    let rest = libc::timespec {
        tv_sec: rest.as_secs() as i64,
        tv_nsec: rest.subsec_nanos().into(),
    };
    let mut polls: Vec<libc::pollfd> = watched
        .iter()
        .map(|&fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: the kernel reads the structures and fills `revents`.
    unsafe {
        let unblocked = std::mem::zeroed::<libc::sigset_t>();
        libc::ppoll(
            polls.as_mut_ptr(),
            polls.len() as libc::nfds_t,
            &rest,
            &unblocked,
        );
    }
    polls.iter().map(|poll| poll.revents != 0).collect()
}
