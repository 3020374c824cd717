//! Rows of table `samples`.

use pyro_model::TaskSpan;
use pyro_stacks::{Rules, Verdict};

use crate::sample_rows::{Label, Row, SampleRows};

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
    /// Bytes allocated that were in use at the end.
    Live,
    /// Bytes asked of the native allocator and not given back.
    NativeMem,
}

impl Event {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [
        Self::Cpu,
        Self::Wall,
        Self::Alloc,
        Self::Lock,
        Self::Live,
        Self::NativeMem,
    ];

    /// Name in table samples.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wall => "wall",
            Self::Alloc => "alloc",
            Self::Lock => "lock",
            Self::Live => "live",
            Self::NativeMem => "nativemem",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Cpu | Self::Wall | Self::Lock => "ns",
            Self::Alloc | Self::Live | Self::NativeMem => "bytes",
        }
    }
}

/// Facts of a thread, worked out once per chunk.
#[derive(Debug, Clone)]
pub struct ThreadFacts {
    /// OS thread id; the JDK records some events without a thread.
    pub tid: Option<i64>,
    /// Name.
    pub name: Option<Label>,
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
    pub class: Option<Label>,
}

/// What is the same for all samples of a recording.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// Host.
    pub host: Label,
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

impl Tally {
    /// Adds what was counted of a later chunk.
    pub fn add(&mut self, later: &Self) {
        self.rows += later.rows;
        self.weight = self.weight.saturating_add(later.weight);
        self.task_threads_outside_tasks += later.task_threads_outside_tasks;
        self.in_tasks += later.in_tasks;
        self.in_tasks_other += later.in_tasks_other;
        self.in_tasks_without_operator += later.in_tasks_without_operator;
        self.without_stack += later.without_stack;
    }
}

/// Counts by event, in the order of [`Event`].
pub type Tallies = [Tally; Event::ALL.len()];

/// Appends a row, and counts it.
pub fn append(
    rows: &mut SampleRows,
    tallies: &mut Tallies,
    rules: &'static Rules,
    origin: Origin,
    sample: &Sample<'_>,
) {
    let Sample {
        event,
        thread,
        span,
        ..
    } = *sample;
    let verdict = sample.stack.map(|(_, verdict)| verdict);
    let role = if span.is_some() { "task" } else { thread.role };
    // Time on CPU has a category, time asleep a wait class; a wall sample that was running
    // is known from the CPU samples of the same time.
    let category = verdict
        .filter(|_| event == Event::Cpu)
        .map(|verdict| rules.category(role, &verdict));
    let asleep = sample.asleep == Some(true);
    let wait_class = verdict
        .filter(|_| asleep)
        .map(|verdict| rules.wait_class(&verdict));
    let for_tasks = matches!(role, "task" | "helper");
    let verdict_for_tasks = verdict.filter(|_| for_tasks);
    let operator = verdict_for_tasks.and_then(|verdict| rules.operator(&verdict));

    let tally = &mut tallies[event as usize];
    tally.rows += 1;
    tally.weight = tally.weight.saturating_add(sample.weight);
    tally.without_stack += u64::from(verdict.is_none());
    tally.task_threads_outside_tasks += u64::from(span.is_none() && thread.role == "task");
    if span.is_some() {
        tally.in_tasks += 1;
        tally.in_tasks_other += u64::from(category == Some("other"));
        tally.in_tasks_without_operator += u64::from(operator.is_none());
    }

    let state = sample
        .asleep
        .map(|asleep| if asleep { "sleeping" } else { "running" });
    let mut fixed = |text: Option<&'static str>| text.map(|text| rows.fixed(text));
    let row = Row {
        host: Some(origin.host),
        clock: fixed(Some(origin.clock)),
        source: fixed(Some(origin.source)),
        event: fixed(Some(event.name())),
        unit: fixed(Some(event.unit())),
        state: fixed(state),
        wait_class: fixed(wait_class),
        category: fixed(category),
        role: fixed(Some(role)),
        thread_name: thread.name,
        operator: fixed(operator),
        top_class: sample.class,
        pid: Some(origin.pid),
        tid: thread.tid,
        t_ns: Some(sample.t_ns),
        weight: Some(sample.weight),
        task_attempt_id: span.map(|span| span.task_attempt_id),
        stage_id: span.map(|span| span.stage_id),
        job_id: span.and_then(|span| span.job_id),
        sql_id: span.and_then(|span| span.sql_id),
        stage_attempt: span.map(|span| span.stage_attempt),
        codegen_stage_id: verdict_for_tasks.and_then(|verdict| verdict.codegen_stage_id),
        iteration: span.and_then(|span| span.iteration),
        java_stack: sample.stack.map(|(stack, _)| stack),
    };
    rows.push(&row);
}
