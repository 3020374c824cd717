//! Profiles that other tools made → tables `samples`, `stacks`, `frames`.
//!
//! What a format does not tell (host, times, tasks) is null. Values keep their unit; units of
//! time become nanoseconds. JFR recordings are read by [`crate::jfr`].

mod names;
mod pprof;
mod speedscope;
mod wire;

use std::io::Read;
use std::path::Path;

use pyro_model::{Error, Result};

pub use pprof::import_pprof;
pub use speedscope::import_speedscope;

/// Most bytes that a profile may have when decompressed: its formats are read as a whole.
const MAX_BYTES: u64 = 2 << 30;

/// Reads a file as a whole, decompressed if it is gzip.
fn read_whole(path: &str) -> Result<Vec<u8>> {
    let io = |error| Error::io(path, error);
    let mut file = std::fs::File::open(path).map_err(io)?;
    let mut magic = [0; 2];
    let is_gzip = file.read(&mut magic).map_err(io)? == 2 && magic == [0x1f, 0x8b];
    std::io::Seek::rewind(&mut file).map_err(io)?;
    let mut bytes = Vec::new();
    if is_gzip {
        let mut plain = flate2::read::MultiGzDecoder::new(std::io::BufReader::new(file));
        let read = plain.by_ref().take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| {
            let at = bytes.len();
            Error::Input(format!(
                "{path}: gzip breaks off or is damaged after {at} decompressed bytes ({error}); copy it again"
            ))
        })?;
    } else {
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(io)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::Input(format!(
            "{path}: more than {} GiB decompressed; split it, or export folded stacks instead",
            MAX_BYTES >> 30
        )));
    }
    Ok(bytes)
}

/// The last part of a path, as profiles name libraries.
fn base_name(path: &str) -> &str {
    Path::new(path)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(path)
}

#[cfg(test)]
mod tests;
