//! Results and arguments of system calls.

use std::ffi::CString;
use std::io;

use libc::c_int;

/// An error where the system gave one.
///
/// # Errors
/// What the system says.
pub fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A path as the system wants it.
///
/// # Errors
/// If it holds a zero byte.
pub fn c_path(path: &str) -> io::Result<CString> {
    CString::new(path).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}
