//! Traffic of memory controllers and links, and energy: counters of whole packages.

use crate::perf::format::{self, group_bytes};
use crate::perf::kernel::{Attr, Kernel, Target, refusal};
use crate::perf::rows::{Count, Emit, Kept, Row};
use crate::perf::sysfs::Sysfs;

/// Bytes read from memory.
const READ: &str = "memory_read_bytes";
/// Bytes written to memory.
const WRITTEN: &str = "memory_written_bytes";
/// Both, where they are not distinguished.
const BOTH: &str = "memory_bytes";
/// Bytes that a link to another package sent.
const SENT: &str = "link_sent_bytes";
/// Bytes read from, and written to, memory of another package.
const REMOTE_READ: &str = "remote_read_bytes";
const REMOTE_WRITTEN: &str = "remote_written_bytes";

/// How a PMU counts traffic.
struct Traffic {
    /// What the names of its devices begin with.
    device: &'static str,
    /// An event that it names itself (`*` at the end: all that begin so), or an event string.
    event: Counted,
    measure: &'static str,
    /// Bytes of a count, where the PMU does not say.
    bytes: f64,
    /// The link has a row of its own.
    per_device: bool,
}

enum Counted {
    Named(&'static str),
    Terms(&'static str),
}
use Counted::{Named, Terms};

const fn by_node(
    device: &'static str,
    event: Counted,
    measure: &'static str,
    bytes: f64,
) -> Traffic {
    Traffic {
        device,
        event,
        measure,
        bytes,
        per_device: false,
    }
}

/// Line of a cache: what a CAS command moves on DDR4 and DDR5.
const LINE: f64 = 64.0;
/// Nine flits carry a line's 64 bytes (Intel, Uncore Performance Monitoring, UPI; perf's metric
/// `upi_data_transmit_bw`).
const FLIT: f64 = 64.0 / 9.0;

/// Event names and worths: the kernel's drivers (`arch/x86/events/intel/uncore_snbep.c`,
/// `uncore_snb.c`, `arch/x86/events/amd/uncore.c`, `drivers/perf/`) and perf's event files
/// (`amdzen1..3/data-fabric.json`, `amdzen4/memory-controller.json`, `power9/nest_metrics.json`).
const TRAFFIC: [Traffic; 17] = [
    by_node("uncore_imc", Named("cas_count_read*"), READ, LINE),
    by_node("uncore_imc", Named("cas_count_write*"), WRITTEN, LINE),
    by_node("uncore_imc", Named("data_read*"), READ, LINE),
    by_node("uncore_imc", Named("data_write*"), WRITTEN, LINE),
    by_node("amd_umc", Terms("event=0x0a,rdwrmask=0x1"), READ, LINE),
    by_node("amd_umc", Terms("event=0x0a,rdwrmask=0x2"), WRITTEN, LINE),
    by_node("hisi_sccl", Named("flux_rd"), READ, 32.0),
    by_node("hisi_sccl", Named("flux_wr"), WRITTEN, 32.0),
    by_node("nvidia_scf_pmu", Named("cmem_rd_data"), READ, 32.0),
    by_node("nvidia_scf_pmu", Named("cmem_wr_total_bytes"), WRITTEN, 1.0),
    by_node(
        "nvidia_scf_pmu",
        Named("remote_socket_rd_data"),
        REMOTE_READ,
        32.0,
    ),
    by_node(
        "nvidia_scf_pmu",
        Named("remote_socket_wr_total_bytes"),
        REMOTE_WRITTEN,
        1.0,
    ),
    by_node("nest_mcs", Named("PM_MCS01_128B_RD_DISP_PORT*"), READ, LINE),
    by_node("nest_mcs", Named("PM_MCS23_128B_RD_DISP_PORT*"), READ, LINE),
    by_node(
        "nest_mcs",
        Named("PM_MCS01_128B_WR_DISP_PORT*"),
        WRITTEN,
        LINE,
    ),
    by_node(
        "nest_mcs",
        Named("PM_MCS23_128B_WR_DISP_PORT*"),
        WRITTEN,
        LINE,
    ),
    Traffic {
        device: "uncore_upi",
        event: Terms("event=0x02,umask=0x0f"),
        measure: SENT,
        bytes: FLIT,
        per_device: true,
    },
];

/// Zen 1 to 3: a data fabric event per channel, reads and writes together. More of them than the
/// fabric has counters: they take turns.
const ZEN_CHANNELS: [&str; 8] = [
    "event=0x07,umask=0x38",
    "event=0x47,umask=0x38",
    "event=0x87,umask=0x38",
    "event=0xc7,umask=0x38",
    "event=0x107,umask=0x38",
    "event=0x147,umask=0x38",
    "event=0x187,umask=0x38",
    "event=0x1c7,umask=0x38",
];

const ENERGY: [(&str, &str); 5] = [
    ("energy-pkg", "energy_package_nj"),
    ("energy-cores", "energy_cores_nj"),
    ("energy-ram", "energy_memory_nj"),
    ("energy-gpu", "energy_gpu_nj"),
    ("energy-psys", "energy_platform_nj"),
];

/// Several counters that are one figure.
#[derive(Debug)]
pub struct Meter<H> {
    /// `node/<n>`, `package/<n>`, `host`, or a link's device and package.
    pub scope: String,
    /// What it counts: name and unit.
    pub measure: &'static str,
    /// The PMU.
    pub source: String,
    /// Counters, and what a count of each is worth.
    parts: Vec<(H, f64)>,
    kept: Kept,
}

impl<H> Meter<H> {
    /// Counters behind the figure.
    pub fn counters(&self) -> usize {
        self.parts.len()
    }
}

/// What was looked for and is not there, with what to do.
pub type Refused = (String, &'static str);

/// Opens what this machine has. `amd` is family and model of a CPU by AMD, for PMUs whose events
/// have no names.
pub fn open<K: Kernel>(
    kernel: &mut K,
    sysfs: &Sysfs,
    amd: Option<(u32, u32)>,
    refused: &mut Vec<Refused>,
) -> Vec<Meter<K::Handle>> {
    let mut meters = Vec::new();
    let devices = sysfs.devices();
    for traffic in &TRAFFIC {
        let fits = |name: &&String| name.starts_with(traffic.device);
        for device in devices.iter().filter(fits) {
            for (terms, worth) in counted(sysfs, device, traffic) {
                let place = (traffic.measure, traffic.per_device);
                add(
                    kernel,
                    sysfs,
                    device,
                    terms,
                    worth,
                    place,
                    &mut meters,
                    refused,
                );
            }
        }
    }
    let read_apart = meters.iter().any(|meter| meter.measure == READ);
    let fabric = devices.iter().any(|name| name == "amd_df");
    if let (false, true, Some(cpu)) = (read_apart, fabric, amd) {
        channels(kernel, sysfs, cpu, &mut meters, refused);
    }
    for (name, measure) in ENERGY {
        // Joules to nanojoules.
        if let Some(named) = sysfs.event("power", name) {
            let worth = named.scale.unwrap_or(1.0) * 1e9;
            add(
                kernel,
                sysfs,
                "power",
                named.config,
                worth,
                (measure, false),
                &mut meters,
                refused,
            );
        }
    }
    meters
}

const NOT_KNOWN: &str = "Nothing to do: this PMU has other events than those that Pyrometer knows.";

/// Whether [`ZEN_CHANNELS`] are events of this CPU: Zen 4 has the family of Zen 3, and other events.
fn has_channels((family, model): (u32, u32)) -> bool {
    match family {
        0x17 => true,
        0x19 => matches!(model, 0x00..=0x0f | 0x20..=0x5f),
        _ => false,
    }
}

/// Opens the channels of Zen 1 to 3.
fn channels<K: Kernel>(
    kernel: &mut K,
    sysfs: &Sysfs,
    cpu: (u32, u32),
    meters: &mut Vec<Meter<K::Handle>>,
    refused: &mut Vec<Refused>,
) {
    if !has_channels(cpu) {
        let (family, model) = cpu;
        let reason =
            format!("amd_df: events of family {family:#x}, model {model:#x} are not known");
        refused.push((reason, NOT_KNOWN));
        return;
    }
    for terms in ZEN_CHANNELS {
        match sysfs.config("amd_df", terms) {
            Ok(config) => add(
                kernel,
                sysfs,
                "amd_df",
                config,
                LINE,
                (BOTH, false),
                meters,
                refused,
            ),
            Err(error) => refused.push((format!("amd_df: {error}"), NOT_KNOWN)),
        }
    }
}

/// Events of a device that count a traffic, with their worth in bytes.
fn counted(sysfs: &Sysfs, device: &str, traffic: &Traffic) -> Vec<(format::Config, f64)> {
    match traffic.event {
        Terms(terms) => sysfs
            .config(device, terms)
            .map(|config| vec![(config, traffic.bytes)])
            .unwrap_or_default(),
        Named(pattern) => {
            let fits = |name: &String| match pattern.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == pattern,
            };
            let worth =
                |named: &crate::perf::sysfs::Named| match (named.scale, named.unit.as_deref()) {
                    (Some(scale), Some("MiB")) => scale * 1_048_576.0,
                    (Some(scale), Some("Bytes" | "bytes" | "B")) => scale,
                    _ => traffic.bytes,
                };
            let names = sysfs.events(device).into_iter().filter(fits);
            names
                .filter_map(|name| sysfs.event(device, &name))
                .map(|named| (named.config, worth(&named)))
                .collect()
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn add<K: Kernel>(
    kernel: &mut K,
    sysfs: &Sysfs,
    device: &str,
    config: format::Config,
    worth: f64,
    (measure, per_device): (&'static str, bool),
    meters: &mut Vec<Meter<K::Handle>>,
    refused: &mut Vec<Refused>,
) {
    let Some(kind) = sysfs.kind(device) else {
        return;
    };
    for cpu in sysfs.cpus_of(device) {
        let attr = Attr {
            kind,
            config,
            ..Attr::default()
        };
        let handle = match kernel.open(&attr, Target::Cpu(cpu), None) {
            Ok(handle) => handle,
            Err(error) => {
                let (reason, remedy) = refusal(&error, true);
                let refusal = (format!("{device}: {reason}"), remedy);
                if !refused.contains(&refusal) {
                    refused.push(refusal);
                }
                continue;
            }
        };
        let place = sysfs.memory_scope(cpu);
        let scope = if per_device {
            format!("{device}/{place}")
        } else {
            place
        };
        let known = meters
            .iter_mut()
            .find(|meter| meter.scope == scope && meter.measure == measure);
        match known {
            Some(meter) => meter.parts.push((handle, worth)),
            None => meters.push(Meter {
                scope,
                measure,
                source: device
                    .trim_end_matches(|c: char| c.is_ascii_digit() || c == '_')
                    .to_owned(),
                parts: vec![(handle, worth)],
                kept: Kept::default(),
            }),
        }
    }
}

impl<H> Meter<H> {
    /// Reads all counters behind the figure; no row if one of them cannot be read.
    pub fn read<K: Kernel<Handle = H>>(&mut self, kernel: &mut K, now: i64, emit: &mut Emit) {
        let (mut sum, mut values) = (Count::default(), Vec::new());
        let mut buffer = vec![0; group_bytes(1)];
        for (handle, worth) in &self.parts {
            let Ok(length) = kernel.read(handle, &mut buffer) else {
                return;
            };
            let bytes = &buffer[..length.min(buffer.len())];
            let Some(times) = format::group(bytes, 1, &mut values) else {
                return;
            };
            sum.value = sum
                .value
                .saturating_add((values[0] as f64 * worth).round() as i64);
            sum.enabled_ns = sum.enabled_ns.saturating_add(times.enabled_ns);
            sum.running_ns = sum.running_ns.saturating_add(times.running_ns);
        }
        let count = self.parts.len().max(1) as i64;
        let count = Count {
            value: sum.value,
            enabled_ns: sum.enabled_ns / count,
            running_ns: sum.running_ns / count,
        };
        let (scope, measure) = (&self.scope, self.measure);
        self.kept.take(now, count, &mut |t, count| {
            emit(row(scope, measure, t, count))
        });
    }

    /// The last reading becomes a row.
    pub fn end(&mut self, emit: &mut Emit) {
        let (scope, measure) = (&self.scope, self.measure);
        self.kept
            .end(&mut |t, count| emit(row(scope, measure, t, count)));
    }
}

fn row<'a>(scope: &'a str, event: &'a str, t_mono_ns: i64, count: Count) -> Row<'a> {
    Row {
        t_mono_ns,
        scope,
        thread: None,
        event,
        count,
    }
}
