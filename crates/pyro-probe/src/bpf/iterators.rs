//! Iterators over tasks.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use aya::Ebpf;
use aya::programs::Iter;

use super::kernel::Kernel;
use super::refusal::{Refusal, damaged, refused};
use crate::sys::bpf::bind_to_process;

/// Loads an iterator over tasks.
///
/// # Errors
/// What the kernel refused.
pub fn load_iterator(object: &mut Ebpf, program: &str, kernel: &Kernel) -> Result<(), Refusal> {
    let program = object.program_mut(program).ok_or_else(damaged)?;
    let program: &mut Iter = program.try_into().map_err(refused)?;
    program.load("task", kernel.types()).map_err(refused)
}

/// Binds an iterator over tasks to a process.
///
/// # Errors
/// What the system says: `ESRCH` where there is no such process.
pub fn bind(object: &Ebpf, program: &str, pid: i32) -> io::Result<OwnedFd> {
    let Some(Ok(program)) = object.program(program).map(<&Iter>::try_from) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let program = program.fd().map_err(io::Error::other)?;
    bind_to_process(program.as_fd(), pid)
}
