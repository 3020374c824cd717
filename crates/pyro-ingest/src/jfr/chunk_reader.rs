//! Events of a chunk to rows.

use pyro_stacks::java_class_name;

use super::block::{ChunkEnd, Compilation};
use super::chunk::{CHECKPOINT, Chunk, Event as RawEvent, METADATA};
use super::chunk_cache::ChunkCache;
use super::events::{Kind, Reader, Record, Slot};
use super::keys::KeyMap;
use super::output::{Output, Stopped, Take};
use super::pools::Pools;
use super::recording::{Recording, said};
use super::samples::{Event, Origin, Sample};
use super::settings::{DEFAULT_WALL_NS, Said, Settings};
use super::spans::{covering, split_batch};
use super::types::{Index, Named, Types};
use super::unfreed::{Call, Native};
use crate::sample_rows::Label;

type Result = std::result::Result<(), Stopped>;

/// A chunk whose types and pools are known.
struct Opened<'c> {
    types: &'c Types,
    pools: Pools<'c>,
    said: Vec<Said>,
    broken_pools: u64,
}

/// Finds out what chunks say of themselves. What the chunk before said of its types serves the
/// next one, and so does memory.
#[derive(Default)]
pub struct Opener {
    types: Option<Types>,
    index: Index,
}

impl Opener {
    /// Finds out what a chunk says of itself; nothing, if it does not describe its types. Second,
    /// the offset at which it breaks off, if it does.
    fn open<'c>(&'c mut self, chunk: &'c Chunk) -> (Option<Opened<'c>>, Option<usize>) {
        let Self { types, index } = self;
        let known = types.as_ref();
        let about_recording = |class| {
            let reader = known.and_then(|types| types.reader(class));
            reader.is_some_and(Reader::is_about_recording)
        };
        let mut events = chunk.events();
        let noted: Vec<RawEvent<'_>> = events
            .by_ref()
            .filter(|event| event.class <= CHECKPOINT || about_recording(event.class))
            .collect();
        let broken_at = events.broken_at;
        let of_class = |class| noted.iter().filter(move |event| event.class == class);
        // The last whole description counts: the JDK writes a new one when classes were added.
        let described = of_class(METADATA).rev().find_map(|event| {
            if known.is_some_and(|types| types.are_described_by(event.body.rest())) {
                return Some(None);
            }
            Types::parse(event.body.rest()).ok().map(Some)
        });
        let Some(new) = described else {
            return (None, Some(broken_at.unwrap_or(0)));
        };
        let same = new.is_none();
        *types = new.or(types.take());
        let types = types.as_mut().expect("new, or known before");
        index.clear();
        let mut broken_pools = 0;
        for event in of_class(CHECKPOINT) {
            broken_pools += u64::from(index.note(types, event.body).is_err());
        }
        let types = &*types;
        let pools = Pools::new(&chunk.bytes, index, types.shapes());
        let said = if same {
            said(noted.into_iter(), types, &pools)
        } else {
            said(chunk.events(), types, &pools)
        };
        let opened = Opened {
            types,
            pools,
            said,
            broken_pools,
        };
        (Some(opened), broken_at)
    }
}

/// Adds what a chunk says of its recording.
pub fn learn(chunk: &Chunk, settings: &mut Settings) {
    let mut opener = Opener::default();
    let said = opener.open(chunk).0.map(|opened| opened.said);
    said.iter().flatten().for_each(|said| settings.learn(said));
}

/// Reads a chunk of `recording`, of which `learn` adds what the chunks up to this one say: it gets what this
/// one says.
///
/// # Errors
/// If nobody needs the rows.
pub fn read_chunk<'a>(
    recording: &mut Recording<'a>,
    chunk: &Chunk,
    opener: &mut Opener,
    output: &mut Output<'a>,
    learn: impl FnOnce(&[Said]) -> std::result::Result<Settings, Stopped>,
    take: Take<'_, 'a>,
) -> Result {
    let (opened, broken_at) = opener.open(chunk);
    let said = opened.as_ref().map_or(&[][..], |opened| &opened.said);
    recording.settings = learn(said)?;
    if let Some(opened) = opened {
        let pools = &opened.pools;
        recording.seen.broken_pools += opened.broken_pools;
        output.begin_chunk(pools, recording.settings.async_profiler);
        let reader = ChunkReader::new(recording, chunk, pools, output);
        let ignored = reader.rows(opened.types, output, take)?;
        for (class, count) in ignored {
            let name = opened.types.name(class).unwrap_or("unknown");
            *recording.seen.ignored.entry(name.to_owned()).or_default() += count;
        }
    }
    let end = ChunkEnd {
        broken_at,
        settings: recording.settings.clone(),
        seen: std::mem::take(&mut recording.seen),
        tallies: Default::default(),
    };
    output.end_chunk(end, take)
}

