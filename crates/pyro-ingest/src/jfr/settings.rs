//! What a recording says about itself.

use super::bytes::Text;
use super::events::{Kind, Record, Slot};
use super::pools::Pools;
use super::samples::Event;
use super::types::Types;

/// Period of async-profiler's CPU samples where the setting says 0: its own default.
const DEFAULT_CPU_NS: i64 = 10_000_000;
/// The same of wall samples.
pub const DEFAULT_WALL_NS: i64 = 50_000_000;

/// What a recording says about itself; the first chunk says it for all.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Written by async-profiler, else by the JDK.
    pub async_profiler: bool,
    /// Stamps are CLOCK_MONOTONIC.
    pub monotonic: bool,
    /// What its `ExecutionSample` samples: `cpu`, `ctimer`, `wall`, …
    pub event: Option<String>,
    /// Period of CPU samples.
    pub cpu_interval_ns: Option<i64>,
    /// Period of wall samples beside those of the event.
    wall_interval_ns: Option<i64>,
    /// Period of the event that async-profiler was asked for, if that is `wall`.
    event_interval_ns: Option<i64>,
    /// The JDK samples by CPU time.
    pub cpu_time_samples: bool,
    /// Period of `NativeMethodSample`.
    pub native_interval_ns: Option<i64>,
    /// Sum of which async-profiler takes one lock, ns.
    pub lock_interval_ns: Option<i64>,
    /// The same of native locks.
    pub native_lock_interval_ns: Option<i64>,
    /// The same of the heap, bytes.
    pub alloc_interval_bytes: Option<i64>,
    /// The same of the native allocator, bytes.
    pub malloc_interval_bytes: Option<i64>,
    /// Process, where the recording says.
    pub pid: Option<i64>,
}

/// What an event says about its recording.
#[derive(Debug)]
pub enum Said {
    /// What records it.
    Recording(bool),
    /// Process.
    Jvm(Option<i64>),
    /// A setting: of which type of event, its name, its value.
    Setting(String, String, String),
}

impl Said {
    /// Reads what an event says.
    pub fn read(kind: Kind, record: &Record<'_>, pools: &Pools<'_>, types: &Types) -> Self {
        let text =
            |text: Option<Text<'_>>| text.and_then(|text| pools.text(text)).unwrap_or_default();
        match kind {
            Kind::Recording => Self::Recording(text(record.name()).starts_with("async-profiler")),
            Kind::Jvm => Self::Jvm(record.get(Slot::Count).map(|pid| pid as i64)),
            _ => {
                let about = types.name(record.number(Slot::Count)).unwrap_or_default();
                Self::Setting(about.to_owned(), text(record.name()), text(record.value()))
            }
        }
    }
}

impl Settings {
    /// Takes in what an event says.
    pub fn learn(&mut self, said: &Said) {
        match said {
            Said::Recording(async_profiler) => self.async_profiler |= async_profiler,
            Said::Jvm(pid) => self.pid = *pid,
            Said::Setting(about, name, value) => self.set(about, name, value),
        }
    }

    fn set(&mut self, about: &str, name: &str, value: &str) {
        let or_default = |default| {
            value
                .parse()
                .ok()
                .map(|ns: i64| if ns > 0 { ns } else { default })
        };
        match (about, name) {
            ("jdk.ActiveRecording", "clock") => self.monotonic = value == "monotonic",
            ("jdk.ActiveRecording", "event") => self.event = Some(value.to_owned()),
            ("jdk.ExecutionSample", "interval") => {
                self.cpu_interval_ns = or_default(DEFAULT_CPU_NS);
                self.event_interval_ns = or_default(DEFAULT_WALL_NS);
            }
            ("jdk.ExecutionSample", "wall") => self.wall_interval_ns = or_default(DEFAULT_WALL_NS),
            ("jdk.ExecutionSample", "period") => self.cpu_interval_ns = period_ns(value),
            ("jdk.CPUTimeSample", "enabled") => self.cpu_time_samples = value == "true",
            ("jdk.JavaMonitorEnter", "lock") => self.lock_interval_ns = value.parse().ok(),
            ("profiler.NativeLock", "nativelock") => {
                self.native_lock_interval_ns = value.parse().ok()
            }
            ("jdk.ObjectAllocationInNewTLAB", "alloc") => {
                self.alloc_interval_bytes = value.parse().ok()
            }
            ("profiler.Malloc", "nativemem") => self.malloc_interval_bytes = value.parse().ok(),
            ("jdk.NativeMethodSample", "period") => self.native_interval_ns = period_ns(value),
            _ => {}
        }
    }

    /// What an `ExecutionSample` is about, with its weight; `None` where its unit is not time.
    pub fn execution(&self) -> Option<(Event, i64)> {
        let cpu = self.cpu_interval_ns.unwrap_or(DEFAULT_CPU_NS);
        match self.event.as_deref() {
            None | Some("cpu" | "itimer" | "ctimer" | "cpu-clock" | "") => Some((Event::Cpu, cpu)),
            Some("wall") => Some((Event::Wall, self.wall_ns().unwrap_or(DEFAULT_WALL_NS))),
            Some(_) => None,
        }
    }

    /// Period of wall samples, where the recording says: that of the event, if that is `wall`.
    pub fn wall_ns(&self) -> Option<i64> {
        let of_event = self
            .event_interval_ns
            .filter(|_| self.event.as_deref() == Some("wall"));
        self.wall_interval_ns.or(of_event)
    }
}

/// `20 ms` of the JDK's settings.
fn period_ns(text: &str) -> Option<i64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(scale)
}
