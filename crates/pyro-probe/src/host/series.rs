//! Series of the whole machine.

use super::control_group::ControlGroup;
use super::energy::{Energy, ZONES};
use super::machine::Machine;
use super::nodes::Nodes;
use super::quotas::Quotas;
use crate::output::Recorder;
use crate::parse::{self, cgroup, host};
use crate::perf::Sysfs;
use crate::sys::{Buffer, Descriptors, ProcFile, mono_ns, sysconf};

/// CPU time of all threads of the machine, in nanoseconds where `/proc/stat` counts ticks.
pub const ALL_THREADS: &str = "cpu_threads_ns";

/// The same of threads that have left their CPU, where only the scheduler's statistics show it.
pub const SWITCHED: &str = "cpu_switched_ns";

/// What series that count pages count in.
pub const PAGE_SIZE: &str = "page_size_bytes";

/// Files of the host.
#[derive(Debug)]
pub struct Host {
    machine: Machine,
    stat: ProcFile,
    schedstat: Option<ProcFile>,
    loadavg: Option<ProcFile>,
    meminfo: Option<ProcFile>,
    vmstat: Option<ProcFile>,
    disks: Option<ProcFile>,
    interfaces: Option<ProcFile>,
    pressure: Vec<(&'static str, ProcFile)>,
    frequencies: Vec<(u32, ProcFile)>,
    energy: Energy,
    nodes: Nodes,
    group: ControlGroup,
    quotas: Quotas,
    whole_disks: Vec<(String, bool)>,
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
        let mut open = |path: &str| ProcFile::present(path, descriptors, buffer);
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
        let loadavg = open("/proc/loadavg");
        let meminfo = open("/proc/meminfo");
        let vmstat = open("/proc/vmstat");
        let disks = open("/proc/diskstats");
        let interfaces = open("/proc/net/dev");
        let schedstat = open("/proc/schedstat");
        let group = ControlGroup::open(root, descriptors, buffer);
        let mut mountinfo = ProcFile::new("/proc/self/mountinfo", descriptors);
        let mounts = cgroup::mounts(mountinfo.read(buffer).unwrap_or_default());
        let quotas = Quotas::new(mounts, &group.folders, descriptors);
        Self {
            machine,
            stat: ProcFile::new("/proc/stat", descriptors),
            schedstat: schedstat.filter(|_| group.all_threads.is_none()),
            loadavg,
            meminfo,
            vmstat,
            disks,
            interfaces,
            pressure,
            frequencies,
            energy: Energy::open(ZONES, descriptors),
            nodes: Nodes::of(&Sysfs::at("/sys")),
            group,
            quotas,
            whole_disks: Vec::new(),
            forks: -1,
            last_pid: 0,
        }
    }

    /// Folders of the control groups that are read.
    pub fn group_folders(&self) -> &[String] {
        &self.group.folders
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
        if let Some(file) = &mut self.group.all_threads
            && let Some(used_ns) = file
                .read(buffer)
                .ok()
                .and_then(|text| parse::number(text.trim_end()))
        {
            recorder.record(mono_ns(), scope, ALL_THREADS, used_ns);
        }
        if slow {
            self.slow_pass(scope, recorder, buffer);
            self.group
                .pass(self.machine.ticks_per_second, recorder, buffer);
        }
        std::mem::replace(&mut self.forks, forks) != forks
    }

    /// The quotas of control groups that rule processes.
    pub fn pass_quotas(
        &mut self,
        pids: impl Iterator<Item = i32>,
        recorder: &mut Recorder,
        buffer: &mut Buffer,
    ) {
        self.quotas.pass(pids, recorder, buffer);
    }

    fn slow_pass(&mut self, scope: usize, recorder: &mut Recorder, buffer: &mut Buffer) {
        let page_bytes = self.machine.page_bytes;
        let now = mono_ns();
        recorder.record(now, scope, PAGE_SIZE, page_bytes);
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
        let switched = self.schedstat.as_mut().and_then(|file| {
            let text = file.read(buffer).ok()?;
            host::switched_ns(text).map(|value| (mono_ns(), value))
        });
        if let Some((at, value)) = switched {
            recorder.record(at, scope, SWITCHED, value);
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
        self.nodes.pass(recorder);
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
