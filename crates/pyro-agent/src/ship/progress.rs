//! How far one file has been shipped.

use std::collections::VecDeque;

use pyro_chunks::{At, Cut, Header, Kind, Source};
use serde::{Deserialize, Serialize};

/// Most bytes of a chunk's payload.
pub const MAX_PIECE_BYTES: usize = 4 << 20;

/// Larger numbers are no places in a file, and sums of this many stay numbers.
pub const MOST: u64 = 1 << 50;

/// A piece of a file that becomes one chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Number of the chunk.
    pub sequence: u64,
    /// Where it begins.
    pub offset: u64,
    /// Bytes; of a file that is replaced, not known before it is read.
    pub length: u64,
    /// Bytes right before it that were dropped.
    pub skipped_bytes: u64,
    /// A unit begins where it begins.
    pub begins_whole: bool,
    /// A unit ends where it ends.
    pub ends_whole: bool,
    /// The stream ended with it.
    pub last: bool,
    /// When it was cut: Unix time, ns.
    pub cut_wall_ns: i64,
    /// The store may have it already: it is put again as it is, or not at all.
    pub tried: bool,
}

/// How far a file has been shipped, and what waits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Of the file.
    pub inode: u64,
    /// How often a file of this name was begun anew before.
    pub generation: u32,
    /// Up to here bytes are shipped, wait, or were dropped.
    pub taken_to: u64,
    /// What that place lies in.
    pub at: At,
    /// Number of the next piece.
    pub next: u64,
    /// Dropped right before `taken_to`; the next piece says so.
    pub skipped_bytes: u64,
    /// Dropped in all.
    pub dropped_bytes: u64,
    /// Up to here the disk has its blocks back.
    pub freed_to: u64,
    /// Length and time of the version that was taken last, of a file that is replaced.
    pub version: Option<(u64, i64)>,
    /// The last piece was the end of the stream.
    pub ended: bool,
    /// What waits for the store, in order.
    pub queue: VecDeque<Piece>,
}

impl Progress {
    /// Nothing of the file is shipped yet.
    pub fn begin(inode: u64, generation: u32) -> Self {
        Self {
            inode,
            generation,
            ..Self::default()
        }
    }

    /// Whether this program can have written it: whoever else writes into the folder may have made it up.
    pub fn is_sound(&self) -> bool {
        let largest = self.taken_to.max(self.next).max(self.dropped_bytes);
        if largest > MOST || self.freed_to > self.taken_to {
            return false;
        }
        // One behind the other, with what was dropped between them.
        let mut end = 0;
        for piece in &self.queue {
            let from = piece.offset.checked_sub(piece.skipped_bytes);
            if from.is_none_or(|from| from < end)
                || piece.offset > self.taken_to
                || piece.length > MAX_PIECE_BYTES as u64
                || piece.sequence >= self.next
            {
                return false;
            }
            end = piece.offset + piece.length;
        }
        self.skipped_bytes <= MOST && end + self.skipped_bytes <= self.taken_to
    }

    /// Bytes that wait.
    pub fn waiting_bytes(&self) -> u64 {
        self.queue.iter().map(|piece| piece.length).sum()
    }

    /// Up to here nobody reads the file any more.
    pub fn shipped_to(&self) -> u64 {
        let front = self.queue.front();
        front.map_or(self.taken_to, |piece| piece.offset)
    }

    /// Takes what was cut off behind `taken_to`: it waits from now on.
    pub fn take(&mut self, cut: Cut, ended: bool, wall_ns: i64) {
        let (length, ends_whole) = (cut.length as u64, cut.then == At::Start);
        self.ended = ended;
        let extended = self.queue.back_mut().filter(|piece| {
            !piece.tried
                && self.skipped_bytes == 0
                && piece.length + length <= MAX_PIECE_BYTES as u64
        });
        match extended {
            Some(piece) => {
                piece.length += length;
                piece.ends_whole = ends_whole;
                piece.last = ended;
            }
            None => {
                self.queue.push_back(Piece {
                    sequence: self.next,
                    offset: self.taken_to,
                    length,
                    skipped_bytes: std::mem::take(&mut self.skipped_bytes),
                    begins_whole: self.at == At::Start,
                    ends_whole,
                    last: ended,
                    cut_wall_ns: wall_ns,
                    tried: false,
                });
                self.next += 1;
            }
        }
        self.taken_to += length;
        self.at = cut.then;
    }

