//! One stream: which bytes of each chunk become part of the file. Touches no file.

use std::ops::Range;

use crate::format::{Chunk, Fault};
use crate::header::Kind;
use crate::join::messages::Messages;
use crate::join::tally::Tally;

/// What to do with the file for a chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// Cut the file back to this length first.
    pub cut_to: Option<u64>,
    /// Then append these parts of the payload.
    pub keep: Vec<Range<usize>>,
}

/// Joins the chunks of one stream, given in the order of their numbers.
#[derive(Debug, Default)]
pub struct Joiner {
    kind: Option<Kind>,
    next: u64,
    /// Where in the file that was sent the next chunk should begin.
    position: u64,
    /// Length of the made file up to where the last whole unit ends.
    whole: u64,
    /// A gap was met, and no unit has begun behind it yet.
    in_gap: bool,
    /// What messages behind a gap need.
    messages: Messages,
    /// Figures so far.
    pub tally: Tally,
}

impl Joiner {
    /// Takes the chunk of this number, or what is wrong with it.
    pub fn take(&mut self, sequence: u64, chunk: Result<&Chunk, Fault>) -> Taken {
        self.tally.missing_count += sequence.saturating_sub(self.next);
        self.next = sequence.saturating_add(1);
        match chunk.and_then(|chunk| self.fits(sequence, chunk)) {
            Ok(chunk) => self.append(chunk),
            Err(fault) => {
                self.tally.damaged_count += 1;
                self.tally.damage.get_or_insert(fault.to_string());
                Taken::default()
            }
        }
    }

    fn fits<'a>(&mut self, sequence: u64, chunk: &'a Chunk) -> Result<&'a Chunk, Fault> {
        if chunk.header.sequence != sequence {
            return Err(Fault::Damaged("its name has another number"));
        }
        if *self.kind.get_or_insert(chunk.header.kind) != chunk.header.kind {
            return Err(Fault::Damaged("it is of another kind than those before"));
        }
        Ok(chunk)
    }

    fn append(&mut self, chunk: &Chunk) -> Taken {
        let (header, tally) = (&chunk.header, &mut self.tally);
        let length = chunk.payload.len() as u64;
        let end = header.offset.saturating_add(length);
        tally.chunks_count += 1;
        tally.ended = header.last;
        tally.last_wall_ns = Some(header.cut_wall_ns);
        let mut taken = Taken::default();
        if header.offset > self.position {
            let gap = header.offset - self.position;
            let dropped = gap.min(header.skipped_bytes);
            tally.dropped_bytes += dropped;
            tally.missing_bytes += gap - dropped;
            self.in_gap = true;
            self.messages.lost();
            let at = self.whole_or(header.kind);
            self.tally.gap_at_byte.get_or_insert(at);
        }
        let tally = &mut self.tally;
        let repeated = self.position.min(end).saturating_sub(header.offset);
        tally.repeated_bytes += repeated;
        let new = &chunk.payload[repeated as usize..];
        let begins_whole = header.begins_whole && repeated == 0;
        let is_messages = header.kind == Kind::Messages;
        if is_messages && begins_whole && header.offset == 0 {
            self.messages.begin(new);
        }
        self.position = self.position.max(end);
        let all = repeated as usize..chunk.payload.len();
        let mut keep = vec![all];
        let is_behind_a_gap = self.in_gap || self.messages.lack();
        let (mut resumes, mut ends_whole) =
            (header.kind.resumes() && begins_whole, header.ends_whole);
        if is_behind_a_gap && is_messages && resumes {
            let picked = self.messages.pick(new);
            resumes = picked.is_some();
            (keep, self.in_gap) = picked.unwrap_or_default();
            ends_whole = true;
        } else {
            self.in_gap &= !resumes;
        }
        if is_behind_a_gap && !resumes {
            self.in_gap = true;
            // What is left out may have had any dictionary, too.
            self.messages.lost();
            tally.left_out_bytes += new.len() as u64;
            return taken;
        }
        if is_behind_a_gap && tally.bytes_count > self.whole {
            tally.left_out_bytes += tally.bytes_count - self.whole;
            tally.bytes_count = self.whole;
            taken.cut_to = Some(self.whole);
        }
        if begins_whole {
            self.whole = tally.bytes_count;
        }
        let kept = keep.iter().map(|range| range.len() as u64).sum::<u64>();
        tally.bytes_count += kept;
        tally.left_out_bytes += new.len() as u64 - kept;
        if ends_whole {
            self.whole = tally.bytes_count;
        }
        taken.keep = keep;
        taken
    }

    /// Where a gap lies in the made file: behind the last whole unit, if what follows is used.
    fn whole_or(&self, kind: Kind) -> u64 {
        match kind.resumes() {
            true => self.whole,
            false => self.tally.bytes_count,
        }
    }
}

#[cfg(test)]
mod tests;
