//! The one module that talks to the operating system: files, folders, clocks, signals. All `unsafe` is here
//! and in `perf/kernel.rs`.

use std::cell::Cell;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libc::{c_int, c_long};

pub mod bpf;
pub mod map;
mod memory;
pub mod netlink;
pub mod urgency;

pub use memory::read_memory;

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn c_path(path: &str) -> io::Result<CString> {
    CString::new(path).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Descriptors that may be kept open, shared by all files of a probe.
#[derive(Debug, Clone)]
pub struct Descriptors {
    kept: Rc<Cell<usize>>,
    limit: usize,
    short_reads: Rc<Cell<u64>>,
}

impl Descriptors {
    /// Allows `limit` descriptors to be kept open.
    pub fn new(limit: usize) -> Self {
        Self {
            kept: Rc::default(),
            limit,
            short_reads: Rc::default(),
        }
    }
    /// Kept open now.
    pub fn kept(&self) -> usize {
        self.kept.get()
    }
    /// Counts so many more as kept open; false, and none, if that is beyond the limit.
    pub fn take(&self, count: usize) -> bool {
        let fits = self.kept() + count <= self.limit;
        if fits {
            self.kept.set(self.kept() + count);
        }
        fits
    }
    /// Counts so many as closed.
    pub fn give_back(&self, count: usize) {
        self.kept.set(self.kept().saturating_sub(count));
    }
    /// Readings that had to open and close their file, as the limit was reached.
    pub fn open_read_close(&self) -> u64 {
        self.short_reads.get()
    }
}

/// A file of `/proc` that is opened once and read again and again at offset 0.
#[derive(Debug)]
pub struct ProcFile {
    path: CString,
    descriptors: Descriptors,
    open: Option<OwnedFd>,
}

impl ProcFile {
    /// Names the file; it is opened at the first reading.
    pub fn new(path: &str, descriptors: &Descriptors) -> Self {
        let path = CString::new(path).unwrap_or_default();
        Self {
            path,
            descriptors: descriptors.clone(),
            open: None,
        }
    }

    /// Reads the whole file into `buffer`. An error means that it is gone, or may not be read.
    ///
    /// # Errors
    /// What the system says: `ESRCH` or `ENOENT` where the process or thread ended.
    pub fn read<'b>(&mut self, buffer: &'b mut Buffer) -> io::Result<&'b str> {
        if let Some(open) = &self.open {
            return buffer.fill(open.as_raw_fd());
        }
        // SAFETY: the path is a valid C string; the descriptor is ours alone.
        let opened = unsafe {
            let raw = check(libc::open(
                self.path.as_ptr(),
                libc::O_RDONLY | libc::O_CLOEXEC,
            ))?;
            OwnedFd::from_raw_fd(raw)
        };
        let read = buffer.fill(opened.as_raw_fd())?;
        if self.descriptors.kept() < self.descriptors.limit {
            self.descriptors.kept.set(self.descriptors.kept() + 1);
            self.open = Some(opened);
        } else {
            self.descriptors
                .short_reads
                .set(self.descriptors.open_read_close() + 1);
        }
        Ok(read)
    }
}

impl Drop for ProcFile {
    fn drop(&mut self) {
        if self.open.is_some() {
            self.descriptors.kept.set(self.descriptors.kept() - 1);
        }
    }
}

/// A text buffer that is reused from reading to reading.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    lossy: String,
}

impl Default for Buffer {
    fn default() -> Self {
        Self {
            bytes: vec![0; 4096],
            lossy: String::new(),
        }
    }
}

impl Buffer {
    fn fill(&mut self, fd: RawFd) -> io::Result<&str> {
        let mut length = 0;
        loop {
            let free = self.bytes.len() - length;
            // SAFETY: the kernel writes at most `free` bytes into memory that we own.
            let got = unsafe {
                libc::pread(
                    fd,
                    self.bytes[length..].as_mut_ptr().cast(),
                    free,
                    length as libc::off_t,
                )
            };
            if got < 0 {
                return Err(io::Error::last_os_error());
            }
            length += got as usize;
            // A file of one record comes whole; long ones come page by page until nothing is left.
            if got == 0 || (length < 1024 && length < self.bytes.len()) {
                break;
            }
            if length == self.bytes.len() {
                self.bytes.resize(length * 2, 0);
            }
        }
        match std::str::from_utf8(&self.bytes[..length]) {
            Ok(_) => {}
            Err(_) => {
                self.lossy = String::from_utf8_lossy(&self.bytes[..length]).into_owned();
                return Ok(&self.lossy);
            }
        }
        // Checked above; the second look costs less than a borrow that outlives the branch.
        Ok(std::str::from_utf8(&self.bytes[..length]).unwrap_or_default())
    }
}

/// A folder that is kept open and listed again and again.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: String,
}

