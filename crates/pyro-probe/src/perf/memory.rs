//! Traffic of memory controllers and links, and energy: counters of whole packages.

use crate::perf::format::{self, group_bytes};
use crate::perf::kernel::{Attr, Kernel, Target, refusal};
use crate::perf::rows::{Count, Emit, Kept, Row};
use crate::perf::sysfs::Sysfs;
use crate::perf::traffic::{
    BOTH, Counted, ELSE, LINE, READ, TRAFFIC, Traffic, ZEN_CHANNELS, has_channels,
};

const ENERGY: [(&str, &str); 5] = [
    ("energy-pkg", "energy_package_nj"),
    ("energy-cores", "energy_cores_nj"),
    ("energy-ram", "energy_memory_nj"),
    ("energy-gpu", "energy_gpu_nj"),
    ("energy-psys", "energy_platform_nj"),
];

/// What a figure is, and where it belongs.
#[derive(Clone, Copy)]
struct Place {
    measure: &'static str,
    per_device: bool,
    of_host: bool,
}

impl Traffic {
    /// Opens its events on all of its devices.
    fn open<K: Kernel>(
        &self,
        kernel: &mut K,
        sysfs: &Sysfs,
        devices: &[String],
        meters: &mut Vec<Meter<K::Handle>>,
        refused: &mut Vec<Refused>,
    ) {
        let place = Place {
            measure: self.measure,
            per_device: self.per_device,
            of_host: self.of_host,
        };
        for device in devices.iter().filter(|name| name.starts_with(self.device)) {
            for (terms, worth) in counted(sysfs, device, self) {
                add(kernel, sysfs, device, terms, worth, place, meters, refused);
            }
        }
    }
}

/// Figure of the node, or package, of the CPU that its device names.
const fn near(measure: &'static str) -> Place {
    Place {
        measure,
        per_device: false,
        of_host: false,
    }
}

/// What a PMU's devices are called, without their number: decimal, or an address.
fn source(device: &str) -> &str {
    match device.rsplit_once('_') {
        Some((name, end))
            if end.contains(|c: char| c.is_ascii_digit())
                && end.chars().all(|c| c.is_ascii_hexdigit()) =>
        {
            name
        }
        _ => device.trim_end_matches(|c: char| c.is_ascii_digit()),
    }
}

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
        traffic.open(kernel, sysfs, &devices, &mut meters, refused);
    }
    let has = |meters: &[Meter<_>], measure| meters.iter().any(|one| one.measure == measure);
    let fabric = devices.iter().any(|name| name == "amd_df");
    if let (false, true, Some(cpu)) = (has(&meters, READ), fabric, amd) {
        channels(kernel, sysfs, cpu, &mut meters, refused);
    }
    for traffic in &ELSE {
        if !has(&meters, READ) && !has(&meters, BOTH) {
            traffic.open(kernel, sysfs, &devices, &mut meters, refused);
        }
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
                near(measure),
                &mut meters,
                refused,
            );
        }
    }
    meters
}

const NOT_KNOWN: &str = "Nothing to do: this PMU has other events than those that Pyrometer knows.";

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
                near(BOTH),
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
        Counted::Terms(terms) => sysfs
            .config(device, terms)
            .map(|config| vec![(config, traffic.bytes)])
            .unwrap_or_default(),
        Counted::Named(pattern) => {
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
    place: Place,
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
        let memory = sysfs.memory_scope(cpu);
        let scope = match place {
            Place { of_host: true, .. } => "host".to_owned(),
            Place {
                per_device: true, ..
            } => format!("{device}/{memory}"),
            _ => memory,
        };
        let known = meters
            .iter_mut()
            .find(|meter| meter.scope == scope && meter.measure == place.measure);
        match known {
            Some(meter) => meter.parts.push((handle, worth)),
            None => meters.push(Meter {
                scope,
                measure: place.measure,
                source: source(device).to_owned(),
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
