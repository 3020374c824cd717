//! One recording: its chunks in turn, its events to rows.

use std::collections::{BTreeMap, HashSet};

use pyro_model::{JitBuilder, ParquetSink, Result, TaskSpan};
use pyro_stacks::{Rules, java_class_name, task_of_thread};

use super::chunk::{Chunk, Event as RawEvent};
use super::events::{Kind, Reader, Record, Slot, readers};
use super::lookup::Lookup;
use super::metadata::{Metadata, Value};
use super::pools::{KeyMap, Named, Pools};
use super::samples::{Event, Origin, Sample, SampleSink, ThreadFacts};
use super::spans::{SpanIndex, covering, split_batch};
use super::unfreed::{Call, Unfreed};
use crate::dictionary::Dictionary;
use crate::sample_rows::Label;

/// Type ids that the format fixes.
const METADATA: u64 = 0;
const CHECKPOINT: u64 = 1;

/// Periods of async-profiler where the setting says 0: its own defaults.
const DEFAULT_CPU_NS: i64 = 10_000_000;
const DEFAULT_WALL_NS: i64 = 50_000_000;

/// Tables and dictionaries shared by all recordings.
pub struct Output {
    /// Table samples.
    pub samples: SampleSink,
    /// Table jit.
    pub jit: ParquetSink<JitBuilder>,
    /// Tables frames and stacks.
    pub dictionary: Dictionary,
    /// What was looked up in constant pools.
    pub lookup: Lookup,
}

/// What a recording says about itself; the first chunk says it for all.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Written by async-profiler, else by the JDK.
    pub async_profiler: bool,
    /// Stamps are CLOCK_MONOTONIC.
    pub monotonic: bool,
    /// What its `ExecutionSample` samples: `cpu`, `ctimer`, `wall`, …
    pub event: Option<String>,
    /// Period of CPU samples.
    pub cpu_interval_ns: Option<i64>,
    /// Period of wall samples.
    pub wall_interval_ns: Option<i64>,
    /// Period of `NativeMethodSample`.
    native_interval_ns: Option<i64>,
    /// Sum of which async-profiler takes one lock, ns.
    lock_interval_ns: Option<i64>,
    /// The same of native locks.
    native_lock_interval_ns: Option<i64>,
    /// The same of the heap, bytes.
    alloc_interval_bytes: Option<i64>,
    /// The same of the native allocator, bytes.
    malloc_interval_bytes: Option<i64>,
    /// Process, where the recording says.
    pub pid: Option<i64>,
}

/// Counts of what was met and not used.
#[derive(Debug, Default)]
pub struct Seen {
    /// Events.
    pub events: u64,
    /// Events of kinds that are not used, by name.
    pub ignored: BTreeMap<String, u64>,
    /// Events that could not be read.
    pub broken: u64,
    /// Checkpoints that could not be read.
    pub broken_pools: u64,
    /// Threads whose name tells of a task that the plugin did not see there.
    pub misnamed: HashSet<i64>,
}

/// Reads the chunks of one file.
pub struct Recording<'a> {
    /// Host.
    pub host: &'a str,
    /// Process, from the file name.
    pub pid: Option<i64>,
    /// Tasks.
    pub spans: &'a SpanIndex,
    /// About itself.
    pub settings: Settings,
    /// Counts.
    pub seen: Seen,
    /// Only to read `settings`.
    pub settings_only: bool,
    /// Native memory, until the recording's end tells what was not given back.
    pub unfreed: Unfreed<'a>,
    rules: &'static Rules,
}

impl<'a> Recording<'a> {
    /// A recording of process `pid`, where the file name tells it.
    pub fn new(
        host: &'a str,
        pid: Option<i64>,
        spans: &'a SpanIndex,
        rules: &'static Rules,
    ) -> Self {
        Self {
            host,
            pid,
            spans,
            settings: Settings::default(),
            seen: Seen::default(),
            settings_only: false,
            unfreed: Unfreed::default(),
            rules,
        }
    }

