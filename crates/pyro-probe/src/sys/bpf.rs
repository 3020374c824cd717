//! Iterators of the kernel over the threads of one process: what the loader's own interface has not.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::c_long;

const BPF_LINK_CREATE: c_long = 28;
const BPF_ITER_CREATE: c_long = 33;
const BPF_TRACE_ITER: u32 = 28;

/// `bpf(2)` for a command that returns a descriptor.
fn bpf<T>(command: c_long, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads the structure and what it points to; the descriptor is ours alone.
    unsafe {
        let size = std::mem::size_of_val(attributes) as c_long;
        let raw = libc::syscall(libc::SYS_bpf, command, attributes, size);
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(raw as RawFd))
    }
}

/// Binds an iterator over tasks to one process (Linux 6.1 and later).
///
/// # Errors
/// What the system says: `ESRCH` where there is no such process.
pub fn bind_to_process(program: BorrowedFd, pid: i32) -> io::Result<OwnedFd> {
    /// `union bpf_iter_link_info`: thread, process, descriptor of a process.
    #[repr(C)]
    struct Filter(u32, u32, u32);
    #[repr(C)]
    struct LinkCreate {
        program: u32,
        target: u32,
        attach_type: u32,
        flags: u32,
        filter: u64,
        filter_bytes: u32,
        unused: u32,
    }
    let filter = Filter(0, pid as u32, 0);
    bpf(
        BPF_LINK_CREATE,
        &LinkCreate {
            program: program.as_raw_fd() as u32,
            target: 0,
            attach_type: BPF_TRACE_ITER,
            flags: 0,
            filter: &raw const filter as u64,
            filter_bytes: size_of::<Filter>() as u32,
            unused: 0,
        },
    )
}

/// Starts an iteration: the file reads as all records, one after another.
///
/// # Errors
/// What the system says.
pub fn iterate(link: &OwnedFd) -> io::Result<File> {
    bpf(BPF_ITER_CREATE, &[link.as_fd().as_raw_fd() as u32, 0]).map(File::from)
}
