//! The raw file of canaries: a line each, in the folder that is shipped.

use std::fs::File;
use std::io::{self, Write as _};

use pyro_chunks::part;
use rustix::fs::{Mode, OFlags, openat};

/// A folder has no more of them: a day of one a minute.
const MAX_BYTES: usize = 1 << 20;

/// The lines of one raw folder.
#[derive(Debug)]
pub struct Lines {
    file: File,
    bytes: usize,
    /// The last write ended within a line.
    is_torn: bool,
    left_out: u64,
}

impl Lines {
    /// Begins the file in a new folder.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn begin(folder: &File, host: &str) -> io::Result<Self> {
        let name = format!("canary-{}.ndjson", part(host));
        let how = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(folder, name, how, Mode::RUSR | Mode::WUSR)?;
        Ok(Self {
            file: file.into(),
            bytes: 0,
            is_torn: false,
            left_out: 0,
        })
    }

    /// Appends a line; one that is beyond the limit, or cannot be written, is left out and counted.
    pub fn append(&mut self, line: &str) {
        let text = match self.is_torn {
            true => format!("\n{line}\n"),
            false => format!("{line}\n"),
        };
        if self.bytes + text.len() > MAX_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += text.len();
        self.is_torn = self.file.write_all(text.as_bytes()).is_err();
        self.left_out += u64::from(self.is_torn);
    }

    /// Lines that were left out.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}
