//! Blocks put together into tables, in the order of the files.

use std::collections::BTreeMap;

use pyro_model::{Doubt, IngestReport, JitBuilder, ParquetSink, Result, Severity};
use pyro_stacks::{Frame, Rules};

use super::block::{Block, ChunkEnd, Compilation, New};
use super::doubts::doubts;
use super::recording::{Open, Recording};
use super::samples::{Event, Tallies, append};
use super::source::Place;
use super::unfreed::{Native, Unfreed};
use crate::dictionary::Dictionary;
use crate::sample_rows::{Label, SampleColumns, SampleRows};

/// What one thread's numbers are here.
#[derive(Default)]
struct Numbers {
    labels: Vec<Label>,
    methods: Vec<u32>,
    frames: Vec<u32>,
    stacks: Vec<i32>,
}

/// Puts blocks together.
pub struct Merger<'a> {
    paths: &'a [String],
    open: Open<'a, 'a>,
    rules: &'static Rules,
    samples: ParquetSink<SampleRows>,
    tallies: Tallies,
    jit: ParquetSink<JitBuilder>,
    dictionary: Dictionary,
    numbers: Vec<Numbers>,
    number: usize,
    recording: Recording<'a>,
    unfreed: Unfreed<'a>,
    totals: Totals,
    doubts: Vec<Doubt>,
    root_first: Vec<u32>,
}

#[derive(Default)]
struct Totals {
    bytes: u64,
    chunks: u64,
    events: u64,
    ignored: BTreeMap<String, u64>,
    cpu_interval_ns: Option<i64>,
    wall_interval_ns: Option<i64>,
}

impl<'a> Merger<'a> {
    /// Starts the tables in folder `out`, for blocks of so many threads.
    ///
    /// # Errors
    /// If they cannot be created.
    pub fn create(
        paths: &'a [String],
        open: Open<'a, 'a>,
        threads: usize,
        out: &str,
    ) -> Result<Self> {
        let recording = open(0);
        let rules = recording.rules;
        Ok(Self {
            paths,
            open,
            rules,
            samples: ParquetSink::create(out)?,
            tallies: Tallies::default(),
            jit: ParquetSink::create(out)?,
            dictionary: Dictionary::create(rules, out)?,
            numbers: (0..threads).map(|_| Numbers::default()).collect(),
            number: 0,
            recording,
            unfreed: Unfreed::default(),
            totals: Totals::default(),
            doubts: Vec::new(),
            root_first: Vec::new(),
        })
    }

