//! The iterator over the threads of a process, `threads.bpf.c`.

use std::io::{self, Read};
use std::os::fd::OwnedFd;

use aya::Ebpf;

use super::iterators::{bind, load_iterator};
use super::kernel::Kernel;
use super::object::object;
use super::refusal::{Refusal, refused};
use crate::parse::thread_record::{Observation, records};
use crate::sys::bpf::iterate;

/// Bytes that the kernel returns at once.
const BUFFER_BYTES: usize = 64 << 10;

/// The program, loaded.
pub struct ThreadIterator {
    object: Ebpf,
    buffer: Vec<u8>,
}

impl ThreadIterator {
    /// Loads the program and tries it on ourselves.
    ///
    /// # Errors
    /// Why it cannot be had here.
    pub fn load(kernel: &Kernel) -> Result<Self, Refusal> {
        let mut object = kernel.load(object!("threads"))?;
        load_iterator(&mut object, "threads", kernel)?;
        let mut iterator = Self {
            object,
            buffer: vec![0; BUFFER_BYTES],
        };
        let pid = std::process::id() as i32;
        let mut seen = false;
        let link = iterator.bind(pid).map_err(refused)?;
        iterator
            .read(&link, |observed| {
                seen |= matches!(observed, Observation::Seen(record) if record.counters.tid == pid);
            })
            .map_err(refused)?;
        match seen {
            true => Ok(iterator),
            false => Err(Refusal {
                reason: "the iterator over tasks does not see the probe itself".to_owned(),
                remedy: "Run the probe in the host's process namespace.",
            }),
        }
    }

    /// Binds the program to a process.
    ///
    /// # Errors
    /// What the system says: `ESRCH` where there is no such process.
    pub fn bind(&self, pid: i32) -> io::Result<OwnedFd> {
        bind(&self.object, "threads", pid)
    }

    /// Passes on the records of all threads of the process that the link is bound to.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self, link: &OwnedFd, mut each: impl FnMut(Observation)) -> io::Result<()> {
        let mut file = iterate(link)?;
        loop {
            match file.read(&mut self.buffer) {
                Ok(0) => return Ok(()),
                Ok(bytes) => records(&self.buffer[..bytes], &mut each),
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
