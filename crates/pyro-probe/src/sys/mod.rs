//! What talks to the operating system: files, folders, clocks, signals. All `unsafe` is here, in
//! `perf/kernel.rs` and in `perf/cycles.rs`.

pub mod bpf;
mod call;
mod changes;
mod clock;
mod folder;
pub mod map;
mod memory;
pub mod netlink;
mod proc_file;
mod process;
mod regular;
pub mod urgency;

pub use changes::Changes;
pub use clock::{ahead_of_kernel_ns, boot_ns, mono_ns, process_cpu_ns, thread_cpu_ns, wall_ns};
pub use folder::{Folder, exchange, reserve};
pub use memory::read_memory;
pub use proc_file::{Buffer, Descriptors, Held, ProcFile};
pub use process::{
    detach, own_usage, raise_descriptor_limit, start_ticks, stop_requested, sysconf, wait,
    watch_exit,
};
pub use regular::{open_regular, writable_regular};
