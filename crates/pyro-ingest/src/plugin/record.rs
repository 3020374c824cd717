//! Lines of a plugin file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use serde::Deserialize;

/// Longest line that is read whole; what exceeds it is counted as unreadable.
pub const MAX_LINE_BYTES: u64 = 1 << 20;

/// A line of any kind. Which fields there are depends on `k`.
#[derive(Debug, Deserialize)]
pub struct Line<'a> {
    /// Kind of the record.
    #[serde(borrow)]
    pub k: Cow<'a, str>,
    /// OS thread.
    pub tid: Option<i64>,
    /// Start of the task, CLOCK_MONOTONIC.
    pub start_ns: Option<i64>,
    /// End of the task, CLOCK_MONOTONIC.
    pub end_ns: Option<i64>,
    /// Stage.
    pub stage: Option<i64>,
    /// Stage attempt.
    pub stage_attempt: Option<i32>,
    /// Spark's TID.
    pub task: Option<i64>,
    /// Partition.
    pub partition: Option<i64>,
    /// SQL execution.
    pub sql: Option<i64>,
    /// Iteration of the workload.
    pub iteration: Option<i32>,
    /// Whether the task succeeded.
    pub ok: Option<bool>,
    /// CPU of the task.
    pub cpu_ns: Option<i64>,
    /// Bytes that the task allocated.
    pub alloc_bytes: Option<i64>,
    /// Time of the record, CLOCK_MONOTONIC.
    pub mono_ns: Option<i64>,
    /// Time of the record, Unix.
    pub wall_ns: Option<i64>,
    /// When an executor asked the driver for its time, CLOCK_MONOTONIC of the executor's host.
    pub sent_mono_ns: Option<i64>,
    /// What the driver answered, CLOCK_MONOTONIC of its host.
    pub driver_mono_ns: Option<i64>,
    /// When the answer was there, CLOCK_MONOTONIC of the executor's host.
    pub received_mono_ns: Option<i64>,
    /// Readings of an `mx` record.
    pub values: Option<BTreeMap<String, i64>>,
    /// What was dropped.
    pub kind: Option<String>,
    /// How often.
    pub count: Option<u64>,
    /// Where an error arose.
    pub r#where: Option<String>,
    /// What it said.
    pub message: Option<String>,
    /// Records written, of a `bye`.
    pub written: Option<u64>,
    /// CPU of the plugin itself, of a `bye`.
    pub own_cpu_ns: Option<i64>,
}

/// A `pod` record: what the status of an executor's pod said by then.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Pod {
    /// Application.
    pub app_id: Option<String>,
    /// Executor.
    pub executor_id: String,
    /// Name of the pod.
    pub name: Option<String>,
    /// Its node.
    pub node: Option<String>,
    /// Image of the executor's container.
    pub image: Option<String>,
    /// What the scheduler said when it found no node.
    pub unschedulable: Option<String>,
    /// Why the container waited.
    pub waiting: Option<String>,
    /// Spark had created it, Unix time as all that follow.
    pub created_wall_ns: Option<i64>,
    /// It had a node.
    pub scheduled_wall_ns: Option<i64>,
    /// It had volumes and network.
    pub prepared_wall_ns: Option<i64>,
    /// Its init containers had ended.
    pub initialized_wall_ns: Option<i64>,
    /// The executor's container ran.
    pub started_wall_ns: Option<i64>,
    /// The record was made, by the driver's clock.
    pub wall_ns: Option<i64>,
}

impl Pod {
    /// Adds a later record of the pod. What was known stays, and the first record of a container
    /// that ran says when that was seen.
    pub fn add(&mut self, later: Self) {
        if self.started_wall_ns.is_none() {
            self.wall_ns = later.wall_ns;
        }
        let texts = [
            (&mut self.name, later.name),
            (&mut self.node, later.node),
            (&mut self.image, later.image),
            (&mut self.unschedulable, later.unschedulable),
            (&mut self.waiting, later.waiting),
        ];
        for (known, text) in texts {
            *known = known.take().or(text);
        }
        let times = [
            (&mut self.created_wall_ns, later.created_wall_ns),
            (&mut self.scheduled_wall_ns, later.scheduled_wall_ns),
            (&mut self.prepared_wall_ns, later.prepared_wall_ns),
            (&mut self.initialized_wall_ns, later.initialized_wall_ns),
            (&mut self.started_wall_ns, later.started_wall_ns),
        ];
        for (known, time) in times {
            *known = known.or(time);
        }
    }

    /// When its container was first seen to run.
    pub fn seen_wall_ns(&self) -> Option<i64> {
        self.started_wall_ns.and(self.wall_ns)
    }
}

/// What came of reading the next line.
pub enum Next<'b> {
    /// A whole line, and the byte at which it begins.
    Line(&'b [u8], u64),
    /// A line longer than any that the plugin writes.
    TooLong(u64),
    /// The last bytes of the file, without a line end.
    Rest(&'b [u8], u64),
    /// The end of the file.
    End,
}

/// Splits a stream into lines, in bounded memory.
pub struct Lines<R> {
    input: R,
    line: Vec<u8>,
    /// Longest line that is given.
    limit: u64,
    /// Bytes read so far.
    pub bytes: u64,
    /// Lines begun so far.
    pub lines: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of a stream, none of more bytes than `limit`.
    pub fn new(input: R, limit: u64) -> Self {
        Self {
            input,
            line: Vec::new(),
            limit,
            bytes: 0,
            lines: 0,
        }
    }

    /// The next line.
    ///
    /// # Errors
    /// If the stream cannot be read.
    pub fn next(&mut self) -> std::io::Result<Next<'_>> {
        let start = self.bytes;
        self.line.clear();
        let read = self
            .input
            .by_ref()
            .take(self.limit)
            .read_until(b'\n', &mut self.line)?;
        self.bytes += read as u64;
        if read == 0 {
            return Ok(Next::End);
        }
        self.lines += 1;
        if self.line.last() == Some(&b'\n') {
            return Ok(Next::Line(self.line.trim_ascii(), start));
        }
        if (read as u64) < self.limit {
            return Ok(Next::Rest(self.line.trim_ascii(), start));
        }
        while self.line.last() != Some(&b'\n') {
            self.line.clear();
            let read = self
                .input
                .by_ref()
                .take(self.limit)
                .read_until(b'\n', &mut self.line)?;
            self.bytes += read as u64;
            if read == 0 {
                break;
            }
        }
        Ok(Next::TooLong(start))
    }
}