    /// Drops what was cut off behind `taken_to`.
    pub fn drop_cut(&mut self, cut: Cut) {
        let length = cut.length as u64;
        self.skipped_bytes += length;
        self.dropped_bytes += length;
        self.taken_to += length;
        self.at = cut.then;
    }

    /// Has a file that is replaced wait for the store, unless it does already.
    pub fn take_version(&mut self, version: (u64, i64), ended: bool, wall_ns: i64) {
        self.version = Some(version);
        self.ended = ended;
        match self.queue.front_mut() {
            Some(piece) => piece.last = ended,
            None => {
                self.queue.push_back(Piece {
                    sequence: self.next,
                    offset: 0,
                    length: 0,
                    skipped_bytes: 0,
                    begins_whole: true,
                    ends_whole: true,
                    last: ended,
                    cut_wall_ns: wall_ns,
                    tried: false,
                });
                self.next += 1;
            }
        }
    }

    /// The first piece is in the store.
    pub fn arrived(&mut self) {
        self.queue.pop_front();
    }

    /// The first piece cannot be read any more: the next one says that it is missing. Returns its bytes.
    pub fn lose_front(&mut self) -> u64 {
        let Some(lost) = self.queue.pop_front() else {
            return 0;
        };
        let bytes = lost.skipped_bytes + lost.length;
        match self.queue.front_mut() {
            Some(next) => next.skipped_bytes += bytes,
            None => self.skipped_bytes += bytes,
        }
        lost.length
    }

    /// The header of the first piece.
    pub fn header(&self, piece: &Piece, source: &Source, file: &str, kind: Kind) -> Header {
        Header {
            source: source.clone(),
            file: file.to_owned(),
            generation: self.generation,
            kind,
            sequence: piece.sequence,
            offset: piece.offset,
            length: piece.length,
            skipped_bytes: piece.skipped_bytes,
            begins_whole: piece.begins_whole,
            ends_whole: piece.ends_whole,
            last: piece.last,
            cut_wall_ns: piece.cut_wall_ns,
            zstd: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(length: usize) -> Cut {
        Cut {
            length,
            then: At::Start,
        }
    }

    #[test]
    fn pieces_grow_until_they_were_tried() {
        let mut progress = Progress::begin(1, 0);
        progress.take(cut(10), false, 1);
        progress.take(cut(5), false, 2);
        assert_eq!((progress.queue.len(), progress.waiting_bytes()), (1, 15));
        progress.queue[0].tried = true;
        progress.take(cut(7), false, 3);
        assert_eq!(progress.queue.len(), 2);
        let second = &progress.queue[1];
        assert_eq!((second.sequence, second.offset, second.length), (1, 15, 7));
        assert_eq!(progress.queue[0].length, 15);
        progress.take(cut(MAX_PIECE_BYTES), true, 4);
        assert!(progress.queue.len() == 3 && progress.queue[2].last);
        progress.arrived();
        assert_eq!(progress.shipped_to(), 15);
    }

    #[test]
    fn what_was_dropped_is_told_by_the_next_piece() {
        let mut progress = Progress::begin(1, 0);
        progress.take(cut(10), false, 1);
        progress.drop_cut(cut(100));
        progress.drop_cut(cut(20));
        progress.take(cut(5), false, 2);
        let piece = &progress.queue[1];
        assert_eq!((piece.offset, piece.skipped_bytes), (130, 120));
        assert_eq!((progress.dropped_bytes, progress.skipped_bytes), (120, 0));
        assert_eq!(progress.lose_front(), 10);
        assert_eq!(progress.queue[0].skipped_bytes, 130);
        assert_eq!(progress.lose_front(), 5);
        assert_eq!(progress.skipped_bytes, 135);
    }
}
