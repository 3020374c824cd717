//! One plugin file: the state that its records build up.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use pyro_model::{Error, Result, TaskSpan};
use serde_json::Value;

use crate::jobs::StageJobs;

use super::consumer::{Consumer, Outcome};
use super::facts::{Facts, KEPT_FULL, Seen};
use super::process::{self, Identity, Process};
use super::record::{Line, Lines, MAX_LINE_BYTES, Next, Pod};

/// Series that holds the plugin's own CPU; a killed JVM leaves no `bye`.
const OWN_CPU: &str = "pyrometer_cpu_ns";

/// Reads all records of a file.
///
/// # Errors
/// If the stream cannot be read or the consumer fails.
pub fn read(
    path: &str,
    input: impl BufRead,
    identity: Identity,
    jobs: &StageJobs,
    consumer: &mut impl Consumer,
) -> Result<Facts> {
    let mut lines = Lines::new(input, MAX_LINE_BYTES);
    let facts = Facts {
        anonymous: identity.host.is_empty(),
        ..Facts::default()
    };
    let mut state = State {
        identity,
        facts,
        jobs,
        consumer,
        process: None,
        running: HashMap::new(),
        pods: BTreeMap::new(),
        last_mono_ns: None,
        recorded_until_mono_ns: None,
    };
    loop {
        let number = lines.lines + 1;
        match lines.next().map_err(|error| Error::io(path, error))? {
            Next::Line(line, byte) => {
                if !line.is_empty() && !state.take(line, number, byte)? {
                    state.facts.unreadable.at(number, byte);
                }
            }
            Next::TooLong(byte) => state.facts.unreadable.at(number, byte),
            Next::Rest(line, byte) => {
                if !line.is_empty() && !state.take(line, number, byte)? {
                    state.facts.cut = Some(Seen {
                        count: 1,
                        line: number,
                        byte,
                    });
                }
            }
            Next::End => break,
        }
    }
    (state.facts.bytes, state.facts.lines) = (lines.bytes, lines.lines);
    state.finish()
}

struct State<'c, C> {
    identity: Identity,
    facts: Facts,
    jobs: &'c StageJobs,
    consumer: &'c mut C,
    process: Option<Process>,
    /// Tasks without an end so far, by TID and thread.
    running: HashMap<(i64, i64), TaskSpan>,
    /// Pods so far, by application and executor.
    pods: BTreeMap<(Option<String>, String), Pod>,
    /// Of the last record that has a time.
    last_mono_ns: Option<i64>,
    /// When all recording ended early, for good.
    recorded_until_mono_ns: Option<i64>,
}

