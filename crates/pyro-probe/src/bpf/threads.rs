//! The iterator over the threads of a process, `threads.bpf.c`.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use aya::Ebpf;
use aya::programs::Iter;

use super::{Kernel, Refusal, object, refused};
use crate::parse::thread_record::{Record, records};
use crate::sys::bpf::{bind_to_process, iterate};

/// Bytes that the kernel hands out at once.
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
        let missing = || Refusal {
            reason: "the program is not in its object".to_owned(),
            remedy: "Build the probe again.",
        };
        let program = object.program_mut("threads").ok_or_else(missing)?;
        let program: &mut Iter = program.try_into().map_err(refused)?;
        program.load("task", kernel.types()).map_err(refused)?;
        let mut iterator = Self {
            object,
            buffer: vec![0; BUFFER_BYTES],
        };
        let own = std::process::id() as i32;
        let mut seen = false;
        let link = iterator.bind(own).map_err(refused)?;
        iterator
            .read(&link, |record| seen |= record.tid == own)
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
        let program = self.object.program("threads");
        let Some(Ok(program)) = program.map(<&Iter>::try_from) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let program = program.fd().map_err(io::Error::other)?;
        bind_to_process(program.as_fd(), pid)
    }

    /// Hands out the records of all threads of the process that the link is bound to.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self, link: &OwnedFd, mut each: impl FnMut(&Record)) -> io::Result<()> {
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
