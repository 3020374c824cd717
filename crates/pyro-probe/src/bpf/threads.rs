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
use crate::sys::{ahead_of_kernel_ns, mono_ns};

/// Bytes that the kernel returns at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Both clocks are one; the kernel's programs read it in a way that may be off by less.
const SAME_CLOCK_NS: i64 = 1_000_000;

/// The program, loaded.
pub struct ThreadIterator {
    object: Ebpf,
    buffer: Vec<u8>,
    /// Our clock less that of the program.
    ahead_ns: i64,
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
            ahead_ns: ahead_of_kernel_ns(),
        };
        let pid = std::process::id() as i32;
        let mut seen_ns = None;
        let link = iterator.bind(pid).map_err(refused)?;
        let begun = mono_ns();
        iterator
            .read(&link, |observed| match observed {
                Observation::Seen(record) if record.counters.tid == pid => {
                    seen_ns = Some(record.counters.t_mono_ns);
                }
                _ => {}
            })
            .map_err(refused)?;
        let pass = begun - SAME_CLOCK_NS..=mono_ns() + SAME_CLOCK_NS;
        match seen_ns {
            Some(at) if pass.contains(&at) => Ok(iterator),
            Some(_) => Err(Refusal {
                reason: "the clock of the kernel's programs is not that of the probe".to_owned(),
                remedy: "Run the probe in the host's time namespace.",
            }),
            None => Err(Refusal {
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
                Ok(bytes) => records(&self.buffer[..bytes], self.ahead_ns, &mut each),
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
