//! What readings become: rows of the streams.

use std::rc::Rc;

use crate::annotate::Annotations;
use crate::kernel_stacks::KernelStacks;
use crate::output::{Outputs, Recorder, ThreadRow};
use crate::perf::Perf;
use crate::slot::{Context, Slots};
use crate::syscalls;
use crate::taskstats;

use super::states::Run;

/// Takes what the readers of threads and processes found.
pub struct Rows {
    /// The streams.
    pub outputs: Outputs,
    /// Counters of `perf_event_open`.
    pub perf: Option<Perf>,
    /// Dictionary of kernel stacks.
    pub stacks: KernelStacks,
    /// Context slots of processes that say what their threads work for.
    pub slots: Option<Slots>,
    /// Processes' own words for what they do.
    pub annotations: Option<Annotations>,
}

impl Rows {
    /// Rows go to these streams.
    pub fn new(outputs: Outputs) -> Self {
        Self {
            outputs,
            perf: None,
            stacks: KernelStacks::default(),
            slots: None,
            annotations: None,
        }
    }

    /// What a thread says of itself.
    pub fn context(&mut self, pid: i32, tid: i32) -> Option<Context> {
        self.slots.as_mut()?.context(pid, tid)
    }

    /// What a process says of itself; of its main thread only, as one word is not that of many.
    pub fn annotation(&mut self, pid: i32, tid: i32) -> Option<Rc<str>> {
        let annotations = self.annotations.as_mut()?;
        (pid == tid).then(|| annotations.of(pid)).flatten()
    }

    /// Appends a row of table `thread_counters`.
    pub fn counters(&mut self, row: ThreadRow) {
        if let Some(perf) = &mut self.perf {
            perf.seen(&row, &mut self.outputs);
        }
        let rows = &mut self.outputs.threads.rows;
        let detail = row.detail.as_ref();
        rows.host.append_value(&self.outputs.host);
        rows.pid.append_value(row.pid.into());
        rows.tid.append_value(row.tid.into());
        rows.t_mono_ns.append_value(row.t_mono_ns);
        rows.comm.append_value(row.comm);
        rows.state.append_option(detail.map(|detail| detail.state));
        rows.run_ns.append_value(row.counters.run_ns);
        rows.run_delay_ns.append_value(row.counters.run_delay_ns);
        rows.timeslices_count
            .append_value(row.counters.timeslices_count);
        rows.user_ns
            .append_option(detail.map(|detail| detail.user_ns));
        rows.system_ns
            .append_option(detail.map(|detail| detail.system_ns));
        rows.minor_faults_count
            .append_option(detail.map(|detail| detail.minor_faults_count));
        rows.major_faults_count
            .append_option(detail.map(|detail| detail.major_faults_count));
        let switches = detail.and_then(|detail| detail.switches);
        rows.voluntary_switches_count
            .append_option(switches.map(|switches| switches.voluntary_count));
        rows.involuntary_switches_count
            .append_option(switches.map(|switches| switches.involuntary_count));
        let io = detail.map(|detail| detail.io).unwrap_or_default();
        rows.rchar_bytes.append_option(io.rchar);
        rows.wchar_bytes.append_option(io.wchar);
        rows.read_bytes.append_option(io.read);
        rows.written_bytes.append_option(io.written);
        rows.cpu.append_option(detail.map(|detail| detail.cpu));
        rows.first.append_value(row.first);
        rows.last.append_value(row.last);
        self.outputs.threads.row_done();
    }

    /// Reads perf counters: the end of a pass.
    pub fn count(&mut self, slow: bool) {
        if let Some(perf) = &mut self.perf {
            perf.pass(slow, &mut self.outputs);
        }
    }

    /// Takes the last readings of perf counters.
    pub fn end_counters(&mut self) {
        if let Some(perf) = &mut self.perf {
            perf.finish(&mut self.outputs);
        }
    }

    /// Appends a row of table `thread_states`.
    pub fn state(&mut self, pid: i32, tid: i32, run: Run) {
        let (seen, rows) = (run.seen, &mut self.outputs.states.rows);
        rows.host.append_value(&self.outputs.host);
        rows.pid.append_value(pid.into());
        rows.tid.append_value(tid.into());
        rows.begin_mono_ns.append_value(run.begin_mono_ns);
        rows.end_mono_ns.append_value(run.end_mono_ns);
        rows.passes_count.append_value(run.passes_count);
        rows.weight_ns.append_value(run.weight_ns);
        rows.state.append_value(seen.state.name());
        rows.io_wait.append_option(seen.io_wait);
        rows.switches_count.append_value(seen.switches_count);
        rows.syscall
            .append_option(seen.place.syscall.map(syscalls::name));
        rows.user_sp.append_option(seen.place.user_sp);
        rows.user_pc.append_option(seen.place.user_pc);
        rows.kernel_stack.append_option(seen.place.kernel_stack);
        let context = seen.context;
        rows.context_seq
            .append_option(context.map(|context| context.sequence));
        rows.task_attempt_id
            .append_option(context.and_then(|context| context.task_attempt_id));
        rows.stage_id
            .append_option(context.and_then(|context| context.stage_id));
        rows.stage_attempt
            .append_option(context.and_then(|context| context.stage_attempt));
        rows.sql_id
            .append_option(context.and_then(|context| context.sql_id));
        rows.annotation.append_option(seen.annotation);
        self.outputs.states.row_done();
    }

    /// Appends a row of table `delays`.
    pub fn delay(&mut self, row: taskstats::Row) {
        let rows = &mut self.outputs.delays.rows;
        rows.host.append_value(&self.outputs.host);
        rows.t_mono_ns.append_value(row.t_mono_ns);
        rows.pid.append_value(row.pid);
        rows.tid.append_option(row.tid);
        rows.kind.append_value(row.kind);
        rows.count.append_value(row.delay.count);
        rows.total_ns.append_value(row.delay.total_ns);
        self.outputs.delays.row_done();
    }

    /// Appends the rows of table `os_series` that came together.
    pub fn series(&mut self, recorder: &mut Recorder) {
        for row in recorder.rows.drain(..) {
            let rows = &mut self.outputs.series.rows;
            rows.host.append_value(&self.outputs.host);
            rows.t_mono_ns.append_value(row.t_mono_ns);
            rows.scope.append_value(&recorder.scopes[row.scope]);
            rows.name.append_value(row.name);
            rows.value.append_value(row.value);
            self.outputs.series.row_done();
        }
    }
}
