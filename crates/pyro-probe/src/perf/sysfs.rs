//! PMUs and the machine's shape, as `/sys` shows them; the root folder may be a recorded one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::perf::format::{self, Config, Field};

const DEVICES: &str = "bus/event_source/devices";

/// A tree like `/sys`.
#[derive(Debug, Clone)]
pub struct Sysfs {
    root: PathBuf,
}

/// An event that a PMU names itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// What to count.
    pub config: Config,
    /// What a count is worth in `unit`, where the PMU says so.
    pub scale: Option<f64>,
    /// `MiB`, `Joules`, ...
    pub unit: Option<String>,
}

impl Sysfs {
    /// The tree at `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn read(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_owned())
    }

    fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.root.join(path)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Names of all PMUs.
    pub fn devices(&self) -> Vec<String> {
        self.names(DEVICES)
    }

    /// Number of a PMU for `perf_event_attr.type`.
    pub fn kind(&self, device: &str) -> Option<u32> {
        let text = self.read(&format!("{DEVICES}/{device}/type"))?;
        u32::try_from(format::number(&text)?).ok()
    }

    /// CPUs on which a PMU outside of the cores is opened: one of each package or die.
    pub fn cpus_of(&self, device: &str) -> Vec<i32> {
        let text = self.read(&format!("{DEVICES}/{device}/cpumask"));
        format::list(text.as_deref().unwrap_or("0"))
    }

    /// The words for an event string, by the formats of its PMU.
    ///
    /// # Errors
    /// The term that cannot be understood.
    pub fn config(&self, device: &str, terms: &str) -> Result<Config, String> {
        format::config(terms, |name| {
            Field::parse(&self.read(&format!("{DEVICES}/{device}/format/{name}"))?)
        })
    }

    /// An event that a PMU names itself, with what a count is worth.
    pub fn event(&self, device: &str, name: &str) -> Option<Named> {
        let path = format!("{DEVICES}/{device}/events/{name}");
        let terms = self.read(&path)?;
        Some(Named {
            config: self.config(device, &terms).ok()?,
            scale: self
                .read(&format!("{path}.scale"))
                .and_then(|text| text.parse().ok())
                .filter(|scale: &f64| scale.is_finite() && *scale > 0.0),
            unit: self.read(&format!("{path}.unit")),
        })
    }

    /// Names of a PMU's own events.
    pub fn events(&self, device: &str) -> Vec<String> {
        let mut names = self.names(&format!("{DEVICES}/{device}/events"));
        names.retain(|name| !name.ends_with(".scale") && !name.ends_with(".unit"));
        names
    }

    /// PMUs of the cores: `cpu`, of hybrid ones `cpu_core`, of Arm `armv8_pmuv3_0`, ...
    pub fn core_device(&self) -> Option<String> {
        self.devices().into_iter().find(|name| {
            name == "cpu" || name == "cpu_core" || name.starts_with("armv") || name == "riscv_pmu"
        })
    }

    fn package_of(&self, cpu: i32) -> Option<i32> {
        let text = self.read(&format!(
            "devices/system/cpu/cpu{cpu}/topology/physical_package_id"
        ))?;
        text.parse().ok().filter(|&package| package >= 0)
    }

    /// CPUs of each NUMA node.
    pub fn nodes(&self) -> BTreeMap<i32, Vec<i32>> {
        let node = |name: String| {
            let number = name.strip_prefix("node")?.parse().ok()?;
            let cpus = self.read(&format!("devices/system/node/{name}/cpulist"))?;
            Some((number, format::list(&cpus)))
        };
        self.names("devices/system/node")
            .into_iter()
            .filter_map(node)
            .collect()
    }

    /// What a counter of the memory of a CPU's package is about: `node/<n>` where the package is one
    /// NUMA node, `package/<n>` where it is several (sub-NUMA clustering, NPS2 and more).
    pub fn memory_scope(&self, cpu: i32) -> String {
        let nodes = self.nodes();
        let node = nodes
            .iter()
            .find(|(_, cpus)| cpus.contains(&cpu))
            .map(|(&node, _)| node);
        let Some(package) = self.package_of(cpu) else {
            return node.map_or_else(|| "host".to_owned(), |node| format!("node/{node}"));
        };
        let of_package = nodes.values().filter(|cpus| {
            cpus.first()
                .is_some_and(|&cpu| self.package_of(cpu) == Some(package))
        });
        match (node, of_package.count()) {
            (Some(node), 1) => format!("node/{node}"),
            _ => format!("package/{package}"),
        }
    }

    /// What counters of a last-level cache are about: `node/<n>` of its CPUs, else `l3/<id>`.
    pub fn cache_scope(&self, id: i32) -> String {
        for (node, cpus) in self.nodes() {
            for cpu in cpus {
                let path = format!("devices/system/cpu/cpu{cpu}/cache/index3/id");
                if self.read(&path).is_some_and(|text| text.parse() == Ok(id)) {
                    return format!("node/{node}");
                }
            }
        }
        format!("l3/{id}")
    }
}

