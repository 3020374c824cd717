//! Rows of table `samples`.

use std::hash::Hasher as _;

use pyro_model::TaskSpan;
use pyro_stacks::{Rules, Verdict};

use super::keys::KeyHasher;
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

/// What a sample adds to its tally besides its weight.
#[derive(Debug, Clone, Copy)]
struct Counted {
    task_thread_outside_tasks: bool,
    in_task: bool,
    in_task_other: bool,
    in_task_without_operator: bool,
    without_stack: bool,
}

impl Tally {
    #[inline]
    fn count(&mut self, counted: &Counted, weight: i64) {
        self.rows += 1;
        self.weight = self.weight.saturating_add(weight);
        self.task_threads_outside_tasks += u64::from(counted.task_thread_outside_tasks);
        self.in_tasks += u64::from(counted.in_task);
        self.in_tasks_other += u64::from(counted.in_task_other);
        self.in_tasks_without_operator += u64::from(counted.in_task_without_operator);
        self.without_stack += u64::from(counted.without_stack);
    }

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

/// All of a sample but its time and its weight, where its origin is known.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Likeness {
    event: Event,
    asleep: Option<bool>,
    stack: Option<i32>,
    tid: Option<i64>,
    thread_name: Option<Label>,
    class: Option<Label>,
    /// Address of the span.
    span: Option<usize>,
}

impl Likeness {
    #[inline]
    fn of(sample: &Sample<'_>) -> Self {
        Self {
            event: sample.event,
            asleep: sample.asleep,
            stack: sample.stack.map(|(stack, _)| stack),
            tid: sample.thread.tid,
            thread_name: sample.thread.name,
            class: sample.class,
            span: sample.span.map(|span| std::ptr::from_ref(span).addr()),
        }
    }

    #[inline]
    fn slot(&self) -> usize {
        let number = |number: Option<i32>| number.map_or(0, |number| number as u64 + 1);
        let mut hasher = KeyHasher::default();
        hasher.write_u64(number(self.stack) << 8 | self.event as u64);
        hasher.write_u64(self.tid.unwrap_or(-1) as u64 ^ number(self.class) << 32);
        hasher.write_usize(self.span.unwrap_or(0) ^ usize::from(self.asleep == Some(true)));
        hasher.finish() as usize % SLOTS
    }
}

/// Samples whose likeness is found again; a power of two.
const SLOTS: usize = 1024;

/// Rows of one origin, of which most are like one before in all but time and weight.
pub struct Alike {
    /// Where in `known` those of a slot are that came last.
    slots: Vec<u32>,
    /// By place in the columns.
    known: Vec<(Likeness, Counted)>,
}

impl Default for Alike {
    fn default() -> Self {
        Self {
            slots: vec![0; SLOTS],
            known: Vec::new(),
        }
    }
}

impl Alike {
    /// Forgets all rows: they were taken out.
    pub fn clear(&mut self) {
        self.known.clear();
    }

    /// Appends a row, and counts it; all rows are of this origin until they are taken out.
    #[inline]
    pub fn append(
        &mut self,
        rows: &mut SampleRows,
        tallies: &mut Tallies,
        rules: &'static Rules,
        origin: Origin,
        sample: &Sample<'_>,
    ) {
        let likeness = Likeness::of(sample);
        let slot = &mut self.slots[likeness.slot()];
        match self.known.get(*slot as usize) {
            Some((known, counted)) if *known == likeness => {
                rows.push_like(*slot, sample.t_ns, sample.weight);
                tallies[sample.event as usize].count(counted, sample.weight);
            }
            _ => {
                *slot = self.known.len() as u32;
                let counted = append_new(rows, tallies, rules, origin, sample);
                self.known.push((likeness, counted));
            }
        }
    }
}

/// Appends a row, and counts it.
pub fn append(
    rows: &mut SampleRows,
    tallies: &mut Tallies,
    rules: &'static Rules,
    origin: Origin,
    sample: &Sample<'_>,
) {
    append_new(rows, tallies, rules, origin, sample);
}

fn append_new(
    rows: &mut SampleRows,
    tallies: &mut Tallies,
    rules: &'static Rules,
    origin: Origin,
    sample: &Sample<'_>,
) -> Counted {
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

    let in_task = span.is_some();
    let counted = Counted {
        task_thread_outside_tasks: !in_task && thread.role == "task",
        in_task,
        in_task_other: in_task && category == Some("other"),
        in_task_without_operator: in_task && operator.is_none(),
        without_stack: verdict.is_none(),
    };
    tallies[event as usize].count(&counted, sample.weight);

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
    counted
}
