//! Whole files, in memory.

use std::io::Read;

use pyro_model::{Error, Result};

/// Most bytes that a profile may have when decompressed: its formats are read as a whole.
const MAX_BYTES: u64 = 2 << 30;

/// Reads a file as a whole, decompressed if it is gzip.
pub fn read_whole(path: &str) -> Result<Vec<u8>> {
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
