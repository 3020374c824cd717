//! Host series and those of the root's control group.

use std::os::unix::fs::MetadataExt;

use crate::energy::Energy;
use crate::parse::{self, cgroup, host, process};
use crate::series::Recorder;
use crate::sys::{Buffer, Descriptors, ProcFile, mono_ns, sysconf};

/// Constants of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// Clock ticks per second of `/proc`.
    pub ticks_per_second: i64,
    /// Page size.
    pub page_bytes: i64,
}

impl Machine {
    /// Asks the system.
    pub fn ask() -> Self {
        Self {
            ticks_per_second: sysconf(libc::_SC_CLK_TCK),
            page_bytes: sysconf(libc::_SC_PAGESIZE),
        }
    }
}

/// CPU time of all threads of the machine, in nanoseconds where `/proc/stat` counts ticks.
pub const ALL_THREADS: &str = "cpu_threads_ns";

/// Whether what we see as the root of the control groups is the machine's own.
fn in_first_namespace() -> bool {
    /// `PROC_CGROUP_INIT_INO` of include/linux/proc_ns.h.
    const FIRST: u64 = 0xEFFF_FFFB;
    std::fs::metadata("/proc/self/ns/cgroup").is_ok_and(|file| file.ino() == FIRST)
}

/// A file that is there: read once to see, then kept.
fn present(path: &str, descriptors: &Descriptors, buffer: &mut Buffer) -> Option<ProcFile> {
    let mut file = ProcFile::new(path, descriptors);
    file.read(buffer).is_ok().then_some(file)
}

/// A file of a control group and how it is parsed.
#[derive(Debug)]
struct GroupFile {
    name: String,
    file: ProcFile,
}

/// Files of the host.
#[derive(Debug)]
pub struct Host {
    machine: Machine,
    stat: ProcFile,
    all_threads: Option<ProcFile>,
    loadavg: Option<ProcFile>,
    meminfo: Option<ProcFile>,
    vmstat: Option<ProcFile>,
    disks: Option<ProcFile>,
    interfaces: Option<ProcFile>,
    pressure: Vec<(&'static str, ProcFile)>,
    frequencies: Vec<(u32, ProcFile)>,
    energy: Energy,
    group: Vec<GroupFile>,
    whole_disks: Vec<(String, bool)>,
    /// Folders of the control group that are read.
    pub group_folders: Vec<String>,
    forks: i64,
    /// The number last given to a process or thread; 0 if unknown.
    pub last_pid: i32,
}

impl Host {
    /// Opens what is there, and the control group of `root`.
    pub fn open(
        machine: Machine,
        root: i32,
        descriptors: &Descriptors,
        buffer: &mut Buffer,
    ) -> Self {
        let mut open = |path: &str| present(path, descriptors, buffer);
        let pressure = host::PRESSURE
            .iter()
            .filter_map(|row| Some((row.0, open(&format!("/proc/pressure/{}", row.0))?)))
            .collect();
        let frequencies = (0..sysconf(libc::_SC_NPROCESSORS_CONF).clamp(0, 4096) as u32)
            .filter_map(|cpu| {
                let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
                Some((cpu, open(&path)?))
            })
            .collect();
        let mut host = Self {
            machine,
            stat: ProcFile::new("/proc/stat", descriptors),
            all_threads: None,
            loadavg: open("/proc/loadavg"),
            meminfo: open("/proc/meminfo"),
            vmstat: open("/proc/vmstat"),
            disks: open("/proc/diskstats"),
            interfaces: open("/proc/net/dev"),
            pressure,
            frequencies,
            energy: Energy::open(crate::energy::ZONES, descriptors),
            group: Vec::new(),
            whole_disks: Vec::new(),
            group_folders: Vec::new(),
            forks: -1,
            last_pid: 0,
        };
        host.open_group(root, descriptors, buffer);
        host
    }

