//! A look at one file: whether it is the one that was known, and what is whole behind the last place.

use std::io;

use pyro_chunks::{At, Cut, Kind, cut, kind_of};

use crate::ship::ports::{Files, Seen};
use crate::ship::progress::{MAX_PIECE_BYTES, Progress};

/// Enough of a recording to see whether its writer has closed the next chunk.
const CHUNK_HEAD_BYTES: usize = 68;

/// The progress of the file that has this name now, and the bytes that waited of one before it: they are lost.
pub fn current(files: &mut impl Files, known: Option<Progress>, file: &Seen) -> (Progress, u64) {
    let (generation, lost_bytes) = match known {
        Some(progress) if kind_of(&file.name) == Kind::Whole => return (progress, 0),
        // More is given back than it says was shipped where a host lost power and woke up with an older record.
        Some(progress)
            if progress.inode == file.inode
                && progress.taken_to <= file.length
                && files.freed_bytes(file) <= progress.shipped_to() =>
        {
            return (progress, 0);
        }
        Some(before) => (before.generation.saturating_add(1), before.waiting_bytes()),
        None => (0, 0),
    };
    let mut progress = Progress::begin(file.inode, generation);
    // What an earlier life of ours gave back to the disk cannot be shipped once more.
    let freed = files.freed_bytes(file).min(file.length);
    if freed > 0 {
        // Behind the rest of a line that was cut in two lines begin again; of others nobody knows.
        let then = match kind_of(&file.name) {
            Kind::Lines => At::Line,
            _ => At::Unknown,
        };
        progress.drop_cut(Cut {
            length: freed as usize,
            then,
        });
    }
    (progress, lost_bytes)
}

/// Where to cut the file next, and in `window` what is before that place.
///
/// # Errors
/// If it cannot be read.
pub fn next_cut(
    files: &mut impl Files,
    file: &Seen,
    progress: &Progress,
    window: &mut Vec<u8>,
    ended: bool,
) -> io::Result<Cut> {
    let (kind, at, from) = (kind_of(&file.name), progress.at, progress.taken_to);
    let available = file.length.saturating_sub(from);
    let length = available.min(MAX_PIECE_BYTES as u64) as usize;
    // A chunk that is still open is not read over and over again.
    if kind == Kind::Recording && at == At::Start && !ended && length > CHUNK_HEAD_BYTES {
        files.read(file, from, CHUNK_HEAD_BYTES, window)?;
        let head = cut(kind, at, window, available, false);
        if head.length == 0 {
            return Ok(head);
        }
    }
    files.read(file, from, length, window)?;
    Ok(cut(kind, at, window, available, ended))
}
