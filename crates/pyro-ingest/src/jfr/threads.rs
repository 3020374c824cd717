//! Chunks read on several threads at once and put together, in the order of the files, by one.
//!
//! A thread takes the next chunk and a place in the queue at once; it fills the place block by
//! block. What is in the queue is bounded by its places and the blocks of each, what is read by
//! the bytes of the chunks: one larger than that is read alone. A chunk is read by one thread.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use pyro_model::{Error, Result};

use super::block::Block;
use super::chunk::Chunk;
use super::chunk_reader::{Opener, read_chunk};
use super::merge::Merger;
use super::output::{Output, Stopped, Take};
use super::recording::Open;
use super::source::{Next, Passing, Place, Source};

/// Bytes of the chunks that are read at once, at most, unless one alone has more.
const CHUNK_BYTES: u64 = 48 << 20;
/// Bytes of stacks that all threads may remember.
const REMEMBERED_BYTES: usize = 32 << 20;
/// Blocks of a chunk that may wait.
const BLOCKS: usize = 2;

/// What is in the queue, in the order of the files.
enum Entry<'a> {
    Chunk(Place, Receiver<Block<'a>>),
    NotAChunk(u64),
    End,
    Failed(Error),
}

/// Reads all chunks of `source` on so many threads, and has `merger` put them together.
///
/// # Errors
/// If a file cannot be read or a table cannot be written.
///
/// # Panics
/// If a thread does, with its message.
pub fn read_all<'a>(
    source: Source<'_>,
    open: Open<'_, 'a>,
    threads: usize,
    merger: &mut Merger<'a>,
) -> Result<()> {
    if threads <= 1 {
        return read_here(source, open, merger);
    }
    let source = Mutex::new(source);
    let room = Room::default();
    let merged = std::thread::scope(|scope| {
        let (entries, queue) = sync_channel(threads);
        let start = |number| {
            let worker = Worker::new(number, threads, open);
            let entries = entries.clone();
            let (source, room) = (&source, &room);
            spawn(scope, move || worker.run(source, room, &entries))
        };
        // Fewer threads do as well.
        let workers: Vec<_> = (0..threads).map_while(start).collect();
        drop(entries);
        if workers.is_empty() {
            return None;
        }
        let merged = merge(queue, merger);
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        Some(merged)
    });
    merged.unwrap_or_else(|| {
        let source = source.into_inner();
        read_here(source.unwrap_or_else(PoisonError::into_inner), open, merger)
    })
}

fn spawn<'s>(
    scope: &'s Scope<'s, '_>,
    work: impl FnOnce() + Send + 's,
) -> Option<ScopedJoinHandle<'s, ()>> {
    let thread = Builder::new().name("pyro-jfr".to_owned());
    thread.spawn_scoped(scope, work).ok()
}

