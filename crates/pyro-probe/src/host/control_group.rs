//! Series of the control groups of one process.

use std::os::unix::fs::MetadataExt;

use crate::output::Recorder;
use crate::parse::{cgroup, host, process};
use crate::sys::{Buffer, Descriptors, ProcFile, mono_ns};

/// A file of a control group and how it is parsed.
#[derive(Debug)]
struct GroupFile {
    name: String,
    file: ProcFile,
}

/// Files of the control groups of a process, v1 and v2.
#[derive(Debug, Default)]
pub struct ControlGroup {
    files: Vec<GroupFile>,
    /// Folders that are read.
    pub folders: Vec<String>,
    /// Counts the CPU time of every thread of the machine, where the groups show it.
    pub all_threads: Option<ProcFile>,
}

impl ControlGroup {
    /// Opens the files of the groups of process `root`.
    pub fn open(root: i32, descriptors: &Descriptors, buffer: &mut Buffer) -> Self {
        let mut found = Self::default();
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
            found.all_threads = cgroup::v1::root_usage(&mounts)
                .and_then(|path| ProcFile::present(&path, descriptors, buffer));
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
            let before = found.files.len();
            for name in singles.chain(tables.map(str::to_owned)).chain(pressure) {
                // Two hierarchies may offer a file of one name (v1 beside v2): the first is taken.
                if found.files.iter().all(|known| known.name != name)
                    && let Some(file) =
                        ProcFile::present(&format!("{folder}/{name}"), descriptors, buffer)
                {
                    found.files.push(GroupFile { name, file });
                }
            }
            if found.files.len() > before {
                found.folders.push(folder);
            }
        }
        found
    }

    /// Reads all files.
    pub fn pass(&mut self, ticks_per_second: i64, recorder: &mut Recorder, buffer: &mut Buffer) {
        if self.files.is_empty() {
            return;
        }
        let (now, scope) = (mono_ns(), recorder.scope("cgroup"));
        for GroupFile { name, file } in &mut self.files {
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

/// Whether what we see as the root of the control groups is the machine's own.
fn in_first_namespace() -> bool {
    /// `PROC_CGROUP_INIT_INO` of include/linux/proc_ns.h.
    const FIRST: u64 = 0xEFFF_FFFB;
    std::fs::metadata("/proc/self/ns/cgroup").is_ok_and(|file| file.ino() == FIRST)
}