impl<C: Consumer> State<'_, C> {
    /// Takes a line; false if it is not a record.
    fn take(&mut self, text: &[u8], number: u64, byte: u64) -> Result<bool> {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(text) else {
            return Ok(false);
        };
        self.last_mono_ns = line.mono_ns.or(self.last_mono_ns);
        match &*line.k {
            "task_start" => {
                let Some(span) = self.span(&line) else {
                    return Ok(false);
                };
                // The same TID on the same thread: another application in this JVM.
                if let Some(lost) = self.running.insert((span.task_attempt_id, span.tid), span) {
                    self.consumer.span(lost, Outcome::default())?;
                }
            }
            "task" => {
                let (Some(mut span), Some(end), Some(ok)) =
                    (self.span(&line), line.end_ns, line.ok)
                else {
                    return Ok(false);
                };
                span.end_mono_ns = Some(end);
                self.running.remove(&(span.task_attempt_id, span.tid));
                let outcome = Outcome {
                    success: Some(ok),
                    cpu_ns: line.cpu_ns,
                    allocated_bytes: line.alloc_bytes,
                };
                self.consumer.span(span, outcome)?;
            }
            "mx" => {
                let (Some(mono), Some(values)) = (line.mono_ns, &line.values) else {
                    return Ok(false);
                };
                if let Some(own) = values.get(OWN_CPU) {
                    self.facts.own_cpu_ns = *own;
                }
                self.facts.closed = false;
                self.consumer.series(&self.identity, mono, values)?;
            }
            "clock" => {
                let (Some(mono), Some(wall)) = (line.mono_ns, line.wall_ns) else {
                    return Ok(false);
                };
                self.consumer.clock(&self.identity, mono, wall)?;
            }
            "process" => {
                let Some(process) = process::parse(text) else {
                    return Ok(false);
                };
                self.facts.closed = false;
                self.began(process)?;
            }
            "bye" => self.bye(&line),
            "drop" => {
                let (Some(kind), Some(count)) = (line.kind, line.count) else {
                    return Ok(false);
                };
                // Cumulative.
                self.facts.dropped.insert(kind, count);
            }
            "error" => {
                let (Some(place), Some(message)) = (line.r#where, line.message) else {
                    return Ok(false);
                };
                if place == KEPT_FULL && self.recorded_until_mono_ns.is_none() {
                    // Plugins of before gave errors no time.
                    self.recorded_until_mono_ns = self.last_mono_ns;
                    if let Some(process) = &mut self.process {
                        process.recorded_until_mono_ns = self.recorded_until_mono_ns;
                    }
                }
                let known = self.facts.errors.entry(place).or_insert((message, 1));
                known.1 = known.1.max(line.count.unwrap_or(1));
            }
            "profiler" => {
                if let (Some(process), Ok(Value::Object(mut record))) =
                    (&mut self.process, serde_json::from_slice(text))
                {
                    record.remove("k");
                    process
                        .facts
                        .insert("profiler".to_owned(), Value::Object(record));
                }
            }
            "pod" => {
                let Ok(pod) = serde_json::from_slice::<Pod>(text) else {
                    return Ok(false);
                };
                let key = (pod.app_id.clone(), pod.executor_id.clone());
                match self.pods.entry(key) {
                    Entry::Occupied(known) => known.into_mut().add(pod),
                    Entry::Vacant(place) => {
                        place.insert(pod);
                    }
                }
            }
            // Read where hosts are compared: here it is only known.
            "ping" => {
                let times = (
                    line.sent_mono_ns,
                    line.driver_mono_ns,
                    line.received_mono_ns,
                );
                return Ok(matches!(times, (Some(_), Some(_), Some(_))));
            }
            "overlay" => {}
            _ => self.facts.unknown.at(number, byte),
        }
        Ok(true)
    }

    fn span(&self, line: &Line<'_>) -> Option<TaskSpan> {
        let app = self
            .process
            .as_ref()
            .and_then(|process| process.app_id.as_deref());
        let (stage_id, stage_attempt) = (line.stage?, line.stage_attempt?);
        Some(TaskSpan {
            host: self.identity.host.clone(),
            pid: self.identity.pid,
            tid: line.tid?,
            executor_id: self.identity.executor_id.clone(),
            start_mono_ns: line.start_ns?,
            end_mono_ns: None,
            stage_id,
            stage_attempt,
            task_attempt_id: line.task?,
            partition: line.partition?,
            job_id: self.jobs.of(app, stage_id, stage_attempt),
            sql_id: line.sql,
            iteration: line.iteration,
        })
    }

    /// More about the same application is merged; another one is a row of its own.
    fn began(&mut self, mut new: Process) -> Result<()> {
        new.recorded_until_mono_ns = self.recorded_until_mono_ns;
        match &mut self.process {
            Some(old)
                if old.app_id.is_none() || new.app_id.is_none() || old.app_id == new.app_id =>
            {
                // Before it has an id, a second application is recognised by the first one's `bye`.
                if old.end_mono_ns.is_some() && new.app_id.is_none() && old.app_id.is_some() {
                    let old = self.process.replace(new).expect("just seen");
                    return self.consumer.process(&old);
                }
                old.app_id = new.app_id.or(old.app_id.take());
                old.jvm = new.jvm.or(old.jvm.take());
                for (name, value) in new.facts {
                    if name != "mono_ns" && name != "wall_ns" {
                        old.facts.insert(name, value);
                    }
                }
                Ok(())
            }
            Some(_) => {
                let old = self.process.replace(new).expect("just seen");
                self.consumer.process(&old)
            }
            None => {
                self.process = Some(new);
                Ok(())
            }
        }
    }

    fn bye(&mut self, line: &Line<'_>) {
        self.facts.closed = true;
        if let Some(own) = line.own_cpu_ns {
            self.facts.own_cpu_ns = own;
        }
        if let Some(process) = &mut self.process {
            process.end_mono_ns = line.mono_ns;
            if let Some(written) = line.written {
                process.facts.insert("written".to_owned(), written.into());
            }
        }
    }

    fn finish(mut self) -> Result<Facts> {
        let mut running: Vec<_> = std::mem::take(&mut self.running).into_values().collect();
        running.sort_by_key(|span| (span.start_mono_ns, span.task_attempt_id, span.tid));
        for span in running {
            self.consumer.span(span, Outcome::default())?;
        }
        for pod in std::mem::take(&mut self.pods).into_values() {
            self.consumer.pod(pod)?;
        }
        if let Some(mut process) = self.process.take() {
            process
                .facts
                .insert("own_cpu_ns".to_owned(), self.facts.own_cpu_ns.into());
            self.consumer.process(&process)?;
        }
        Ok(self.facts)
    }
}
