//! NUMA nodes of the CPUs: told once.

use crate::output::Recorder;
use crate::perf::Sysfs;
use crate::sys::mono_ns;

/// Name of the series, of scope `cpu/<n>`.
pub const SERIES: &str = "numa_node";

/// Nodes of the CPUs that have not been told yet. A kernel without NUMA shows none.
#[derive(Debug)]
pub struct Nodes(Vec<(i32, i32)>);

impl Nodes {
    /// Reads them.
    pub fn of(sysfs: &Sysfs) -> Self {
        let of_node = |(node, cpus): (i32, Vec<i32>)| cpus.into_iter().map(move |cpu| (cpu, node));
        Self(sysfs.nodes().into_iter().flat_map(of_node).collect())
    }

    /// Tells each, the first time.
    pub fn pass(&mut self, recorder: &mut Recorder) {
        for (cpu, node) in self.0.drain(..) {
            let scope = recorder.scope(&format!("cpu/{cpu}"));
            recorder.record(mono_ns(), scope, SERIES, node.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::tests_support::{XEON, machine};

    #[test]
    fn every_cpu_is_told_with_its_node_once() {
        let (_folder, sysfs) = machine(XEON);
        let (mut nodes, mut recorder) = (Nodes::of(&sysfs), Recorder::default());
        nodes.pass(&mut recorder);
        nodes.pass(&mut recorder);
        let told: Vec<_> = recorder
            .rows
            .iter()
            .map(|row| (recorder.scopes[row.scope].as_str(), row.value))
            .collect();
        assert_eq!(told.len(), 8);
        assert!(
            told.contains(&("cpu/3", 0)) && told.contains(&("cpu/4", 1)),
            "{told:?}"
        );
    }

    #[test]
    fn a_kernel_without_nodes_has_no_rows() {
        let mut recorder = Recorder::default();
        Nodes::of(&Sysfs::at("/nowhere")).pass(&mut recorder);
        assert!(recorder.rows.is_empty());
    }
}
