//! The shipper of one raw folder.

use std::collections::BTreeMap;
use std::{io, mem};

use pyro_chunks::{Cut, Kind, MAX_PAYLOAD_BYTES, Source, kind_of};

use crate::ship::backoff::Backoff;
use crate::ship::look::{current, next_cut};
use crate::ship::ports::{Clock, Files, Keep, Seen, Store};
use crate::ship::progress::{MAX_PIECE_BYTES, Progress};
use crate::ship::report::{Report, Round};
use crate::ship::spool::admits;
use crate::ship::state::{MAX_FILES, State};

/// Blocks are given back in whole pages.
pub const PAGE_BYTES: u64 = 4096;

const _: () = assert!(MAX_PIECE_BYTES <= MAX_PAYLOAD_BYTES);

/// How to ship.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes that wait for the store at most.
    pub spool_bytes: u64,
    /// Give the disk back what has been shipped.
    pub free: bool,
    /// A round puts for no longer, so that what is appended meanwhile is looked at.
    pub round_ns: i64,
    /// Differs between hosts.
    pub seed: u64,
}

/// Ships one folder.
pub struct Shipper<F, S, K, C> {
    pub(super) files: F,
    pub(super) store: S,
    pub(super) keep: K,
    pub(super) clock: C,
    pub(super) options: Options,
    pub(super) state: State,
    pub(super) saved: String,
    pub(super) backoff: Backoff,
    /// Attempts at the first piece of a file that failed in a row.
    pub(super) failures: BTreeMap<String, u32>,
    /// What the disk may have back once the state is saved.
    pub(super) to_free: Vec<(Seen, u64, u64)>,
    pub(super) window: Vec<u8>,
    /// A file could not be read in this round.
    pub(super) unread: bool,
    pub(super) report: Report,
}

impl<F: Files, S: Store, K: Keep, C: Clock> Shipper<F, S, K, C> {
    /// Goes on where the last shipper of this folder ended, or was killed. `source` counts where there was none: its
    /// attempt is that of the state otherwise.
    ///
    /// # Errors
    /// If the folder is shipped under another name, or its state cannot be read.
    pub fn begin(
        files: F,
        store: S,
        mut keep: K,
        clock: C,
        source: Source,
        options: Options,
    ) -> Result<Self, String> {
        let kept = keep.load().map_err(|error| error.to_string())?;
        let state = match kept {
            None => State::begin(source),
            Some(text) => {
                let state = State::parse(&text)
                    .ok_or("the record of what was shipped of this folder cannot be read")?;
                let was = &state.source;
                if (&was.app, &was.executor, &was.host)
                    != (&source.app, &source.executor, &source.host)
                {
                    return Err(format!(
                        "this folder is shipped as {} {} of {}",
                        was.app, was.executor, was.host
                    ));
                }
                state
            }
        };
        let backoff = Backoff::new(options.seed);
        Ok(Self {
            files,
            store,
            keep,
            clock,
            options,
            state,
            saved: String::new(),
            backoff,
            failures: BTreeMap::new(),
            to_free: Vec::new(),
            window: Vec::new(),
            unread: false,
            report: Report::default(),
        })
    }

    /// Takes what was appended, and puts what waits. With `ended` nobody writes any more: what is not whole
    /// is taken too.
    pub fn round(&mut self, ended: bool) -> Round {
        let until_ns = self.clock.mono_ns().saturating_add(self.options.round_ns);
        self.unread = false;
        let seen = self.files.list().map(|seen| self.look(seen, ended));
        let seen = seen.inspect_err(|error| self.report.last_problem = Some(error.to_string()));
        // Files that cannot be listed for once are not gone.
        let due = seen.is_ok() && self.backoff.is_due(self.clock.mono_ns());
        if due {
            self.mark_tried();
        }
        // What may be put is known before it is put: a piece is never cut anew under a number that the store may have.
        let is_known = self.remember();
        if let (true, true, Ok(seen)) = (due, is_known, &seen) {
            let probing = self.backoff.failures() > 0;
            if self.put_all(seen, until_ns) && probing {
                self.mark_tried();
                if self.remember() {
                    self.put_all(seen, until_ns);
                }
            }
        }
        let waiting = self.state.files.values().any(|file| !file.queue.is_empty());
        let unsaved = !(if ended { self.remember() } else { is_known });
        let unread = self.unread || seen.is_err();
        Round {
            waiting,
            unread,
            unsaved,
        }
    }

    /// The next round asks the store also where it would be left alone: there may be no later one.
    pub fn hurry(&mut self) {
        self.backoff.hurry();
    }

    /// From now on so many bytes wait at most.
    pub fn bound(&mut self, spool_bytes: u64) {
        self.options.spool_bytes = spool_bytes;
    }

