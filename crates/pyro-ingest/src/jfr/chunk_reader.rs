//! Events of a chunk to rows.

use pyro_model::Result;
use pyro_stacks::java_class_name;

use super::chunk::{CHECKPOINT, Chunk, Event as RawEvent, METADATA};
use super::chunk_cache::ChunkCache;
use super::events::{Kind, Reader, Record, Slot, readers};
use super::keys::KeyMap;
use super::metadata::Metadata;
use super::output::Output;
use super::pools::{Named, Pools};
use super::recording::Recording;
use super::samples::{Event, Origin, Sample};
use super::settings::DEFAULT_WALL_NS;
use super::spans::{covering, split_batch};
use super::unfreed::Call;
use crate::sample_rows::Label;

/// Reads a chunk of a recording into rows. Returns the offset in the chunk at which it breaks off, if it does.
///
/// # Errors
/// If a table cannot be written.
pub fn read_chunk(
    recording: &mut Recording<'_>,
    chunk: &Chunk,
    output: &mut Output,
) -> Result<Option<usize>> {
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
        recording.seen.broken_pools +=
            u64::from(pools.note(&metadata, event.body, event.at).is_err());
    }
    let readers = readers(&metadata);
    recording.learn(chunk, &readers, &pools, &metadata);
    if !recording.settings_only {
        output.lookup.begin_chunk(&pools);
        let ignored = ChunkReader::new(recording, chunk, &pools, output).rows(&readers, output)?;
        recording.unfreed.next_chunk();
        for (class, count) in ignored {
            let name = metadata
                .get(class)
                .map_or("unknown", |class| class.name.as_str());
            *recording.seen.ignored.entry(name.to_owned()).or_default() += count;
        }
    }
    Ok(broken_at)
}

/// One chunk being read.
struct ChunkReader<'r, 'a, 'c> {
    recording: &'r mut Recording<'a>,
    host: Label,
    chunk: &'c Chunk,
    pools: &'c Pools<'c>,
    cache: ChunkCache<'a, 'c>,
    ignored: KeyMap<u64, u64>,
}

impl<'r, 'a, 'c> ChunkReader<'r, 'a, 'c> {
    /// Begins a chunk.
    fn new(
        recording: &'r mut Recording<'a>,
        chunk: &'c Chunk,
        pools: &'c Pools<'c>,
        output: &mut Output,
    ) -> Self {
        Self {
            host: output.samples.label(recording.host),
            recording,
            chunk,
            pools,
            cache: ChunkCache::new(pools),
            ignored: KeyMap::default(),
        }
    }

    /// Writes the rows of the chunk. Returns how many events were not used, by type.
    ///
    /// # Errors
    /// If a table cannot be written.
    fn rows(
        mut self,
        readers: &KeyMap<u64, Reader>,
        output: &mut Output,
    ) -> Result<KeyMap<u64, u64>> {
        let mut record = Record::default();
        let chunk = self.chunk;
        for event in chunk.events().filter(|event| event.class > CHECKPOINT) {
            self.recording.seen.events += 1;
            match readers.get(&event.class) {
                Some(reader) if reader.read(event.body, &mut record) => {
                    self.event(event.class, reader.kind, &record, output)?;
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
        output: &mut Output,
    ) -> Result<()> {
        let settings = &self.recording.settings;
        let duration = |slot| self.chunk.duration_ns(record.number(slot) as i64);
        let bytes = record.number(Slot::Bytes) as i64;
        // Taken each time that an interval is full: with probability value ÷ interval below it.
        let stands_for = |value: i64, interval: Option<i64>| value.max(interval.unwrap_or(0));
        match kind {
            Kind::Execution => match settings.execution() {
                Some((event, interval)) => {
                    // The JDK adapts the period of its samples by CPU time, and each carries its own.
                    let weight = Some(duration(Slot::Span)).filter(|&period| period > 0);
                    self.sample(event, weight.unwrap_or(interval), record, output)
                }
                None => {
                    *self.ignored.entry(class).or_default() += 1;
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

    /// Writes the row or, for a batch across tasks, the rows of a sample.
    fn sample(
        &mut self,
        event: Event,
        weight: i64,
        record: &Record<'_>,
        output: &mut Output,
    ) -> Result<()> {
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
        let lookup = &mut output.lookup;
        let stack = lookup.stack(self.pools, &mut output.dictionary, key)?;
        let stack = stack.map(|stack| (stack, output.dictionary.verdict(stack)));
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

    fn compilation(&mut self, record: &Record<'_>, output: &mut Output) -> Result<()> {
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
