//! Rows of table `samples`.

use pyro_model::{ParquetSink, Result, SamplesBuilder, TaskSpan};
use pyro_stacks::{Rules, Verdict};

/// What a sample is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Time on CPU.
    Cpu,
    /// Time, on CPU or not.
    Wall,
    /// Bytes allocated.
    Alloc,
    /// Time waiting for a lock.
    Lock,
}

impl Event {
    /// Name in table samples.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wall => "wall",
            Self::Alloc => "alloc",
            Self::Lock => "lock",
        }
    }

    fn unit(self) -> &'static str {
        if self == Self::Alloc { "bytes" } else { "ns" }
    }
}

/// Facts of a thread, worked out once per chunk.
#[derive(Debug, Clone)]
pub struct ThreadFacts {
    /// OS thread id.
    pub tid: i64,
    /// Name.
    pub name: Option<String>,
    /// Role by name.
    pub role: &'static str,
}

/// One row to be.
pub struct Sample<'a> {
    /// What it is about.
    pub event: Event,
    /// Time, on the recording's clock.
    pub t_ns: i64,
    /// In ns or bytes.
    pub weight: i64,
    /// Asleep, where the recording says.
    pub asleep: Option<bool>,
    /// Stack, where it could be resolved.
    pub stack: Option<(i32, Verdict)>,
    /// Thread.
    pub thread: &'a ThreadFacts,
    /// Task that the thread was running.
    pub span: Option<&'a TaskSpan>,
    /// Class allocated or locked.
    pub class: Option<&'a str>,
}

/// What is the same for all samples of a recording.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// Host.
    pub host: &'a str,
    /// Process.
    pub pid: i64,
    /// `mono` or `wall`.
    pub clock: &'static str,
    /// `async-profiler` or `jfr`.
    pub source: &'static str,
}

/// Samples counted by what matters for the report.
#[derive(Debug, Default, Clone, Copy, serde::Serialize)]
pub struct Tally {
    /// Rows.
    rows: u64,
    /// Sum of weights.
    weight: i64,
    /// In task threads by name, but within no task's span.
    task_threads_outside_tasks: u64,
    /// Within a task.
    in_tasks: u64,
    /// Within a task, on CPU, of category other.
    in_tasks_other: u64,
    /// Within a task, on CPU, without an operator.
    in_tasks_without_operator: u64,
    /// Stack not in the recording.
    without_stack: u64,
}

/// Writes table `samples`.
pub struct SampleSink {
    sink: ParquetSink<SamplesBuilder>,
    rules: &'static Rules,
    /// Counts by event, in the order of [`Event`].
    pub tallies: [Tally; 4],
}

impl SampleSink {
    /// Starts the table in folder `out`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(rules: &'static Rules, out: &str) -> Result<Self> {
        Ok(Self {
            sink: ParquetSink::create(out)?,
            rules,
            tallies: Default::default(),
        })
    }

    /// Writes the table to the end; returns its rows.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> Result<u64> {
        self.sink.finish()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn push(&mut self, origin: Origin<'_>, sample: &Sample<'_>) -> Result<()> {
        let Sample {
            event,
            thread,
            span,
            ..
        } = *sample;
        let verdict = sample.stack.map(|(_, verdict)| verdict);
        let role = if span.is_some() { "task" } else { thread.role };
        // Time on CPU has a category, time asleep a wait class; a wall sample that was running
        // is told by the CPU samples beside it.
        let category = verdict
            .filter(|_| event == Event::Cpu)
            .map(|verdict| self.rules.category(role, &verdict));
        let asleep = sample.asleep == Some(true);
        let wait_class = verdict
            .filter(|_| asleep)
            .map(|verdict| self.rules.wait_class(&verdict));
        let for_tasks = matches!(role, "task" | "helper");
        let verdict_for_tasks = verdict.filter(|_| for_tasks);
        let operator = verdict_for_tasks.and_then(|verdict| self.rules.operator(&verdict));

        let tally = &mut self.tallies[event as usize];
        tally.rows += 1;
        tally.weight = tally.weight.saturating_add(sample.weight);
        tally.without_stack += u64::from(verdict.is_none());
        tally.task_threads_outside_tasks += u64::from(span.is_none() && thread.role == "task");
        if span.is_some() {
            tally.in_tasks += 1;
            tally.in_tasks_other += u64::from(category == Some("other"));
            tally.in_tasks_without_operator += u64::from(operator.is_none());
        }

        let rows = &mut self.sink.rows;
        rows.host.append_value(origin.host);
        rows.pid.append_value(origin.pid);
        rows.tid.append_value(thread.tid);
        rows.t_ns.append_value(sample.t_ns);
        rows.clock.append_value(origin.clock);
        rows.source.append_value(origin.source);
        rows.event.append_value(event.name());
        rows.weight.append_value(sample.weight);
        rows.unit.append_value(event.unit());
        rows.state.append_option(
            sample
                .asleep
                .map(|asleep| if asleep { "sleeping" } else { "running" }),
        );
        rows.wait_class.append_option(wait_class);
        rows.category.append_option(category);
        rows.role.append_value(role);
        rows.thread_name.append_option(thread.name.as_deref());
        rows.task_attempt_id
            .append_option(span.map(|span| span.task_attempt_id));
        rows.stage_id.append_option(span.map(|span| span.stage_id));
        rows.stage_attempt
            .append_option(span.map(|span| span.stage_attempt));
        rows.job_id.append_option(span.and_then(|span| span.job_id));
        rows.sql_id.append_option(span.and_then(|span| span.sql_id));
        rows.node_id.append_null();
        rows.plan_version.append_null();
        rows.expression_id.append_null();
        rows.operator.append_option(operator);
        rows.codegen_stage_id
            .append_option(verdict_for_tasks.and_then(|verdict| verdict.codegen_stage_id));
        rows.iteration
            .append_option(span.and_then(|span| span.iteration));
        rows.java_stack
            .append_option(sample.stack.map(|(stack, _)| stack));
        rows.native_stack.append_null();
        rows.kernel_stack.append_null();
        rows.episode_id.append_null();
        rows.join_status.append_null();
        rows.top_class.append_option(sample.class);
        self.sink.row_done()
    }
}