    /// Takes in a block of the chunk at `place`.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn block(&mut self, place: &Place, block: Block<'a>) -> Result<()> {
        let worker = block.worker;
        self.renumber(worker, block.new)?;
        self.rows(worker, &block.rows)?;
        for native in block.native {
            let native = here(&self.numbers[worker], native);
            self.unfreed.take(native);
        }
        for compilation in &block.compilations {
            self.compilation(compilation)?;
        }
        if let Some(end) = block.end {
            self.end_of_chunk(place, end);
        }
        Ok(())
    }

    /// Gives what is new in a block its numbers here.
    fn renumber(&mut self, worker: usize, new: New) -> Result<()> {
        if new.anew {
            self.numbers[worker] = Numbers::default();
        }
        let numbers = &mut self.numbers[worker];
        let rows = &mut self.samples.rows;
        let labels = new.labels.iter().map(|text| rows.label(text));
        numbers.labels.extend(labels);
        for method in &new.methods {
            let frame = Frame {
                place: &method.place,
                method: &method.name,
                kind: method.kind,
            };
            let number = self.dictionary.method(&frame, Some(method.facts));
            numbers.methods.push(number);
        }
        for &(method, line, kind) in &new.frames {
            let key = (numbers.methods[method as usize], line, kind);
            numbers.frames.push(self.dictionary.frame(key)?);
        }
        let mut frames = new.stack_frames.iter();
        for stack in &new.stacks {
            self.root_first.clear();
            let its = frames.by_ref().take(stack.frames);
            let its = its.map(|&frame| numbers.frames[frame as usize]);
            self.root_first.extend(its);
            let (verdict, truncated) = (Some(stack.verdict), stack.truncated);
            let number = self
                .dictionary
                .stack(&self.root_first, truncated, verdict)?;
            numbers.stacks.push(number);
        }
        Ok(())
    }

    fn rows(&mut self, worker: usize, rows: &SampleColumns) -> Result<()> {
        let Numbers { labels, stacks, .. } = &self.numbers[worker];
        let mut from = 0;
        while from < rows.len() {
            let to = rows.len().min(from + self.samples.room());
            self.samples.rows.append(rows, from..to, labels, stacks);
            self.samples.row_done()?;
            from = to;
        }
        Ok(())
    }

    fn compilation(&mut self, compilation: &Compilation) -> Result<()> {
        let rows = &mut self.jit.rows;
        rows.host.append_value(&compilation.host);
        rows.pid.append_value(compilation.pid);
        rows.start_mono_ns.append_option(compilation.start_mono_ns);
        rows.duration_ns.append_value(compilation.duration_ns);
        rows.compiler.append_option(compilation.compiler.as_deref());
        rows.level.append_option(compilation.level);
        rows.method.append_option(compilation.method.as_deref());
        rows.code_bytes.append_option(compilation.code_bytes);
        rows.succeeded.append_option(compilation.succeeded);
        rows.compile_id.append_null();
        rows.osr.append_null();
        rows.bytecode_bytes.append_null();
        self.jit.row_done()
    }

    fn end_of_chunk(&mut self, place: &Place, end: ChunkEnd) {
        self.unfreed.next_chunk();
        self.recording.settings = end.settings;
        self.recording.seen.add(end.seen);
        for (all, tally) in self.tallies.iter_mut().zip(&end.tallies) {
            all.add(tally);
        }
        self.totals.chunks += 1;
        self.totals.bytes += place.bytes;
        if !place.complete || end.broken_at.is_some() {
            let Place { offset, bytes, .. } = *place;
            let at = offset + end.broken_at.map_or(bytes, |at| at as u64);
            let path = &self.paths[place.recording];
            let text = format!("{path}: the chunk at byte {offset} breaks off at byte {at}");
            self.doubts.push(
                Doubt::new("jfr_truncated", Severity::Warning, text)
                    .in_file(path)
                    .at_byte(at),
            );
        }
    }

    /// Notes that what is at this offset is no chunk.
    pub fn not_a_chunk(&mut self, offset: u64) {
        let path = &self.paths[self.number];
        let text =
            format!("{path}: no chunk of a JFR recording at byte {offset}; the rest was left out");
        self.doubts.push(
            Doubt::new("jfr_unreadable", Severity::Warning, text)
                .in_file(path)
                .at_byte(offset),
        );
    }

    /// Ends a recording; another may follow.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn end_of_recording(&mut self) -> Result<()> {
        let mut unfreed = std::mem::take(&mut self.unfreed);
        for call in unfreed.rest() {
            let rows = &mut self.samples.rows;
            append(
                rows,
                &mut self.tallies,
                self.rules,
                call.origin,
                &call.sample(),
            );
            self.samples.row_done()?;
        }
        let path = &self.paths[self.number];
        self.number += 1;
        let next = (self.open)(self.number);
        let recording = std::mem::replace(&mut self.recording, next);
        self.doubts.extend(doubts(path, &recording, &unfreed));
        let (totals, settings) = (&mut self.totals, &recording.settings);
        totals.cpu_interval_ns = totals.cpu_interval_ns.or(settings.cpu_interval_ns);
        totals.wall_interval_ns = totals.wall_interval_ns.or(settings.wall_ns());
        totals.events += recording.seen.events;
        for (name, count) in recording.seen.ignored {
            *totals.ignored.entry(name).or_default() += count;
        }
        Ok(())
    }

    /// Writes the tables to the end.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(self) -> Result<IngestReport> {
        let mut report = IngestReport {
            doubts: self.doubts,
            ..IngestReport::default()
        };
        report.tables.insert("samples", self.samples.finish()?);
        report.tables.insert("jit", self.jit.finish()?);
        let (frames, stacks) = self.dictionary.finish()?;
        report.tables.insert("frames", frames);
        report.tables.insert("stacks", stacks);
        let totals = self.totals;
        let by_event = Event::ALL.map(|event| (event.name(), self.tallies[event as usize]));
        let by_event = serde_json::json!(BTreeMap::from(by_event));
        let ignored = serde_json::json!(totals.ignored);
        report.stats.extend([
            ("bytes", totals.bytes.into()),
            ("chunks", totals.chunks.into()),
            ("events", totals.events.into()),
            ("events_ignored", ignored),
            ("cpu_interval_ns", totals.cpu_interval_ns.into()),
            ("wall_interval_ns", totals.wall_interval_ns.into()),
            ("samples_by_event", by_event),
        ]);
        Ok(report)
    }
}

/// A call with the numbers that its strings and its stack have here.
fn here<'a>(numbers: &Numbers, mut native: Native<'a>) -> Native<'a> {
    let label = |label: Label| numbers.labels[label as usize];
    if let Native::Call(_, call) = &mut native {
        call.origin.host = label(call.origin.host);
        call.thread.name = call.thread.name.map(label);
        if let Some((stack, _)) = &mut call.stack {
            *stack = numbers.stacks[*stack as usize];
        }
    }
    native
}
