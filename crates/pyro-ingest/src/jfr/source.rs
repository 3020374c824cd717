//! Chunks of recordings, in the order of the files.

use std::fs::File;
use std::io::BufReader;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use pyro_model::{Error, Result};

use super::chunk::{self, Chunk, ChunkError, Header};
use super::output::Stopped;
use super::settings::{Said, Settings};

/// What comes next.
pub enum Next {
    /// A chunk, whose header was read.
    Chunk(Header),
    /// Bytes at this offset that are no chunk: the rest of the file is left out.
    NotAChunk(u64),
    /// The end of a recording.
    End,
}

/// Where a chunk is.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Number of the recording.
    pub recording: usize,
    /// Offset in its file.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// The writer closed it.
    pub complete: bool,
}

/// What a recording says of itself, passed on from chunk to chunk: rows depend on it.
pub struct Passing {
    before: Receiver<Settings>,
    after: SyncSender<Settings>,
}

impl Passing {
    /// Waits for what the chunks before say, adds what this one says and passes it on.
    ///
    /// # Errors
    /// If the chunk before was given up.
    pub fn learn(self, said: &[Said]) -> std::result::Result<Settings, Stopped> {
        let mut settings = self.before.recv().map_err(|_| Stopped)?;
        said.iter().for_each(|said| settings.learn(said));
        // The last chunk has nobody to pass it on to.
        let _ = self.after.send(settings.clone());
        Ok(settings)
    }
}

/// Chunks of files.
pub struct Source<'p> {
    paths: &'p [String],
    recording: usize,
    offset: u64,
    length: u64,
    input: Option<BufReader<File>>,
    /// The rest of the file is no recording.
    left_out: bool,
    known: Settings,
    settings: Receiver<Settings>,
}

impl<'p> Source<'p> {
    /// Chunks of the files at `paths`; `known` is what is known of each recording before.
    pub fn new(paths: &'p [String], known: Settings) -> Self {
        Self {
            paths,
            recording: 0,
            offset: 0,
            length: 0,
            input: None,
            left_out: false,
            settings: holding(&known),
            known,
        }
    }

    /// What comes next; `None` at the end of all files.
    ///
    /// # Errors
    /// If a file cannot be opened or read.
    pub fn next(&mut self) -> Result<Option<Next>> {
        let Some(path) = self.paths.get(self.recording) else {
            return Ok(None);
        };
        if self.left_out {
            return Ok(Some(self.end()));
        }
        let input = match &mut self.input {
            Some(input) => input,
            none => {
                let file = File::open(path).map_err(|error| Error::io(path, error))?;
                self.length = file.metadata().map_or(0, |about| about.len());
                none.insert(BufReader::new(file))
            }
        };
        Ok(Some(match chunk::begin(input) {
            Ok(Some(header)) => Next::Chunk(header),
            Ok(None) => self.end(),
            Err(ChunkError::NotAChunk) => {
                self.left_out = true;
                Next::NotAChunk(self.offset)
            }
            Err(ChunkError::Io(error)) => return Err(Error::io(path, error)),
        }))
    }

    fn end(&mut self) -> Next {
        self.recording += 1;
        self.offset = 0;
        self.input = None;
        self.left_out = false;
        self.settings = holding(&self.known);
        Next::End
    }

    /// Bytes that a chunk takes: no more than its file has.
    pub fn size(&self, header: &Header) -> u64 {
        header.size.min(self.length.saturating_sub(self.offset))
    }

    /// Reads the chunk of a header, into memory of another.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub fn read(&mut self, header: &Header, memory: Vec<u8>) -> Result<(Chunk, Place, Passing)> {
        let path = &self.paths[self.recording];
        let input = self.input.as_mut().expect("the header was read from it");
        let chunk = chunk::read(input, header, memory).map_err(|error| Error::io(path, error))?;
        let place = Place {
            recording: self.recording,
            offset: self.offset,
            bytes: chunk.bytes.len() as u64,
            complete: chunk.complete,
        };
        self.offset += place.bytes;
        let (after, settings) = sync_channel(1);
        let passing = Passing {
            before: std::mem::replace(&mut self.settings, settings),
            after,
        };
        Ok((chunk, place, passing))
    }
}

fn holding(known: &Settings) -> Receiver<Settings> {
    let (sender, receiver) = sync_channel(1);
    sender.send(known.clone()).expect("there is room for one");
    receiver
}
