//! Files of `/proc`, opened once and read again and again.

use std::cell::Cell;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use super::call::check;

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
    /// Counts so many as kept open for as long as what is returned lives, beyond the limit too: no
    /// process can be followed without them.
    pub fn hold(&self, count: usize) -> Held {
        self.kept.set(self.kept() + count);
        Held {
            descriptors: self.clone(),
            count,
        }
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

/// Descriptors that count as kept open until this is dropped.
#[derive(Debug)]
pub struct Held {
    descriptors: Descriptors,
    count: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.descriptors.give_back(self.count);
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

    /// A file that is there: read once to see, then kept.
    pub fn present(path: &str, descriptors: &Descriptors, buffer: &mut Buffer) -> Option<Self> {
        let mut file = Self::new(path, descriptors);
        file.read(buffer).is_ok().then_some(file)
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

/// A first reading that gave less has given all: records of files in several are shorter than what
/// lacks to a page.
const WHOLE_BYTES: usize = 3072;

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
            // A file of one record comes whole, others in pages that lack less than a record at their end.
            if got == 0 || length < WHOLE_BYTES {
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
