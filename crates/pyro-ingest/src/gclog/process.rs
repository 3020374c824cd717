//! What is known of a process while its lines go by.

use std::collections::HashMap;

use super::spaces::Spaces;
use crate::unified_log::decorations::Decorations;

/// A log whose first `…ns` stamp is below this was stamped since JVM start, else since boot.
const UPTIME_BELOW_NS: i64 = 60_000_000_000;

/// What is known of the process while its lines go by.
#[derive(Default)]
pub struct Process {
    /// Its host, where it is known.
    pub host: Option<String>,
    /// Process, once it is known.
    pub pid: Option<i64>,
    /// Its collector, as in table gc_pauses.
    pub collector: Option<&'static str>,
    /// Operation of the next safepoint, before JDK 13.
    pub entering: Option<String>,
    /// Causes of cycles, by `GC(n)`.
    pub causes: HashMap<i64, String>,
    /// Size of a region of G1.
    pub region_bytes: Option<i64>,
    /// Sizes of the generations.
    pub spaces: Spaces,
    /// Whether a lone `…ns` stamp counts from the start of the JVM.
    pub single_ns_is_uptime: Option<bool>,
}

impl Process {
    /// Decides what a lone `…ns` stamp is: the first one of a log that starts with the JVM is
    /// small if it counts from there. The verdict holds for the whole process.
    pub fn resolve(&mut self, mut stamps: Decorations) -> Decorations {
        if let Some(nanos) = stamps.single_ns {
            if *self
                .single_ns_is_uptime
                .get_or_insert(nanos < UPTIME_BELOW_NS)
            {
                stamps.uptime_ns = Some(nanos);
            } else {
                stamps.mono_ns = Some(nanos);
            }
        }
        stamps
    }
}
