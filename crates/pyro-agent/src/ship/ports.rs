//! What a shipper needs of the world.

use std::io;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A file of the raw folder as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its name in the folder, with `/` between folders.
    pub name: String,
    /// Tells it from another file of the same name.
    pub inode: u64,
    /// Bytes.
    pub length: u64,
    /// When it was written last, by its file system: ns.
    pub modified_ns: i64,
    /// It was removed; what it had can still be read.
    pub gone: bool,
}

/// The files that are shipped.
pub trait Files {
    /// Every file there is.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    fn list(&mut self) -> io::Result<Vec<Seen>>;

    /// Files of the last listing that could not be opened, and folders that could not be listed.
    fn unopened_count(&self) -> u64 {
        0
    }

    /// Fills `into` with `length` bytes from `offset` on.
    ///
    /// # Errors
    /// If it is another file now, shorter, or cannot be read.
    fn read(
        &mut self,
        file: &Seen,
        offset: u64,
        length: usize,
        into: &mut Vec<u8>,
    ) -> io::Result<()>;

    /// Gives the disk back what lies between two places: nobody reads it any more.
    ///
    /// # Errors
    /// If the file system cannot.
    fn free(&mut self, file: &Seen, from: u64, to: u64) -> io::Result<()>;

    /// Bytes at the beginning of a file that were given back.
    fn freed_bytes(&mut self, file: &Seen) -> u64;

    /// Nothing more is read of a file that is gone.
    fn release(&mut self, file: &Seen);
}

/// An object, and its name in a store.
pub type Object = (String, Vec<u8>);

/// Where chunks go.
pub trait Store {
    /// Puts an object under a name, in the place of one that is there: whole or not at all.
    ///
    /// # Errors
    /// Why nobody knows that it is there.
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String>;

    /// How many objects are best put at the same time.
    fn at_once(&self) -> usize {
        1
    }

    /// Puts objects of different names at the same time; answers in their order, as [`Store::put`] gives them.
    fn put_all(&mut self, objects: &[Object]) -> Vec<Result<(), String>> {
        let put = |(key, object): &Object| self.put(key, object);
        objects.iter().map(put).collect()
    }
}

impl Store for Box<dyn Store + Send> {
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String> {
        (**self).put(key, object)
    }

    fn at_once(&self) -> usize {
        (**self).at_once()
    }

    fn put_all(&mut self, objects: &[Object]) -> Vec<Result<(), String>> {
        (**self).put_all(objects)
    }
}

/// What a shipper remembers when it is killed.
pub trait Keep {
    /// What was saved last.
    ///
    /// # Errors
    /// If it cannot be read.
    fn load(&mut self) -> io::Result<Option<String>>;

    /// Saves a text in the place of the last one: whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written; `NotFound` where its folder is gone.
    fn save(&mut self, text: &str) -> io::Result<()>;
}

/// Time.
pub trait Clock {
    /// A clock that never goes back, ns.
    fn mono_ns(&self) -> i64;
    /// Unix time, ns.
    fn wall_ns(&self) -> i64;
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn mono_ns(&self) -> i64 {
        i64::try_from(self.0.elapsed().as_nanos()).unwrap_or(i64::MAX)
    }

    fn wall_ns(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
        })
    }
}
