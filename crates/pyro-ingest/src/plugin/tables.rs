//! Rows of the tables.

use std::collections::BTreeMap;

use pyro_model::{
    ClockPairsBuilder, ExecutorPodsBuilder, JvmSeriesBuilder, ParquetSink, ProcessesBuilder,
    Result, SpansBuilder, TaskSpan,
};

use super::consumer::{Consumer, Outcome};
use super::process::{Identity, Process};
use super::record::Pod;

/// A sink for each table.
pub struct Tables {
    /// Table processes.
    pub processes: ParquetSink<ProcessesBuilder>,
    /// Table spans.
    pub spans: ParquetSink<SpansBuilder>,
    /// Table jvm_series.
    pub series: ParquetSink<JvmSeriesBuilder>,
    /// Table clock_pairs.
    pub clocks: ParquetSink<ClockPairsBuilder>,
    /// Of table executor_pods, which only runs on Kubernetes have.
    pub pods: Vec<Pod>,
}

/// Writes table executor_pods to a folder; gives its rows.
///
/// # Errors
/// If it cannot be written.
pub fn write_pods(pods: &[Pod], out: &str) -> Result<u64> {
    let mut sink = ParquetSink::<ExecutorPodsBuilder>::create(out)?;
    for pod in pods {
        let rows = &mut sink.rows;
        rows.app_id.append_option(pod.app_id.as_deref());
        rows.executor_id.append_value(&pod.executor_id);
        rows.pod.append_option(pod.name.as_deref());
        rows.node.append_option(pod.node.as_deref());
        rows.image.append_option(pod.image.as_deref());
        rows.unschedulable
            .append_option(pod.unschedulable.as_deref());
        rows.waiting.append_option(pod.waiting.as_deref());
        rows.created_wall_ns.append_option(pod.created_wall_ns);
        rows.scheduled_wall_ns.append_option(pod.scheduled_wall_ns);
        rows.prepared_wall_ns.append_option(pod.prepared_wall_ns);
        rows.initialized_wall_ns
            .append_option(pod.initialized_wall_ns);
        rows.started_wall_ns.append_option(pod.started_wall_ns);
        rows.seen_wall_ns.append_option(pod.seen_wall_ns());
        sink.row_done()?;
    }
    sink.finish()
}

impl Consumer for Tables {
    fn span(&mut self, span: TaskSpan, outcome: Outcome) -> Result<()> {
        let rows = &mut self.spans.rows;
        rows.host.append_value(&span.host);
        rows.pid.append_value(span.pid);
        rows.tid.append_value(span.tid);
        rows.executor_id.append_option(span.executor_id.as_deref());
        rows.start_mono_ns.append_value(span.start_mono_ns);
        rows.end_mono_ns.append_option(span.end_mono_ns);
        rows.stage_id.append_value(span.stage_id);
        rows.stage_attempt.append_value(span.stage_attempt);
        rows.task_attempt_id.append_value(span.task_attempt_id);
        rows.partition.append_value(span.partition);
        rows.job_id.append_option(span.job_id);
        rows.sql_id.append_option(span.sql_id);
        rows.iteration.append_option(span.iteration);
        rows.status.append_value(match outcome.success {
            Some(true) => "success",
            Some(false) => "failed",
            None => "running",
        });
        rows.cpu_ns.append_option(outcome.cpu_ns);
        rows.allocated_bytes.append_option(outcome.allocated_bytes);
        self.spans.row_done()
    }

    fn clock(&mut self, process: &Identity, mono_ns: i64, wall_ns: i64) -> Result<()> {
        let rows = &mut self.clocks.rows;
        rows.host.append_value(&process.host);
        rows.source.append_value("plugin");
        rows.mono_ns.append_value(mono_ns);
        rows.wall_ns.append_value(wall_ns);
        self.clocks.row_done()
    }

    fn series(
        &mut self,
        process: &Identity,
        mono_ns: i64,
        values: &BTreeMap<String, i64>,
    ) -> Result<()> {
        for (name, value) in values {
            let rows = &mut self.series.rows;
            rows.host.append_value(&process.host);
            rows.pid.append_value(process.pid);
            rows.t_mono_ns.append_value(mono_ns);
            rows.name.append_value(name);
            rows.value.append_value(*value);
            self.series.row_done()?;
        }
        Ok(())
    }

    fn process(&mut self, process: &Process) -> Result<()> {
        let rows = &mut self.processes.rows;
        rows.host.append_value(&process.identity.host);
        rows.pid.append_value(process.identity.pid);
        rows.role.append_value(&process.identity.role);
        rows.executor_id
            .append_option(process.identity.executor_id.as_deref());
        rows.app_id.append_option(process.app_id.as_deref());
        rows.start_mono_ns.append_value(process.start_mono_ns);
        rows.end_mono_ns.append_option(process.end_mono_ns);
        rows.recorded_until_mono_ns
            .append_option(process.recorded_until_mono_ns);
        rows.jvm.append_option(process.jvm.as_deref());
        rows.facts
            .append_value(serde_json::Value::Object(process.facts.clone()).to_string());
        self.processes.row_done()
    }
    fn pod(&mut self, pod: Pod) -> Result<()> {
        self.pods.push(pod);
        Ok(())
    }
}
