//! Files that are read to the end, unless the caller wants to stop.

use std::fs::File;
use std::io::{self, Read};

use pyro_model::{Error, Result};
use pyro_stacks::folded::Problem;

/// Asks now and then whether to go on.
pub(super) struct Watched<'a> {
    file: File,
    go_on: &'a mut dyn FnMut() -> bool,
    stopped: bool,
}

impl<'a> Watched<'a> {
    /// Opens a file.
    pub fn open(path: &str, go_on: &'a mut dyn FnMut() -> bool) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        Ok(Self {
            file,
            go_on,
            stopped: false,
        })
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stopped || !(self.go_on)() {
            self.stopped = true;
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}

/// A problem as an error that names the file.
pub(super) fn error(path: &str, problem: Problem) -> Error {
    match problem {
        Problem::Io(error) if error.kind() == io::ErrorKind::Other => Error::Interrupted,
        Problem::Io(error) => Error::io(path, error),
        Problem::Line { .. } => Error::Input(format!("{path}: {problem}")),
    }
}
