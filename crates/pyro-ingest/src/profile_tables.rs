//! The tables that an imported profile fills: `samples`, `stacks`, `frames`.

use pyro_model::{Doubt, IngestReport, ParquetSink, Result, Severity};
use pyro_stacks::folded::FrameName;
use pyro_stacks::{Frame, Rules};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::dictionary::Dictionary;
use crate::sample_rows::{Label, Row, SampleRows};

/// Event of time on CPU.
const CPU: &str = "cpu";
/// Stamps of perf: the kernel's scheduler clock, unless another was asked for (`perf record -k`).
const PERF_CLOCK: &str = "perf";

/// What a sample has besides its stack.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample<'a> {
    /// In the event's unit.
    pub weight: i64,
    /// Number of the event.
    pub event: usize,
    /// Process.
    pub pid: Option<i64>,
    /// Thread.
    pub tid: Option<i64>,
    /// Time on perf's clock.
    pub t_ns: Option<i64>,
    /// Name of the thread, empty if unknown.
    pub thread: &'a str,
    /// Task.
    pub task: Option<i64>,
    /// Stage.
    pub stage: Option<i64>,
    /// Iteration.
    pub iteration: Option<i32>,
    /// Operator, where the profile names it; else its frames are asked.
    pub operator: Option<&'a str>,
}

/// An event of the profile, with what was counted of it.
#[derive(Debug, Serialize)]
pub(crate) struct Event {
    event: String,
    /// As the profile calls it.
    name: String,
    unit: String,
    samples: u64,
    weight: i64,
    #[serde(skip)]
    labels: [Label; 2],
}

impl Event {
    /// Whether its samples are time on CPU.
    pub fn is_cpu(&self) -> bool {
        self.event == CPU
    }
}

/// Writes the three tables.
pub(crate) struct ProfileTables {
    rules: &'static Rules,
    samples: ParquetSink<SampleRows>,
    dictionary: Dictionary,
    /// Events so far.
    pub events: Vec<Event>,
    threads: FxHashMap<String, (Option<Label>, &'static str)>,
    host: Option<Label>,
    source: Label,
    /// Weights and sums that are as large as a number here can be: what was to be more is less.
    at_the_limit: u64,
}

impl ProfileTables {
    /// Starts the tables in folder `out`.
    ///
    /// # Errors
    /// If they cannot be created.
    pub fn create(source: &str, host: Option<&str>, out: &str) -> Result<Self> {
        let rules = Rules::embedded();
        let mut samples = ParquetSink::<SampleRows>::create(out)?;
        Ok(Self {
            rules,
            host: host.map(|host| samples.rows.label(host)),
            source: samples.rows.label(source),
            samples,
            dictionary: Dictionary::create(rules, out)?,
            events: Vec::new(),
            threads: FxHashMap::default(),
            at_the_limit: 0,
        })
    }

    /// Adds an event, which gets the next number; `name` is the profile's own.
    pub fn event(&mut self, event: &str, name: &str, unit: &str) {
        self.events.push(Event {
            labels: [event, unit].map(|text| self.samples.rows.label(text)),
            event: event.to_owned(),
            name: name.to_owned(),
            unit: unit.to_owned(),
            samples: 0,
            weight: 0,
        });
    }

    /// Number of a frame.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn frame(&mut self, name: &FrameName<'_>) -> Result<u32> {
        let frame = Frame {
            place: &name.place,
            method: name.method,
            kind: name.kind,
        };
        let method = self.dictionary.method(&frame, None);
        self.dictionary
            .frame((method, name.line.unwrap_or(0), name.kind))
    }

    /// Adds a sample with its stack of frames, root first.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn push(&mut self, sample: &Sample<'_>, root_first: &[u32]) -> Result<()> {
        let event = &mut self.events[sample.event];
        event.samples += 1;
        let whole = event.weight.checked_add(sample.weight);
        event.weight = whole.unwrap_or_else(|| event.weight.saturating_add(sample.weight));
        let is_limit = matches!(sample.weight, i64::MIN | i64::MAX);
        self.at_the_limit += u64::from(is_limit || whole.is_none());
        let stack = match root_first {
            [] => None,
            frames => Some(self.dictionary.stack(frames, false, None)?),
        };
        let verdict = stack.map(|stack| self.dictionary.verdict(stack));
        let rows = &mut self.samples.rows;
        let (thread, role) = match self.threads.get(sample.thread) {
            Some(&known) => known,
            None => {
                let role = self.rules.roles().of(sample.thread);
                let label = (!sample.thread.is_empty()).then(|| rows.label(sample.thread));
                let known = (label, role);
                self.threads.insert(sample.thread.to_owned(), known);
                known
            }
        };
        let role = if sample.task.is_some() { "task" } else { role };
        let category = verdict
            .filter(|_| event.is_cpu())
            .map(|verdict| self.rules.category(role, &verdict));
        let operator = verdict.and_then(|verdict| self.rules.operator(&verdict));
        let operator = match sample.operator {
            Some(name) => Some(rows.label(name)),
            None => operator.map(|name| rows.fixed(name)),
        };
        let row = Row {
            host: self.host,
            clock: sample.t_ns.map(|_| rows.fixed(PERF_CLOCK)),
            source: Some(self.source),
            event: Some(event.labels[0]),
            unit: Some(event.labels[1]),
            category: category.map(|category| rows.fixed(category)),
            role: Some(rows.fixed(role)),
            thread_name: thread,
            operator,
            task_attempt_id: sample.task,
            stage_id: sample.stage,
            iteration: sample.iteration,
            codegen_stage_id: verdict.and_then(|verdict| verdict.codegen_stage_id),
            pid: sample.pid,
            tid: sample.tid,
            t_ns: sample.t_ns,
            weight: Some(sample.weight),
            java_stack: stack,
            ..Row::default()
        };
        rows.push(&row);
        self.samples.row_done()
    }

    /// Writes the tables of a file to the end.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(self, path: &str) -> Result<IngestReport> {
        let mut report = IngestReport::default();
        if self.at_the_limit > 0 {
            let text = format!(
                "{path}: {} weights or their sums reach {}, the largest number here; what is above it was left out",
                self.at_the_limit,
                i64::MAX
            );
            report.doubts.push(
                Doubt::new("import_too_large", Severity::Warning, text)
                    .in_file(path)
                    .times(self.at_the_limit),
            );
        }
        report.tables.insert("samples", self.samples.finish()?);
        let (frames, stacks) = self.dictionary.finish()?;
        report.tables.insert("frames", frames);
        report.tables.insert("stacks", stacks);
        report
            .stats
            .insert("events", serde_json::json!(self.events));
        Ok(report)
    }
}
