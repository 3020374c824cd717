//! When passes are due, and how punctual they are.

use serde_json::{Value, json};

use super::budget::Pace;
use super::schedule::{Lateness, Schedule};
use crate::output::ClockPairs;
use crate::sys::urgency::Urgency;
use crate::sys::{mono_ns, thread_cpu_ns, wall_ns};

/// The clockwork of a recording.
pub struct Timing {
    /// Passes done.
    pub passes: u64,
    /// When the next pass is due.
    pub schedule: Schedule,
    /// How often passes are due.
    pub pace: Pace,
    /// How late passes began.
    pub late: Lateness,
    /// How the scheduler treats the probe.
    pub urgency: Urgency,
    /// Readings of both clocks.
    pub clock_pairs: ClockPairs,
    started_mono_ns: i64,
}

impl Timing {
    /// No pass yet.
    pub fn start(started_mono_ns: i64, hz: f64, budget_ratio: Option<f64>) -> Self {
        let seed = (wall_ns() as u64) ^ u64::from(std::process::id()).rotate_left(32);
        Self {
            passes: 0,
            schedule: Schedule::new(mono_ns(), hz, seed),
            pace: Pace::new(hz, budget_ratio),
            late: Lateness::default(),
            urgency: Urgency::Ordinary,
            clock_pairs: ClockPairs::start(),
            started_mono_ns,
        }
    }

    /// Holds the budget: what this thread has used by now may make the pace another one. Programs of
    /// the kernel's events run in other threads, whatever the pace.
    pub fn keep_pace(&mut self) {
        let now = mono_ns();
        if self.pace.note(now, thread_cpu_ns()) {
            self.schedule.change(now, self.pace.hz());
        }
    }

    /// Adds its fields to the probe's report.
    pub fn report(&self, report: &mut Value) {
        report["started_mono_ns"] = self.started_mono_ns.into();
        report["updated_mono_ns"] = mono_ns().into();
        report["passes_count"] = self.passes.into();
        report["passes_missed_count"] = self.schedule.missed.into();
        report["late"] = json!({
            "count": self.late.count,
            "max_ns": self.late.max_ns,
            "p95_ns": self.late.quantile_ns(0.95),
        });
        report["pace"] = self.pace.to_json();
        report["urgency"] = self.urgency.name().into();
        report["clock_pairs"] = self.clock_pairs.to_json();
    }
}