    /// Takes one chunk in. Returns the offset in the chunk at which it breaks off, if it does.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn chunk(&mut self, chunk: &Chunk, output: &mut Output) -> Result<Option<usize>> {
        let mut events = chunk.events();
        let framework: Vec<RawEvent<'_>> = events
            .by_ref()
            .filter(|event| event.class <= CHECKPOINT)
            .collect();
        let broken_at = events.broken_at;
        let metadata = framework.iter().filter(|event| event.class == METADATA);
        // The last whole description counts: the JDK writes a new one when classes were added.
        let Some(metadata) = metadata
            .rev()
            .find_map(|event| Metadata::parse(event.body).ok())
        else {
            return Ok(Some(broken_at.unwrap_or(0)));
        };
        let mut pools = Pools::new(&chunk.bytes, &metadata);
        for event in framework.iter().filter(|event| event.class == CHECKPOINT) {
            self.seen.broken_pools +=
                u64::from(pools.note(&metadata, event.body, event.at).is_err());
        }
        let readers = readers(&metadata);
        let whole = |event: &RawEvent<'_>| event.class > CHECKPOINT;
        let mut record = Record::default();
        for event in chunk.events().filter(whole) {
            if let Some(reader) = readers.get(&event.class)
                && matches!(reader.kind, Kind::Setting | Kind::Recording | Kind::Jvm)
                && reader.read(event.body, &mut record)
            {
                self.settings.learn(reader.kind, &record, &pools, &metadata);
            }
        }
        if self.settings_only {
            return Ok(broken_at);
        }
        output.lookup.begin_chunk(&pools);
        let mut ignored: KeyMap<u64, u64> = KeyMap::default();
        let mut reading = Reading {
            host: output.samples.label(self.host),
            recording: self,
            chunk,
            pools: &pools,
            threads: KeyMap::default(),
            classes: KeyMap::default(),
            sleeping: KeyMap::default(),
        };
        for event in chunk.events().filter(whole) {
            reading.recording.seen.events += 1;
            match readers.get(&event.class) {
                Some(Reader {
                    kind: Kind::Setting | Kind::Recording | Kind::Jvm,
                    ..
                }) => {}
                Some(reader) if reader.read(event.body, &mut record) => {
                    reading.event(reader, &record, output, &mut ignored, event.class)?
                }
                Some(_) => reading.recording.seen.broken += 1,
                None => *ignored.entry(event.class).or_default() += 1,
            }
        }
        self.unfreed.next_chunk();
        for (class, count) in ignored {
            let name = metadata
                .get(class)
                .map_or("unknown", |class| class.name.as_str());
            *self.seen.ignored.entry(name.to_owned()).or_default() += count;
        }
        Ok(broken_at)
    }
}

impl Settings {
    fn learn(&mut self, kind: Kind, record: &Record<'_>, pools: &Pools<'_>, metadata: &Metadata) {
        let text = |slot| match record.get(slot) {
            Value::Text(text) => pools.text(text).unwrap_or_default(),
            _ => String::new(),
        };
        match kind {
            Kind::Recording => {
                self.async_profiler |= text(Slot::Name).starts_with("async-profiler")
            }
            Kind::Jvm => self.pid = record.get(Slot::Count).number().map(|pid| pid as i64),
            _ => {
                let (name, value) = (text(Slot::Name), text(Slot::Value));
                let about = metadata
                    .get(record.number(Slot::Count))
                    .map_or("", |class| class.name.as_str());
                self.set(about, &name, &value);
            }
        }
    }

    fn set(&mut self, about: &str, name: &str, value: &str) {
        let or_default = |default| {
            value
                .parse()
                .ok()
                .map(|ns: i64| if ns > 0 { ns } else { default })
        };
        match (about, name) {
            ("jdk.ActiveRecording", "clock") => self.monotonic = value == "monotonic",
            ("jdk.ActiveRecording", "event") => self.event = Some(value.to_owned()),
            ("jdk.ExecutionSample", "interval") => {
                self.cpu_interval_ns = or_default(DEFAULT_CPU_NS)
            }
            ("jdk.ExecutionSample", "wall") => self.wall_interval_ns = or_default(DEFAULT_WALL_NS),
            ("jdk.ExecutionSample", "period") => self.cpu_interval_ns = period_ns(value),
            ("jdk.JavaMonitorEnter", "lock") => self.lock_interval_ns = value.parse().ok(),
            ("profiler.NativeLock", "nativelock") => {
                self.native_lock_interval_ns = value.parse().ok()
            }
            ("jdk.ObjectAllocationInNewTLAB", "alloc") => {
                self.alloc_interval_bytes = value.parse().ok()
            }
            ("profiler.Malloc", "nativemem") => self.malloc_interval_bytes = value.parse().ok(),
            ("jdk.NativeMethodSample", "period") => self.native_interval_ns = period_ns(value),
            _ => {}
        }
    }

    /// What an `ExecutionSample` is about, with its weight; `None` where its unit is not time.
    fn execution(&self) -> Option<(Event, i64)> {
        let cpu = self.cpu_interval_ns.unwrap_or(DEFAULT_CPU_NS);
        match self.event.as_deref() {
            None | Some("cpu" | "itimer" | "ctimer" | "cpu-clock" | "") => Some((Event::Cpu, cpu)),
            Some("wall") => Some((
                Event::Wall,
                self.wall_interval_ns.unwrap_or(DEFAULT_WALL_NS),
            )),
            Some(_) => None,
        }
    }
}