    fn open_group(&mut self, root: i32, descriptors: &Descriptors, buffer: &mut Buffer) {
        let mut text = |path: &str| {
            ProcFile::new(path, descriptors)
                .read(buffer)
                .unwrap_or_default()
                .to_owned()
        };
        let (groups, mounts) = (
            text(&format!("/proc/{root}/cgroup")),
            cgroup::mounts(&text("/proc/self/mountinfo")),
        );
        if in_first_namespace() {
            self.all_threads = cgroup::v1::root_usage(&mounts)
                .and_then(|path| present(&path, descriptors, buffer));
        }
        for (controllers, group) in process::cgroups(&groups) {
            let ours = |mount: &&cgroup::Mount| match controllers {
                "" => mount.controllers.is_empty(),
                _ => controllers
                    .split(',')
                    .all(|name| mount.controllers.iter().any(|has| has == name)),
            };
            let Some(folder) = mounts
                .iter()
                .find(ours)
                .and_then(|mount| cgroup::folder(mount, group))
            else {
                continue;
            };
            let singles = cgroup::SINGLE.iter().map(|row| row.0.to_owned());
            let tables = [
                "cpu.stat",
                "cpu.max",
                "cpuacct.stat",
                "memory.stat",
                "memory.events",
                "memory.oom_control",
                "cpuset.cpus.effective",
                "cpuset.effective_cpus",
                "io.stat",
                "io.max",
                "blkio.throttle.io_service_bytes_recursive",
                "blkio.throttle.read_bps_device",
                "blkio.throttle.write_bps_device",
            ];
            let pressure = host::PRESSURE
                .iter()
                .map(|row| format!("{}.pressure", row.0));
            let before = self.group.len();
            for name in singles.chain(tables.map(str::to_owned)).chain(pressure) {
                // Two hierarchies may offer a file of one name (v1 beside v2): the first is taken.
                if self.group.iter().all(|known| known.name != name)
                    && let Some(file) = present(&format!("{folder}/{name}"), descriptors, buffer)
                {
                    self.group.push(GroupFile { name, file });
                }
            }
            if self.group.len() > before {
                self.group_folders.push(folder);
            }
        }
    }

    /// The fast series; with `slow` the others too. True if a process or thread was created since.
    pub fn pass(&mut self, slow: bool, recorder: &mut Recorder, buffer: &mut Buffer) -> bool {
        let scope = recorder.scope("host");
        let mut forks = self.forks;
        if let Ok(text) = self.stat.read(buffer) {
            let now = mono_ns();
            let fast_only = !slow;
            host::stat(
                text,
                self.machine.ticks_per_second,
                &mut |cpu, name, value| {
                    if name == "forks_count" {
                        forks = value;
                    }
                    let fast =
                        cpu.is_none() && (name.starts_with("cpu_") || name.starts_with("procs_"));
                    match cpu {
                        _ if fast_only && !fast => {}
                        None => recorder.record(now, scope, name, value),
                        Some(cpu) => {
                            let scope = recorder.scope(&format!("cpu/{cpu}"));
                            recorder.record(now, scope, name, value);
                        }
                    }
                },
            );
        }
        if let Some(file) = &mut self.all_threads
            && let Some(used_ns) = file
                .read(buffer)
                .ok()
                .and_then(|text| parse::number(text.trim_end()))
        {
            recorder.record(mono_ns(), scope, ALL_THREADS, used_ns);
        }
        if slow {
            self.slow_pass(scope, recorder, buffer);
            self.group_pass(recorder, buffer);
        }
        std::mem::replace(&mut self.forks, forks) != forks
    }

    fn slow_pass(&mut self, scope: usize, recorder: &mut Recorder, buffer: &mut Buffer) {
        let page_bytes = self.machine.page_bytes;
        let now = mono_ns();
        if let Some(text) = self
            .loadavg
            .as_mut()
            .and_then(|file| file.read(buffer).ok())
        {
            self.last_pid = host::last_pid(text);
            host::loadavg(text, &mut |name, value| {
                recorder.record(now, scope, name, value)
            });
        }
        if let Some(text) = self
            .meminfo
            .as_mut()
            .and_then(|file| file.read(buffer).ok())
        {
            host::meminfo(text, &mut |name, value| {
                recorder.record(now, scope, name, value)
            });
        }
        if let Some(text) = self.vmstat.as_mut().and_then(|file| file.read(buffer).ok()) {
            host::vmstat(text, page_bytes, &mut |name, value| {
                recorder.record(now, scope, name, value)
            });
        }
        for (resource, file) in &mut self.pressure {
            if let Ok(text) = file.read(buffer) {
                host::pressure(resource, text, &mut |name, value| {
                    recorder.record(now, scope, name, value)
                });
            }
        }
        if let Some(text) = self.disks.as_mut().and_then(|file| file.read(buffer).ok()) {
            let known = &mut self.whole_disks;
            host::disks(text, &mut |device, name, value| {
                if is_whole(device, known) {
                    let scope = recorder.scope(&format!("disk/{device}"));
                    recorder.record(now, scope, name, value);
                }
            });
        }
        if let Some(text) = self
            .interfaces
            .as_mut()
            .and_then(|file| file.read(buffer).ok())
        {
            host::interfaces(text, &mut |interface, name, value| {
                let scope = recorder.scope(&format!("net/{interface}"));
                recorder.record(now, scope, name, value);
            });
        }
        self.energy.pass(recorder, buffer);
        for (cpu, file) in &mut self.frequencies {
            if let Some(khz) = file
                .read(buffer)
                .ok()
                .and_then(|text| text.trim().parse::<i64>().ok())
            {
                let scope = recorder.scope(&format!("cpu/{cpu}"));
                recorder.record(now, scope, "frequency_hz", khz.saturating_mul(1000));
            }
        }
    }

