//! Programs that run in the kernel. Their objects are compiled beforehand and committed (`bpf/`), and
//! fitted to the kernel as they are loaded: nothing is needed but its own type information.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use aya::programs::Iter;
use aya::{Btf, Ebpf, EbpfLoader};

use crate::sys::bpf::bind_to_process;

mod events;
mod threads;

pub use events::Events;
pub use threads::ThreadIterator;

/// Where the kernel tells its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Object of the programs in `src/bpf/<name>.bpf.c`, compiled beforehand (`make bpf`).
macro_rules! object {
    ($name:literal) => {
        aya::include_bytes_aligned!(concat!(env!("BPF_OBJECTS"), "/", $name, ".bpf.o"))
    };
}
pub(crate) use object;

/// Why there is no BPF here, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was tried and what came of it.
    pub reason: String,
    /// What would help.
    pub remedy: &'static str,
}

/// The kernel's types, read once for all programs.
pub struct Kernel {
    types: Btf,
}

impl Kernel {
    /// Reads the kernel's types.
    ///
    /// # Errors
    /// If the kernel does not tell its types.
    pub fn read() -> Result<Self, Refusal> {
        if let Err(error) = std::fs::File::open(TYPES) {
            return Err(Refusal {
                reason: format!("{TYPES}: {error}"),
                remedy: "Use a kernel built with CONFIG_DEBUG_INFO_BTF; in a container mount /sys.",
            });
        }
        let types = Btf::parse_file(Path::new(TYPES), aya::Endianness::default());
        types.map(|types| Self { types }).map_err(|error| Refusal {
            reason: format!("{TYPES}: {error}"),
            remedy: "The kernel's type information cannot be read: tell us its version.",
        })
    }

    /// Loads an object's maps and fits its programs to the kernel.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn load(&self, object: &[u8]) -> Result<Ebpf, Refusal> {
        let loaded = EbpfLoader::new()
            .btf(Some(&self.types))
            // Those that only the programs use: the storage of a task.
            .allow_unsupported_maps()
            .load(object);
        loaded.map_err(refused)
    }

    /// The kernel's types.
    pub fn types(&self) -> &Btf {
        &self.types
    }
}

/// Loads an iterator over tasks.
fn load_iterator(object: &mut Ebpf, program: &str, kernel: &Kernel) -> Result<(), Refusal> {
    let program = object.program_mut(program).ok_or_else(damaged)?;
    let program: &mut Iter = program.try_into().map_err(refused)?;
    program.load("task", kernel.types()).map_err(refused)
}

/// Binds an iterator over tasks to a process.
fn bind(object: &Ebpf, program: &str, pid: i32) -> io::Result<OwnedFd> {
    let Some(Ok(program)) = object.program(program).map(<&Iter>::try_from) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let program = program.fd().map_err(io::Error::other)?;
    bind_to_process(program.as_fd(), pid)
}

fn damaged() -> Refusal {
    Refusal {
        reason: "a program or a map is not in its object".to_owned(),
        remedy: "Build the probe again.",
    }
}

/// What the kernel said to loading or attaching a program.
pub fn refused(error: impl std::error::Error) -> Refusal {
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let why = error.to_string();
        if !reason.contains(&why) {
            reason = format!("{reason}: {why}");
        }
        cause = error.source();
    }
    // The verifier's log follows its verdict.
    let reason = reason.lines().next().unwrap_or_default().to_owned();
    Refusal {
        reason,
        remedy: "Run as root, or: setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog+ep on pyro-probe.",
    }
}
