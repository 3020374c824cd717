//! Folders, and what the standard library cannot do with files.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use libc::c_int;

use super::call::{c_path, check};

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

    /// Calls `each` with every name from a place on that an earlier listing gave (0: from the
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