    /// Figures as of now.
    pub fn report(&self) -> Report {
        let pieces = self.state.files.values().flat_map(|file| &file.queue);
        Report {
            waiting_bytes: self.state.waiting_bytes(),
            oldest_wall_ns: pieces.map(|piece| piece.cut_wall_ns).min(),
            dropped_bytes: self.state.dropped_bytes(),
            lost_bytes: self.state.lost_bytes,
            files_count: self.state.files.len() as u64,
            ..self.report.clone()
        }
    }

    /// Whose streams these are.
    pub fn source(&self) -> &Source {
        &self.state.source
    }

    /// Looks at every file; returns those that are followed by their names.
    fn look(&mut self, seen: Vec<Seen>, ended: bool) -> BTreeMap<String, Seen> {
        let mut followed = BTreeMap::new();
        let mut left_out = 0;
        let files_count = seen.len();
        // When nobody writes any more the disk fills no further: what is there is spool enough.
        let bound = if ended {
            u64::MAX
        } else {
            self.options.spool_bytes
        };
        for file in seen {
            let files = &self.state.files;
            if !files.contains_key(&file.name) && files.len() >= MAX_FILES {
                left_out += 1;
                continue;
            }
            let known = self.state.files.remove(&file.name);
            let (mut progress, lost_bytes) = current(&mut self.files, known, &file);
            self.state.lost_bytes += lost_bytes;
            let ended = ended || file.gone;
            if kind_of(&file.name) != Kind::Whole {
                self.take(&file, &mut progress, (files_count, bound), ended);
            } else if file.length > MAX_PIECE_BYTES as u64 {
                left_out += 1;
            } else {
                let version = (file.length, file.modified_ns);
                if progress.version != Some(version) || (ended && !progress.ended) {
                    progress.take_version(version, ended, self.clock.wall_ns());
                }
            }
            if file.gone && progress.ended && progress.queue.is_empty() {
                self.files.release(&file);
            }
            self.state.files.insert(file.name.clone(), progress);
            followed.insert(file.name.clone(), file);
        }
        self.report.files_left_out_count = left_out + self.files.unopened_count();
        followed
    }

    /// Takes or drops what is whole behind the last place.
    fn take(
        &mut self,
        file: &Seen,
        progress: &mut Progress,
        (files, bound): (usize, u64),
        ended: bool,
    ) {
        let before = progress.taken_to;
        while progress.taken_to < file.length {
            let available = file.length - progress.taken_to;
            let window = &mut self.window;
            let cut = match next_cut(&mut self.files, file, progress, window, ended) {
                Ok(cut) => cut,
                Err(error) => {
                    self.report.last_problem = Some(format!("{}: {error}", file.name));
                    self.unread = true;
                    return;
                }
            };
            if cut.length == 0 {
                break;
            }
            let own = progress.waiting_bytes();
            let total = self.state.waiting_bytes() + own;
            if admits(total, own, files, bound) {
                let last = ended && cut.length as u64 == available;
                progress.take(cut, last, self.clock.wall_ns());
            } else {
                progress.drop_cut(cut);
            }
        }
        if ended && !progress.ended {
            let then = progress.at;
            progress.take(Cut { length: 0, then }, true, self.clock.wall_ns());
        }
        let gap_from = before.max(progress.taken_to - progress.skipped_bytes);
        if gap_from < progress.taken_to {
            self.to_free
                .push((file.clone(), gap_from, progress.taken_to));
        }
    }

    /// Marks what this round may put: all, or one piece to see whether the store is back.
    fn mark_tried(&mut self) {
        let all = self.backoff.failures() == 0;
        for file in self.state.files.values_mut() {
            let pieces = if all { file.queue.len() } else { 1 };
            for piece in file.queue.iter_mut().take(pieces) {
                piece.tried = true;
            }
        }
    }

    /// Saves the state, and gives back what it says arrived; whether what it says is safe now.
    fn remember(&mut self) -> bool {
        let text = self.state.text();
        if text != self.saved {
            if let Err(error) = self.keep.save(&text) {
                self.report.last_problem = Some(error.to_string());
                // Without its folder nobody goes on from there: nothing is cut anew.
                return error.kind() == io::ErrorKind::NotFound;
            }
            self.saved = text;
        }
        self.free();
        true
    }

    /// Gives the disk back what the saved state says nobody needs.
    fn free(&mut self) {
        for (file, from, to) in mem::take(&mut self.to_free) {
            if !self.options.free {
                continue;
            }
            let (from, to) = (
                from.next_multiple_of(PAGE_BYTES),
                to / PAGE_BYTES * PAGE_BYTES,
            );
            if from < to
                && let Err(error) = self.files.free(&file, from, to)
                // One that was removed has given back everything.
                && error.kind() != io::ErrorKind::NotFound
            {
                self.report.last_problem = Some(format!("{}: {error}", file.name));
            }
        }
    }
}
