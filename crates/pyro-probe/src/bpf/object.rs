//! Objects of the programs, in the probe itself.

/// Object of the programs in `src/bpf/<name>.bpf.c`, compiled beforehand (`make bpf`).
macro_rules! object {
    ($name:literal) => {
        aya::include_bytes_aligned!(concat!(env!("BPF_OBJECTS"), "/", $name, ".bpf.o"))
    };
}
pub(super) use object;