/// Puts together what is in the queue, until its end or until a thread has given up.
fn merge<'a>(queue: Receiver<Entry<'a>>, merger: &mut Merger<'a>) -> Result<()> {
    for entry in queue {
        match entry {
            Entry::Chunk(place, blocks) => {
                let mut whole = false;
                for block in blocks {
                    whole |= block.end.is_some();
                    merger.block(&place, block)?;
                }
                if !whole {
                    break;
                }
            }
            Entry::NotAChunk(offset) => merger.not_a_chunk(offset),
            Entry::End => merger.end_of_recording()?,
            Entry::Failed(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads and puts together on this thread.
fn read_here<'a>(
    mut source: Source<'_>,
    open: Open<'_, 'a>,
    merger: &mut Merger<'a>,
) -> Result<()> {
    let mut worker = Worker::new(0, 1, open);
    while let Some(next) = source.next()? {
        match next {
            Next::Chunk(header) => {
                let memory = std::mem::take(&mut worker.memory);
                let (chunk, place, passing) = source.read(&header, memory)?;
                let mut merged = Ok(());
                let _ = worker.read(chunk, place, passing, &mut |block| {
                    merged = merger.block(&place, block);
                    merged.as_ref().map(drop).map_err(|_| Stopped)
                });
                merged?;
            }
            Next::NotAChunk(offset) => merger.not_a_chunk(offset),
            Next::End => merger.end_of_recording()?,
        }
    }
    Ok(())
}

/// A chunk to be read, and where its blocks go.
struct Work<'r, 'a> {
    chunk: Chunk,
    place: Place,
    passing: Passing,
    blocks: SyncSender<Block<'a>>,
    _held: Held<'r>,
}

/// Reads chunks, one after the other.
struct Worker<'o, 'a> {
    open: Open<'o, 'a>,
    opener: Opener,
    output: Output<'a>,
    recording: Option<usize>,
    memory: Vec<u8>,
    kept_bytes: usize,
}

impl<'o, 'a> Worker<'o, 'a> {
    fn new(number: usize, threads: usize, open: Open<'o, 'a>) -> Self {
        let rules = open(0).rules;
        Self {
            open,
            opener: Opener::default(),
            output: Output::new(number, rules, REMEMBERED_BYTES / threads),
            recording: None,
            memory: Vec::new(),
            kept_bytes: CHUNK_BYTES as usize / threads,
        }
    }

    /// Reads a chunk.
    fn read(
        &mut self,
        chunk: Chunk,
        place: Place,
        passing: Passing,
        take: Take<'_, 'a>,
    ) -> std::result::Result<(), Stopped> {
        if self.recording.replace(place.recording) != Some(place.recording) {
            self.output.begin_recording();
        }
        let mut recording = (self.open)(place.recording);
        let learn = |said: &[_]| passing.learn(said);
        let (opener, output) = (&mut self.opener, &mut self.output);
        read_chunk(&mut recording, &chunk, opener, output, learn, take)?;
        if chunk.bytes.capacity() <= self.kept_bytes {
            self.memory = chunk.bytes;
        }
        Ok(())
    }

    /// Reads chunks until there are none, or nobody needs them.
    fn run(mut self, source: &Mutex<Source<'_>>, room: &Room, entries: &SyncSender<Entry<'a>>) {
        while let Some(work) = self.claim(source, room, entries) {
            let mut take = |block| work.blocks.send(block).map_err(|_| Stopped);
            let read = self.read(work.chunk, work.place, work.passing, &mut take);
            if read.is_err() {
                return;
            }
        }
    }

    /// Takes the next chunk, and its place in the queue; `None` if there is none to be read.
    fn claim<'r>(
        &mut self,
        source: &Mutex<Source<'_>>,
        room: &'r Room,
        entries: &SyncSender<Entry<'a>>,
    ) -> Option<Work<'r, 'a>> {
        let mut source = source.lock().ok()?;
        loop {
            let entry = match source.next() {
                Ok(Some(Next::Chunk(header))) => {
                    let held = room.hold(source.size(&header));
                    match source.read(&header, std::mem::take(&mut self.memory)) {
                        Ok((chunk, place, passing)) => {
                            let (blocks, taken) = sync_channel(BLOCKS);
                            entries.send(Entry::Chunk(place, taken)).ok()?;
                            return Some(Work {
                                chunk,
                                place,
                                passing,
                                blocks,
                                _held: held,
                            });
                        }
                        Err(error) => Entry::Failed(error),
                    }
                }
                Ok(Some(Next::NotAChunk(offset))) => Entry::NotAChunk(offset),
                Ok(Some(Next::End)) => Entry::End,
                Ok(None) => return None,
                Err(error) => Entry::Failed(error),
            };
            let failed = matches!(entry, Entry::Failed(_));
            entries.send(entry).ok()?;
            if failed {
                return None;
            }
        }
    }
}

/// Bytes of the chunks that are being read.
#[derive(Default)]
struct Room {
    bytes: Mutex<u64>,
    left: Condvar,
}

/// Room that a chunk takes, until this is dropped.
struct Held<'r>(&'r Room, u64);

impl Room {
    /// Waits until there is room.
    fn hold(&self, bytes: u64) -> Held<'_> {
        let mut held = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while *held > 0 && *held + bytes > CHUNK_BYTES {
            held = self.left.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        *held += bytes;
        Held(self, bytes)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let bytes = self.0.bytes.lock();
        *bytes.unwrap_or_else(PoisonError::into_inner) -= self.1;
        self.0.left.notify_all();
    }
}
