//! Memory of other processes.

use std::io;

/// Reads memory of another process, at an address of its own.
///
/// # Errors
/// What the system says: `EFAULT` where nothing lies, `EPERM` where it may not be read, `ESRCH`.
pub fn read_memory(pid: i32, address: u64, into: &mut [u8]) -> io::Result<()> {
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: into.len(),
    };
    // SAFETY: the kernel writes at most `into.len()` bytes into memory that we own; the other
    // address is never used in our own process.
    let read = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
    match usize::try_from(read) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(read) if read < into.len() => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Ok(_) => Ok(()),
    }
}
