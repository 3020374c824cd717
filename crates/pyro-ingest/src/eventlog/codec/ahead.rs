//! Reading and decompressing on a thread of its own, beside whoever takes the bytes.

use std::io::{self, Read};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Bytes of a block: it stays in the cache of a core until it was taken.
const BLOCK: usize = 256 << 10;
/// Blocks that may wait.
const WAITING: usize = 4;

/// A source that a thread reads ahead of; gives the same bytes, and then the same error.
pub struct Ahead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    /// Where blocks go that were taken.
    empty: SyncSender<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
    block: Vec<u8>,
    at: usize,
}

impl Ahead {
    /// Reads `source` on a thread; where none can be had, gives it back.
    ///
    /// # Errors
    /// The source, unread.
    pub fn new(source: Box<dyn Read + Send>) -> Result<Self, Box<dyn Read + Send>> {
        let (filled, blocks) = sync_channel(WAITING);
        let (empty, spare) = sync_channel(WAITING + 2);
        let (give, take) = sync_channel::<Box<dyn Read + Send>>(1);
        let thread = Builder::new().name("pyro-reader".to_owned());
        let work = move || {
            if let Ok(mut source) = take.recv() {
                read_all(&mut source, &filled, &spare);
            }
        };
        let Ok(thread) = thread.spawn(work) else {
            return Err(source);
        };
        give.send(source).map_err(|unsent| unsent.0)?;
        Ok(Self {
            blocks,
            empty,
            thread: Some(thread),
            block: Vec::new(),
            at: 0,
        })
    }
}

/// Reads to the end, or until nobody takes the blocks.
fn read_all(
    source: &mut impl Read,
    filled: &SyncSender<io::Result<Vec<u8>>>,
    spare: &Receiver<Vec<u8>>,
) {
    loop {
        let mut block = spare.try_recv().unwrap_or_else(|_| vec![0; BLOCK]);
        block.resize(BLOCK, 0);
        let (bytes, fault) = fill(source, &mut block);
        block.truncate(bytes);
        if filled.send(Ok(block)).is_err() || bytes == 0 && fault.is_none() {
            return;
        }
        if let Some(fault) = fault {
            let _ = filled.send(Err(fault));
            return;
        }
    }
}

/// Fills a block as far as the source goes; an empty one is its end.
fn fill(source: &mut impl Read, block: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut bytes = 0;
    while bytes < block.len() {
        match source.read(&mut block[bytes..]) {
            Ok(0) => break,
            Ok(more) => bytes += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (bytes, Some(error)),
        }
    }
    (bytes, None)
}

impl Read for Ahead {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            match self.blocks.recv() {
                Ok(block) => {
                    let block = block?;
                    let taken = std::mem::replace(&mut self.block, block);
                    self.at = 0;
                    // What there is no room for is not needed.
                    let _ = self.empty.try_send(taken);
                }
                Err(_) => {
                    let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
                    return ended.map_or_else(|panic| resume_unwind(panic), |()| Ok(0));
                }
            }
        }
        let bytes = buf.len().min(self.block.len() - self.at);
        buf[..bytes].copy_from_slice(&self.block[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives bytes in pieces, then an error.
    struct Faulty(io::Cursor<Vec<u8>>, usize, Option<io::ErrorKind>);

    impl Read for Faulty {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let most = buf.len().min(self.1);
            match (self.0.read(&mut buf[..most])?, self.2.take()) {
                (0, Some(kind)) => Err(kind.into()),
                (bytes, kind) => {
                    self.2 = kind;
                    Ok(bytes)
                }
            }
        }
    }

    fn ahead(source: impl Read + Send + 'static) -> Ahead {
        Ahead::new(Box::new(source)).unwrap_or_else(|_| panic!("no thread"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn bytes_and_errors_are_those_of_the_source(
            size in prop_oneof![0..9_usize, BLOCK - 2..BLOCK + 3, 0..3 * BLOCK],
            step in prop_oneof![1..5_usize, BLOCK - 1..2 * BLOCK].prop_map(|step| step.max(1)),
            faulty in any::<bool>(),
        ) {
            let bytes: Vec<u8> = (0..size).map(|at| (at * 7 + at / 251) as u8).collect();
            let fault = faulty.then_some(io::ErrorKind::InvalidData);
            let mut out = Vec::new();
            let step = step.max(size / 1000 + 1);
            let read = ahead(Faulty(io::Cursor::new(bytes.clone()), step, fault)).read_to_end(&mut out);
            prop_assert!(out == bytes);
            prop_assert_eq!(read.err().map(|error| error.kind()), fault);
        }
    }

    #[test]
    fn a_reader_that_is_dropped_ends_its_thread() {
        let mut source = ahead(io::repeat(1));
        let thread = source.thread.take().unwrap();
        let mut some = [0; 10];
        source.read_exact(&mut some).unwrap();
        drop(source);
        thread.join().unwrap();
    }

    #[test]
    #[should_panic(expected = "broken decoder")]
    fn a_panic_of_the_source_is_passed_on() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("broken decoder")
            }
        }
        let _ = ahead(Broken).read(&mut [0]);
    }
}