/// `20 ms` of the JDK's settings.
fn period_ns(text: &str) -> Option<i64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(scale)
}

/// One chunk being read.
struct Reading<'r, 'a, 'c> {
    recording: &'r mut Recording<'a>,
    host: Label,
    chunk: &'c Chunk,
    pools: &'c Pools<'c>,
    threads: KeyMap<u64, (ThreadFacts, &'a [TaskSpan])>,
    classes: KeyMap<u64, Option<Label>>,
    sleeping: KeyMap<u64, Option<bool>>,
}

impl<'a> Reading<'_, 'a, '_> {
    fn event(
        &mut self,
        reader: &Reader,
        record: &Record<'_>,
        output: &mut Output,
        ignored: &mut KeyMap<u64, u64>,
        class: u64,
    ) -> Result<()> {
        let settings = &self.recording.settings;
        let duration = |slot| self.chunk.duration_ns(record.number(slot) as i64);
        let bytes = record.number(Slot::Bytes) as i64;
        // Taken each time that an interval is full: with probability value ÷ interval below it.
        let stands_for = |value: i64, interval: Option<i64>| value.max(interval.unwrap_or(0));
        match reader.kind {
            Kind::Execution => match settings.execution() {
                Some((event, weight)) => self.sample(event, weight, record, output),
                None => {
                    *ignored.entry(class).or_default() += 1;
                    Ok(())
                }
            },
            Kind::NativeMethod => {
                let weight = settings.native_interval_ns.unwrap_or(20_000_000);
                self.sample(Event::Wall, weight, record, output)
            }
            Kind::Wall => {
                let weight = settings.wall_interval_ns.unwrap_or(DEFAULT_WALL_NS);
                self.sample(Event::Wall, weight, record, output)
            }
            Kind::Allocation => self.sample(Event::Alloc, bytes, record, output),
            Kind::Lock => {
                let weight = stands_for(duration(Slot::Duration), settings.lock_interval_ns);
                self.sample(Event::Lock, weight, record, output)
            }
            Kind::NativeLock => {
                let interval = settings.native_lock_interval_ns;
                let weight = stands_for(duration(Slot::Duration), interval);
                self.sample(Event::Lock, weight, record, output)
            }
            Kind::Live => {
                let weight = stands_for(bytes, settings.alloc_interval_bytes);
                self.sample(Event::Live, weight, record, output)
            }
            Kind::Malloc => {
                let weight = stands_for(bytes, settings.malloc_interval_bytes);
                self.sample(Event::NativeMem, weight, record, output)
            }
            Kind::Free => {
                let (address, at) = (record.number(Slot::Count), record.number(Slot::Start));
                self.recording.unfreed.free(address, at);
                Ok(())
            }
            Kind::Compilation => self.compilation(record, output),
            Kind::Setting | Kind::Recording | Kind::Jvm => Ok(()),
        }
    }

    fn pid(&self) -> i64 {
        self.recording
            .pid
            .or(self.recording.settings.pid)
            .unwrap_or(-1)
    }

    /// Writes the row or, for a batch across tasks, the rows of a sample.
    fn sample(
        &mut self,
        event: Event,
        weight: i64,
        record: &Record<'_>,
        output: &mut Output,
    ) -> Result<()> {
        let pid = self.pid();
        let monotonic = self.recording.settings.monotonic;
        let start = record.number(Slot::Start) as i64;
        let t_ns = if monotonic {
            start
        } else {
            self.chunk.wall_ns(start)
        };
        let asleep = if event == Event::Wall {
            self.asleep(record.number(Slot::State))
        } else {
            None
        };
        let key = record.number(Slot::Stack);
        let lookup = &mut output.lookup;
        let stack = lookup.stack(self.pools, &mut output.dictionary, key)?;
        let stack = stack.map(|stack| (stack, output.dictionary.verdict(stack)));
        // The profiler tells the state by the instruction: one that was just woken looks running.
        let blocked = stack.is_some_and(|(_, verdict)| verdict.blocked);
        let asleep = asleep.map(|asleep| asleep || blocked);
        let class_key = record.number(Slot::Class);
        let class = if class_key == 0 {
            None
        } else {
            self.class(class_key, output)
        };
        self.know_thread(record.number(Slot::Thread), output);
        let (thread, spans) = &self.threads[&record.number(Slot::Thread)];
        let spans: &'a [TaskSpan] = spans;
        let origin = Origin {
            host: self.host,
            pid,
            clock: if monotonic { "mono" } else { "wall" },
            source: if self.recording.settings.async_profiler {
                "async-profiler"
            } else {
                "jfr"
            },
        };
        let index = self.recording.spans;
        let join = |t_ns: i64| {
            if monotonic {
                Some(t_ns)
            } else {
                index.mono_ns(pid, t_ns)
            }
        };
        let mut sample = Sample {
            event,
            t_ns,
            weight,
            asleep,
            stack,
            thread,
            span: None,
            class,
        };
        if event != Event::Wall {
            let span = join(t_ns).and_then(|mono_ns| covering(spans, mono_ns));
            if event != Event::NativeMem {
                sample.span = span;
                return output.samples.push(origin, &sample);
            }
            let call = Call {
                origin,
                t_ns,
                ticks: start as u64,
                weight,
                stack,
                thread: thread.clone(),
                span,
            };
            let address = record.number(Slot::Count);
            self.recording.unfreed.call(address, call);
            return Ok(());
        }
        let span_ns = self.chunk.duration_ns(record.number(Slot::Span) as i64);
        for piece in split_batch(spans, t_ns, span_ns, record.number(Slot::Count), join) {
            sample.t_ns = piece.start_ns;
            sample.weight = weight.saturating_mul(i64::try_from(piece.count).unwrap_or(i64::MAX));
            sample.span = piece.span;
            output.samples.push(origin, &sample)?;
        }
        Ok(())
    }