    fn group_pass(&mut self, recorder: &mut Recorder, buffer: &mut Buffer) {
        if self.group.is_empty() {
            return;
        }
        let (now, scope) = (mono_ns(), recorder.scope("cgroup"));
        let ticks_per_second = self.machine.ticks_per_second;
        for GroupFile { name, file } in &mut self.group {
            let Ok(text) = file.read(buffer) else {
                continue;
            };
            let mut emit = |series, value| recorder.record(now, scope, series, value);
            match (name.as_str(), name.strip_suffix(".pressure")) {
                (_, Some(resource)) => host::pressure(resource, text, &mut emit),
                ("cpu.stat", _) => cgroup::cpu_stat(text, &mut emit),
                ("cpu.max", _) => cgroup::cpu_max(text, &mut emit),
                ("cpuacct.stat", _) => cgroup::v1::cpuacct_stat(text, ticks_per_second, &mut emit),
                ("memory.stat", _) => cgroup::memory_stat(text, &mut emit),
                ("memory.events" | "memory.oom_control", _) => {
                    cgroup::memory_events(text, &mut emit)
                }
                ("cpuset.cpus.effective" | "cpuset.effective_cpus", _) => {
                    cgroup::cpus_allowed(text, &mut emit)
                }
                ("io.stat", _) => cgroup::io_stat(text, &mut emit),
                ("io.max", _) => cgroup::io_max(text, &mut emit),
                ("blkio.throttle.io_service_bytes_recursive", _) => {
                    cgroup::v1::io_service_bytes(text, &mut emit)
                }
                (file, _) if file.starts_with("blkio.") => {
                    cgroup::v1::bps_device(file, text, &mut emit)
                }
                (file, _) => cgroup::single(file, text, &mut emit),
            }
        }
    }
}

/// Partitions have no folder of their own in `/sys/block`.
fn is_whole(device: &str, known: &mut Vec<(String, bool)>) -> bool {
    if let Some((_, whole)) = known.iter().find(|(name, _)| name == device) {
        return *whole;
    }
    let whole = std::path::Path::new("/sys/block")
        .join(device.replace('/', "!"))
        .exists();
    known.push((device.to_owned(), whole));
    whole
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// `schema/series.toml` names what the code emits, and nothing else.
    #[test]
    fn series_are_those_of_the_schema() {
        let text = include_str!("../../../schema/series.toml");
        let schema: toml::Table = toml::from_str(text).unwrap();
        let declared: BTreeMap<&str, BTreeSet<&str>> = schema
            .iter()
            .filter_map(|(scope, value)| {
                Some((
                    scope.as_str(),
                    value
                        .get("series")?
                        .as_table()?
                        .keys()
                        .map(String::as_str)
                        .collect(),
                ))
            })
            .collect();
        let ours =
            |table: &'static [(&'static str, &'static str, i64)]| table.iter().map(|row| row.1);
        let psi = || host::PRESSURE.iter().flat_map(|row| [row.1, row.2]);
        let mut emitted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        emitted.entry("host").or_default().extend(
            host::CPU_MODES
                .into_iter()
                .chain([ALL_THREADS])
                .chain(ours(host::STAT))
                .chain(host::LOAD)
                .chain([host::LOAD_THREADS, host::ALLOC_STALLS])
                .chain(ours(host::MEMINFO))
                .chain(ours(host::VMSTAT))
                .chain(psi()),
        );
        emitted
            .entry("cpu")
            .or_default()
            .extend(host::CPU_MODES.into_iter().chain(["frequency_hz"]));
        emitted.entry("process").or_default().extend(
            crate::processes::SERIES
                .into_iter()
                .chain(ours(process::IO))
                .chain(ours(process::STATUS)),
        );
        emitted
            .entry("disk")
            .or_default()
            .extend(host::DISK.iter().map(|row| row.1));
        emitted
            .entry("net")
            .or_default()
            .extend(host::NET.iter().map(|row| row.1));
        emitted.entry("cgroup").or_default().extend(
            ours(cgroup::CPU_STAT)
                .chain(ours(cgroup::MEMORY_STAT))
                .chain(ours(cgroup::MEMORY_EVENTS))
                .chain(ours(cgroup::SINGLE))
                .chain(cgroup::IO)
                .chain([cgroup::CPUS_ALLOWED])
                .chain(psi()),
        );
        emitted
            .entry("kernel")
            .or_default()
            .extend([crate::kernel_threads::SERIES]);
        emitted
            .entry("energy")
            .or_default()
            .extend([crate::energy::SERIES]);
        emitted.entry("probe").or_default().extend([
            "passes_count",
            "own_cpu_ns",
            "programs_cpu_ns",
        ]);
        assert_eq!(declared, emitted);
    }
}