/// One chunk being read.
struct ChunkReader<'r, 'a, 'c> {
    recording: &'r mut Recording<'a>,
    host: Label,
    chunk: &'c Chunk,
    pools: &'c Pools<'c>,
    cache: ChunkCache<'a, 'c>,
    ignored: KeyMap<u64, u64>,
    /// It has samples by CPU time: those of the JDK's other sampler are of the same time.
    has_cpu_time: bool,
}

impl<'r, 'a, 'c> ChunkReader<'r, 'a, 'c> {
    /// Begins a chunk.
    fn new(
        recording: &'r mut Recording<'a>,
        chunk: &'c Chunk,
        pools: &'c Pools<'c>,
        output: &mut Output<'a>,
    ) -> Self {
        Self {
            host: output.label(recording.host),
            recording,
            chunk,
            pools,
            cache: ChunkCache::new(pools),
            ignored: KeyMap::default(),
            has_cpu_time: false,
        }
    }

    /// Writes the rows of the chunk. Returns how many events were not used, by type.
    ///
    /// # Errors
    /// If nobody needs them.
    fn rows(
        mut self,
        types: &Types,
        output: &mut Output<'a>,
        take: Take<'_, 'a>,
    ) -> std::result::Result<KeyMap<u64, u64>, Stopped> {
        let mut record = Record::default();
        let chunk = self.chunk;
        let is_cpu_time = |event: RawEvent<'_>| {
            let reader = types.reader(event.class);
            reader.is_some_and(|reader| reader.kind == Kind::CpuTime)
        };
        // Asked for is not had: not every system has them.
        self.has_cpu_time =
            self.recording.settings.cpu_time_samples && chunk.events().any(is_cpu_time);
        for event in chunk.events().filter(|event| event.class > CHECKPOINT) {
            self.recording.seen.events += 1;
            match types.reader(event.class) {
                Some(reader) if reader.read(event.body, &mut record) => {
                    self.event(event.class, reader.kind, &record, output, take)?;
                }
                Some(_) => self.recording.seen.broken += 1,
                None => *self.ignored.entry(event.class).or_default() += 1,
            }
        }
        Ok(self.ignored)
    }

    fn event(
        &mut self,
        class: u64,
        kind: Kind,
        record: &Record<'_>,
        output: &mut Output<'a>,
        take: Take<'_, 'a>,
    ) -> Result {
        let settings = &self.recording.settings;
        let duration = |slot| self.chunk.duration_ns(record.number(slot) as i64);
        let bytes = record.number(Slot::Bytes) as i64;
        // Taken each time that an interval is full: with probability value ÷ interval below it.
        let stands_for = |value: i64, interval: Option<i64>| value.max(interval.unwrap_or(0));
        match kind {
            Kind::Execution | Kind::CpuTime => match settings.execution() {
                Some((Event::Cpu, _)) if kind == Kind::Execution && self.has_cpu_time => {
                    self.recording.seen.of_same_time += 1;
                    Ok(())
                }
                Some((event, interval)) => {
                    // The JDK adapts the period of its samples by CPU time, and each carries its own.
                    let weight = Some(duration(Slot::Span)).filter(|&period| period > 0);
                    self.sample(event, weight.unwrap_or(interval), record, output, take)
                }
                None => {
                    *self.ignored.entry(class).or_default() += 1;
                    Ok(())
                }
            },
            Kind::NativeMethod => {
                let weight = settings.native_interval_ns.unwrap_or(20_000_000);
                self.sample(Event::Wall, weight, record, output, take)
            }
            Kind::Wall => {
                let weight = settings.wall_ns().unwrap_or(DEFAULT_WALL_NS);
                self.sample(Event::Wall, weight, record, output, take)
            }
            Kind::Allocation => self.sample(Event::Alloc, bytes, record, output, take),
            Kind::Lock => {
                let weight = stands_for(duration(Slot::Duration), settings.lock_interval_ns);
                self.sample(Event::Lock, weight, record, output, take)
            }
            Kind::NativeLock => {
                let interval = settings.native_lock_interval_ns;
                let weight = stands_for(duration(Slot::Duration), interval);
                self.sample(Event::Lock, weight, record, output, take)
            }
            Kind::Live => {
                let weight = stands_for(bytes, settings.alloc_interval_bytes);
                self.sample(Event::Live, weight, record, output, take)
            }
            Kind::Malloc => {
                let weight = stands_for(bytes, settings.malloc_interval_bytes);
                self.sample(Event::NativeMem, weight, record, output, take)
            }
            Kind::Free => {
                let (address, at) = (record.number(Slot::Count), record.number(Slot::Start));
                output.native(Native::Free(address, at), take)
            }
            Kind::Compilation => self.compilation(record, output, take),
            Kind::DataLoss | Kind::SamplesLost => {
                self.recording.seen.lost(kind, record);
                Ok(())
            }
            Kind::Setting | Kind::Recording | Kind::Jvm => Ok(()),
        }
    }

    /// Writes the row or, for a batch across tasks, the rows of a sample.
    fn sample(
        &mut self,
        event: Event,
        weight: i64,
        record: &Record<'_>,
        output: &mut Output<'a>,
        take: Take<'_, 'a>,
    ) -> Result {
        let pid = self.recording.pid().unwrap_or(-1);
        let monotonic = self.recording.settings.monotonic;
        let start = record.number(Slot::Start) as i64;
        let t_ns = if monotonic {
            start
        } else {
            self.chunk.wall_ns(start)
        };
        let asleep = if event == Event::Wall {
            self.cache.asleep(record.number(Slot::State))
        } else {
            None
        };
        let key = record.number(Slot::Stack);
        let stack = output.stack(self.pools, key);
        // The profiler derives the state from the instruction: a thread that was just woken looks running.
        let blocked = stack.is_some_and(|(_, verdict)| verdict.blocked);
        let asleep = asleep.map(|asleep| asleep || blocked);
        let class = self.cache.class(record.number(Slot::Class), output);
        let key = record.number(Slot::Thread);
        let (thread, spans) = self.cache.thread(key, self.recording, output);
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
                return output.sample(origin, &sample, take);
            }
            let call = Call {
                origin,
                t_ns,
                ticks: start as u64,
                weight,
                stack,
                thread: thread.clone(),
                span,
                unsure: false,
            };
            let address = record.number(Slot::Count);
            return output.native(Native::Call(address, Box::new(call)), take);
        }
        let span_ns = self.chunk.duration_ns(record.number(Slot::Span) as i64);
        for piece in split_batch(spans, t_ns, span_ns, record.number(Slot::Count), join) {
            sample.t_ns = piece.start_ns;
            sample.weight = weight.saturating_mul(i64::try_from(piece.count).unwrap_or(i64::MAX));
            sample.span = piece.span;
            output.sample(origin, &sample, take)?;
        }
        Ok(())
    }

    fn compilation(
        &mut self,
        record: &Record<'_>,
        output: &mut Output<'a>,
        take: Take<'_, 'a>,
    ) -> Result {
        let start = record.number(Slot::Start) as i64;
        let pid = self.recording.pid().unwrap_or(-1);
        let mono_ns = if self.recording.settings.monotonic {
            Some(start)
        } else {
            self.recording.spans.mono_ns(pid, self.chunk.wall_ns(start))
        };
        let pools = self.pools;
        let method = pools.method(record.number(Slot::Class));
        let method = method.and_then(|(class, name)| {
            let class = java_class_name(&pools.class(class).unwrap_or_default());
            let name = pools.symbol(name)?;
            Some(format!("{class}.{}", String::from_utf8_lossy(&name)))
        });
        let compiler = record
            .get(Slot::Name)
            .and_then(|key| self.pools.name(Named::Compiler, key));
        let compilation = Compilation {
            host: self.recording.host.to_owned(),
            pid,
            start_mono_ns: mono_ns,
            duration_ns: self.chunk.duration_ns(record.number(Slot::Duration) as i64),
            compiler,
            level: record.get(Slot::Count).map(|level| level as i32),
            method,
            code_bytes: record.get(Slot::Bytes).map(|bytes| bytes as i64),
            succeeded: record.get(Slot::State).map(|flag| flag != 0),
        };
        output.compilation(compilation, take)
    }
}
