// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
//! Builders of every table, by the source of its rows.

mod analyse;
mod async_profiler;
mod event_log;
mod gc_log;
mod ingest;
mod jit_log;
mod plugin;
mod probe;
mod safepoint_log;
mod workload_runner;

use crate::table::Table;

pub use analyse::*;
pub use async_profiler::*;
pub use event_log::*;
pub use gc_log::*;
pub use ingest::*;
pub use jit_log::*;
pub use plugin::*;
pub use probe::*;
pub use safepoint_log::*;
pub use workload_runner::*;

/// Version of `schema/tables.toml`, stored in every Parquet file.
pub const SCHEMA_VERSION: u32 = 1;

/// Name and Arrow schema of every table, in the order of `schema/tables.toml`.
pub fn all_schemas() -> Vec<(&'static str, arrow_schema::SchemaRef)> {
    vec![
        ("apps", event_log::AppsBuilder::schema()),
        ("jobs", event_log::JobsBuilder::schema()),
        ("stages", event_log::StagesBuilder::schema()),
        ("tasks", event_log::TasksBuilder::schema()),
        ("sql_executions", event_log::SqlExecutionsBuilder::schema()),
        ("plan_nodes", event_log::PlanNodesBuilder::schema()),
        ("node_metrics", event_log::NodeMetricsBuilder::schema()),
        ("executors", event_log::ExecutorsBuilder::schema()),
        ("processes", plugin::ProcessesBuilder::schema()),
        ("executor_pods", plugin::ExecutorPodsBuilder::schema()),
        ("clock_pairs", plugin::ClockPairsBuilder::schema()),
        ("spans", plugin::SpansBuilder::schema()),
        ("jvm_series", plugin::JvmSeriesBuilder::schema()),
        ("iterations", workload_runner::IterationsBuilder::schema()),
        ("samples", async_profiler::SamplesBuilder::schema()),
        ("stacks", async_profiler::StacksBuilder::schema()),
        ("frames", async_profiler::FramesBuilder::schema()),
        ("codegen_sources", plugin::CodegenSourcesBuilder::schema()),
        ("codegen_lines", plugin::CodegenLinesBuilder::schema()),
        ("gc_pauses", gc_log::GcPausesBuilder::schema()),
        ("gc_ages", gc_log::GcAgesBuilder::schema()),
        ("gc_concurrent", gc_log::GcConcurrentBuilder::schema()),
        ("safepoints", safepoint_log::SafepointsBuilder::schema()),
        ("jit", jit_log::JitBuilder::schema()),
        ("deoptimisations", jit_log::DeoptimisationsBuilder::schema()),
        ("os_series", probe::OsSeriesBuilder::schema()),
        ("thread_counters", probe::ThreadCountersBuilder::schema()),
        ("thread_states", probe::ThreadStatesBuilder::schema()),
        ("kernel_stacks", probe::KernelStacksBuilder::schema()),
        ("off_cpu", probe::OffCpuBuilder::schema()),
        ("io_latency", probe::IoLatencyBuilder::schema()),
        ("perf_counts", probe::PerfCountsBuilder::schema()),
        ("delays", probe::DelaysBuilder::schema()),
        ("ledger_slot", analyse::LedgerSlotBuilder::schema()),
        ("ledger_core", analyse::LedgerCoreBuilder::schema()),
        ("hosts", ingest::HostsBuilder::schema()),
        ("host_names", ingest::HostNamesBuilder::schema()),
        ("host_clocks", ingest::HostClocksBuilder::schema()),
        ("ingest_doubts", ingest::IngestDoubtsBuilder::schema()),
    ]
}
