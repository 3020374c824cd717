//! The kernel's types, and programs fitted to them.

use std::path::Path;

use aya::{Btf, Ebpf, EbpfLoader};

use super::refusal::{Refusal, refused};

/// Where the kernel describes its types.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The kernel's types, read once for all programs.
pub struct Kernel {
    types: Btf,
}

impl Kernel {
    /// Reads the kernel's types.
    ///
    /// # Errors
    /// If the kernel does not describe its types.
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
            remedy: "The kernel's type information cannot be read: report its version.",
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