    /// Looks a thread up at its first sample in the chunk.
    fn know_thread(&mut self, key: u64, output: &mut Output) {
        if self.threads.contains_key(&key) {
            return;
        }
        let pid = self.pid();
        // async-profiler's key is the thread id, so that it is known where the pool is missing.
        let thread = self.pools.thread(key).unwrap_or(super::pools::Thread {
            tid: key as i64,
            name: None,
        });
        let role = thread
            .name
            .as_deref()
            .map_or("other", |name| self.recording.rules.roles().of(name));
        let spans = self.recording.spans.of_thread(pid, thread.tid);
        if let Some(named) = thread.name.as_deref().and_then(task_of_thread)
            && self.recording.spans.knows(pid)
            && !spans
                .iter()
                .any(|span| span.task_attempt_id == named.task_attempt_id)
        {
            self.recording.seen.misnamed.insert(thread.tid);
        }
        self.threads.insert(
            key,
            (
                ThreadFacts {
                    tid: thread.tid,
                    name: thread.name.map(|name| output.samples.label(&name)),
                    role,
                },
                spans,
            ),
        );
    }

    fn class(&mut self, key: u64, output: &mut Output) -> Option<Label> {
        let pools = self.pools;
        *self.classes.entry(key).or_insert_with(|| {
            pools
                .class(key)
                .map(|name| output.samples.label(&java_class_name(&name)))
        })
    }

    fn asleep(&mut self, key: u64) -> Option<bool> {
        let pools = self.pools;
        *self.sleeping.entry(key).or_insert_with(|| {
            match pools.name(Named::ThreadState, key)?.as_str() {
                "STATE_SLEEPING" => Some(true),
                "STATE_RUNNABLE" => Some(false),
                _ => None,
            }
        })
    }

    fn compilation(&mut self, record: &Record<'_>, output: &mut Output) -> Result<()> {
        let start = record.number(Slot::Start) as i64;
        let pid = self.pid();
        let mono_ns = if self.recording.settings.monotonic {
            Some(start)
        } else {
            self.recording.spans.mono_ns(pid, self.chunk.wall_ns(start))
        };
        let pools = self.pools;
        let method = pools
            .method(record.number(Slot::Class))
            .map(|(class, name)| {
                let class = java_class_name(&pools.class(class).unwrap_or_default());
                format!("{class}.{}", String::from_utf8_lossy(&name))
            });
        let compiler = record
            .get(Slot::Name)
            .number()
            .and_then(|key| self.pools.name(Named::Compiler, key));
        let rows = &mut output.jit.rows;
        rows.pid.append_value(pid);
        rows.start_mono_ns.append_option(mono_ns);
        rows.duration_ns
            .append_value(self.chunk.duration_ns(record.number(Slot::Duration) as i64));
        rows.compiler.append_option(compiler);
        rows.level
            .append_option(record.get(Slot::Count).number().map(|level| level as i32));
        rows.method.append_option(method);
        rows.code_bytes
            .append_option(record.get(Slot::Bytes).number().map(|bytes| bytes as i64));
        rows.succeeded
            .append_option(record.get(Slot::State).number().map(|flag| flag != 0));
        rows.compile_id.append_null();
        rows.osr.append_null();
        rows.bytecode_bytes.append_null();
        output.jit.row_done()
    }
}