impl Folder {
    /// Opens the folder.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &str) -> io::Result<Self> {
        let c_path = c_path(path)?;
        // SAFETY: the path is a valid C string; the descriptor is ours alone.
        let fd = unsafe {
            let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
            OwnedFd::from_raw_fd(check(libc::open(c_path.as_ptr(), flags))?)
        };
        Ok(Self {
            fd,
            path: path.to_owned(),
        })
    }

    /// Calls `each` with every name.
    ///
    /// # Errors
    /// What the system says.
    pub fn list(&self, buffer: &mut Vec<u8>, mut each: impl FnMut(&str)) -> io::Result<()> {
        self.list_from(0, buffer, |name, _| each(name))
    }

    /// Calls `each` with every name from a place on that an earlier listing handed out (0: from the
    /// first one), and with its place.
    ///
    /// # Errors
    /// What the system says.
    pub fn list_from(
        &self,
        place: i64,
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(&str, i64),
    ) -> io::Result<()> {
        /// Of `struct linux_dirent64`: number (8), place of the next (8), length (2), kind (1), name.
        const HEADER: usize = 19;
        buffer.resize(32 << 10, 0);
        // SAFETY: no memory is involved.
        if unsafe { libc::lseek(self.fd.as_raw_fd(), place, libc::SEEK_SET) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut here = place;
        loop {
            // SAFETY: the kernel writes at most `buffer.len()` bytes into memory that we own.
            let got = unsafe {
                libc::syscall(
                    libc::SYS_getdents64,
                    self.fd.as_raw_fd(),
                    buffer.as_mut_ptr(),
                    buffer.len(),
                )
            };
            if got < 0 {
                return Err(io::Error::last_os_error());
            }
            let mut rest = &buffer[..got as usize];
            if rest.is_empty() {
                return Ok(());
            }
            while rest.len() > HEADER {
                let length =
                    usize::from(u16::from_ne_bytes([rest[16], rest[17]])).clamp(HEADER, rest.len());
                let name = rest[HEADER..length]
                    .split(|&byte| byte == 0)
                    .next()
                    .unwrap_or_default();
                if let Ok(name) = std::str::from_utf8(name) {
                    each(name, here);
                }
                here = rest[8..16].try_into().map_or(here, i64::from_ne_bytes);
                rest = &rest[length..];
            }
        }
    }

    /// Folders in it; `None` once it is gone.
    pub fn folders(&self) -> Option<i64> {
        // SAFETY: the structure is plain data that the kernel fills.
        let stat = unsafe {
            let mut stat = std::mem::zeroed::<libc::stat>();
            (libc::fstat(self.fd.as_raw_fd(), &mut stat) == 0).then_some(stat)
        };
        // Its own names and the links of its folders to it.
        stat.map(|stat| stat.st_nlink as i64 - 2)
    }

    /// False once the folder was removed or replaced at its path.
    pub fn still_there(&self) -> bool {
        let Ok(path) = c_path(&self.path) else {
            return false;
        };
        // SAFETY: both structures are plain data that the kernel fills.
        unsafe {
            let (mut ours, mut now) = (
                std::mem::zeroed::<libc::stat>(),
                std::mem::zeroed::<libc::stat>(),
            );
            libc::fstat(self.fd.as_raw_fd(), &mut ours) == 0
                && libc::stat(path.as_ptr(), &mut now) == 0
                && (ours.st_dev, ours.st_ino) == (now.st_dev, now.st_ino)
        }
    }
}

/// Asks the file system to keep room for `bytes` of a file; the file's length stays.
pub fn reserve(file: &File, bytes: usize) {
    // SAFETY: the descriptor is open; what cannot be had is not relied on.
    unsafe {
        libc::fallocate(
            file.as_raw_fd(),
            libc::FALLOC_FL_KEEP_SIZE,
            0,
            bytes as libc::off_t,
        );
    }
}

/// Lets two existing files change places, in one step.
///
/// # Errors
/// If one is missing, or the file system cannot.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let (one, other) = (
        c_path(&one.to_string_lossy())?,
        c_path(&other.to_string_lossy())?,
    );
    // SAFETY: both names are terminated and live through the call.
    unsafe {
        check(libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        ) as c_int)
        .map(drop)
    }
}

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

/// Unix time.
pub fn wall_ns() -> i64 {
    clock_ns(libc::CLOCK_REALTIME).unwrap_or(0)
}

/// CPU time of a whole process, ended threads included; `None` once it was waited for.
pub fn process_cpu_ns(pid: i32) -> Option<i64> {
    const CPUCLOCK_SCHED: i32 = 2;
    clock_ns((!pid << 3) | CPUCLOCK_SCHED)
}

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

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_stop(_: c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// True once SIGTERM came.
pub fn stop_requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Leaves the terminal's session, so that neither Ctrl-C nor its end reaches us, and makes SIGTERM a request.
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