#[cfg(test)]
pub mod tests_support {
    use super::Sysfs;

    use std::io::Write as _;

    /// Lays out a recorded machine: lines `path: content`, comments after `#`. Paths are below
    /// `/sys`, or, as `pyrometer doctor --bundle` writes them, below `/`.
    pub fn machine(text: &str) -> (tempfile::TempDir, Sysfs) {
        let folder = tempfile::tempdir().unwrap();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((path, content)) = line.split_once(": ") else {
                continue;
            };
            if path.starts_with("proc/") {
                continue;
            }
            let path = folder
                .path()
                .join(path.strip_prefix("sys/").unwrap_or(path));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            // A line of the text is a line of the file.
            let file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path);
            writeln!(file.unwrap(), "{content}").unwrap();
        }
        let sysfs = Sysfs::at(folder.path());
        (folder, sysfs)
    }

    pub const XEON: &str = include_str!("../../../../tests/fixtures/sysfs/xeon-2-nodes.tree");
    pub const EPYC: &str =
        include_str!("../../../../tests/fixtures/sysfs/epyc-zen3-2-packages.tree");
    pub const ICE_LAKE: &str =
        include_str!("../../../../tests/fixtures/sysfs/icelake-2-nodes.tree");
    pub const SAPPHIRE_RAPIDS: &str =
        include_str!("../../../../tests/fixtures/sysfs/sapphire-rapids-2-nodes.tree");
    pub const ZEN_4: &str = include_str!("../../../../tests/fixtures/sysfs/epyc-zen4-2-nodes.tree");
    pub const NEOVERSE: &str =
        include_str!("../../../../tests/fixtures/sysfs/neoverse-n1-2-nodes.tree");
    pub const GRACE: &str = include_str!("../../../../tests/fixtures/sysfs/grace-1-node.tree");
}

#[cfg(test)]
mod tests {
    use super::tests_support::{EPYC, GRACE, XEON, machine};
    use super::*;

    #[test]
    fn a_named_event_carries_its_worth() {
        let (_folder, xeon) = machine(XEON);
        let read = xeon.event("uncore_imc_0", "cas_count_read").unwrap();
        assert_eq!(read.config, [0x0304, 0, 0]);
        assert_eq!(
            (read.scale, read.unit.as_deref()),
            (Some(6.103515625e-5), Some("MiB"))
        );
        assert_eq!(xeon.kind("uncore_imc_1"), Some(14));
        assert_eq!(xeon.cpus_of("uncore_imc_0"), [0, 4]);
        assert_eq!(xeon.event("uncore_imc_0", "no_such"), None);
        assert_eq!(xeon.core_device().as_deref(), Some("cpu"));
    }

    #[test]
    fn a_bundle_is_a_recorded_machine() {
        let bundle: String = XEON
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| format!("sys/{line}\n"))
            .chain(["proc/sys/kernel/osrelease: 6.1\n".to_owned()])
            .collect();
        let (_folder, xeon) = machine(&bundle);
        assert_eq!(xeon.kind("uncore_imc_1"), Some(14));
        assert_eq!(xeon.memory_scope(4), "node/1");
    }

    #[test]
    fn memory_belongs_to_a_node_or_to_a_package_of_several() {
        let (_folder, xeon) = machine(XEON);
        assert_eq!(
            (xeon.memory_scope(0), xeon.memory_scope(4)),
            ("node/0".into(), "node/1".into())
        );
        let (_folder, epyc) = machine(EPYC);
        assert_eq!(
            (epyc.memory_scope(0), epyc.memory_scope(8)),
            ("package/0".into(), "package/1".into()),
            "two nodes per package"
        );
        assert_eq!(
            (epyc.cache_scope(1), epyc.cache_scope(9)),
            ("node/1".into(), "l3/9".into())
        );
        let (_folder, grace) = machine(GRACE);
        assert_eq!(grace.memory_scope(0), "node/0");
        assert_eq!(Sysfs::at("/no/such").memory_scope(0), "host");
        assert_eq!(grace.core_device().as_deref(), Some("armv8_pmuv3_0"));
    }
}
