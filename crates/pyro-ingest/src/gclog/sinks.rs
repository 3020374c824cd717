//! Rows of the tables.

use pyro_model::{
    GcAgesBuilder, GcConcurrentBuilder, GcPausesBuilder, ParquetSink, Result, SafepointsBuilder,
};

use super::message::{Concurrent, Pause, Safepoint};
use super::process::Process;
use crate::unified_log::decorations::Decorations;

/// A sink for each table.
pub struct Sinks {
    /// Table gc_pauses.
    pub pauses: ParquetSink<GcPausesBuilder>,
    /// Table gc_ages.
    pub ages: ParquetSink<GcAgesBuilder>,
    /// Table gc_concurrent.
    pub concurrent: ParquetSink<GcConcurrentBuilder>,
    /// Table safepoints.
    pub safepoints: ParquetSink<SafepointsBuilder>,
}

impl Sinks {
    /// Appends a row.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn pause(
        &mut self,
        process: &Process,
        stamps: Decorations,
        pause: &Pause<'_>,
    ) -> Result<()> {
        let before = |end: Option<i64>| end.and_then(|end| end.checked_sub(pause.duration_ns));
        let cause = pause
            .cause
            .or_else(|| process.causes.get(&pause.gc_id).map(String::as_str));
        let rows = &mut self.pauses.rows;
        rows.host.append_option(process.host.as_deref());
        rows.pid.append_option(process.pid);
        rows.gc_id.append_value(pause.gc_id);
        rows.start_mono_ns.append_option(before(stamps.mono_ns));
        rows.start_uptime_ns.append_option(before(stamps.uptime_ns));
        rows.start_wall_ns.append_option(before(stamps.wall_ns));
        rows.duration_ns.append_value(pause.duration_ns);
        rows.collector
            .append_value(process.collector.unwrap_or("unknown"));
        rows.kind.append_value(&pause.kind);
        rows.cause.append_option(cause);
        rows.heap_before_bytes
            .append_option(pause.heap_bytes.map(|heap| heap.0));
        rows.heap_after_bytes
            .append_option(pause.heap_bytes.map(|heap| heap.1));
        rows.heap_total_bytes
            .append_option(pause.heap_bytes.map(|heap| heap.2));
        let parts = process.spaces.bytes(pause.gc_id, process.region_bytes);
        let (young, old, humongous) = (parts.young, parts.old, parts.humongous);
        rows.young_before_bytes.append_option(young.map(|b| b.0));
        rows.young_after_bytes.append_option(young.map(|b| b.1));
        rows.old_before_bytes.append_option(old.map(|b| b.0));
        rows.old_after_bytes.append_option(old.map(|b| b.1));
        rows.humongous_before_bytes
            .append_option(humongous.map(|b| b.0));
        rows.humongous_after_bytes
            .append_option(humongous.map(|b| b.1));
        rows.resolution_bytes.append_option(parts.resolution);
        self.pauses.row_done()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn age(
        &mut self,
        process: &Process,
        stamps: Decorations,
        gc_id: i64,
        (age, bytes): (i32, i64),
    ) -> Result<()> {
        let rows = &mut self.ages.rows;
        rows.host.append_option(process.host.as_deref());
        rows.pid.append_option(process.pid);
        rows.gc_id.append_value(gc_id);
        rows.t_mono_ns.append_option(stamps.mono_ns);
        rows.age.append_value(age);
        rows.bytes.append_value(bytes);
        self.ages.row_done()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn concurrent(
        &mut self,
        process: &Process,
        stamps: Decorations,
        phase: &Concurrent,
    ) -> Result<()> {
        let before = |end: Option<i64>| end.and_then(|end| end.checked_sub(phase.duration_ns));
        let rows = &mut self.concurrent.rows;
        rows.host.append_option(process.host.as_deref());
        rows.pid.append_option(process.pid);
        rows.gc_id.append_value(phase.gc_id);
        rows.start_mono_ns.append_option(before(stamps.mono_ns));
        rows.start_uptime_ns.append_option(before(stamps.uptime_ns));
        rows.duration_ns.append_value(phase.duration_ns);
        rows.phase.append_value(&phase.phase);
        self.concurrent.row_done()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn safepoint(
        &mut self,
        process: &Process,
        stamps: Decorations,
        safepoint: &Safepoint<'_>,
    ) -> Result<()> {
        let rows = &mut self.safepoints.rows;
        rows.host.append_option(process.host.as_deref());
        rows.pid.append_option(process.pid);
        rows.end_mono_ns.append_option(stamps.mono_ns);
        rows.end_uptime_ns.append_option(stamps.uptime_ns);
        rows.operation.append_value(safepoint.operation);
        rows.reaching_ns.append_option(safepoint.reaching_ns);
        rows.at_safepoint_ns.append_option(safepoint.at_ns);
        rows.total_ns.append_value(safepoint.total_ns);
        self.safepoints.row_done()
    }
}
