//! What a shipper puts next, and what becomes of it.

use std::collections::BTreeMap;
use std::io;

use pyro_chunks::{Kind, chunk_key, encode, kind_of, stream_key};

use crate::ship::ports::{Clock, Files, Keep, Object, Seen, Store};
use crate::ship::progress::{MAX_PIECE_BYTES, Piece};
use crate::ship::shipper::{PAGE_BYTES, Shipper};

/// The first piece of a file, which is put.
struct Put {
    name: String,
    /// Bytes of the file in it, and of the object.
    length: u64,
    stored_bytes: u64,
}

impl<F: Files, S: Store, K: Keep, C: Clock> Shipper<F, S, K, C> {
    /// Puts what may be put; whether the store answers.
    pub(super) fn put_all(&mut self, seen: &BTreeMap<String, Seen>, until_ns: i64) -> bool {
        let (mut failed, mut answered) = (Vec::new(), false);
        // A second file shows whether it is the store or the first object that is at fault.
        while failed.len() < 2 {
            let names = self.next_of(&failed);
            if names.is_empty() {
                break;
            }
            let (mut puts, mut objects) = (Vec::new(), Vec::new());
            for name in names {
                match self.object(&name, seen.get(&name)) {
                    Ok(Some((put, object))) => {
                        puts.push(put);
                        objects.push(object);
                    }
                    Ok(None) => {}
                    Err(failure) => failed.push(self.failed(name, failure)),
                }
            }
            let answers = self.store.put_all(&objects);
            for (put, answer) in puts.into_iter().zip(answers) {
                match answer {
                    Ok(()) => {
                        answered = true;
                        self.arrived(&put, seen.get(&put.name));
                    }
                    Err(failure) => failed.push(self.failed(put.name, failure)),
                }
            }
            if self.clock.mono_ns() >= until_ns {
                break;
            }
        }
        let away = failed.len() >= 2 || !failed.is_empty() && !answered;
        if away {
            let now = self.clock.wall_ns();
            self.report.away_since_wall_ns.get_or_insert(now);
            self.backoff.failed(self.clock.mono_ns());
        }
        !away
    }

    /// The files whose first pieces are next: those that failed least, then the oldest.
    fn next_of(&self, failed: &[String]) -> Vec<String> {
        let files = self
            .state
            .files
            .iter()
            .filter(|(name, _)| !failed.contains(name));
        let pieces = files.filter_map(|(name, file)| Some((name, file.queue.front()?)));
        let mut ready: Vec<_> = pieces.filter(|(_, piece)| piece.tried).collect();
        let order = |(name, piece): &(&String, &Piece)| {
            let failures = self.failures.get(*name).copied().unwrap_or(0);
            (failures, piece.cut_wall_ns)
        };
        ready.sort_by_key(order);
        let next = ready.into_iter().take(self.store.at_once());
        next.map(|(name, _)| name.clone()).collect()
    }

    /// The object of the first piece of a file; `None` for one that cannot be read: it is lost.
    fn object(&mut self, name: &str, seen: Option<&Seen>) -> Result<Option<(Put, Object)>, String> {
        let Some(progress) = self.state.files.get_mut(name) else {
            return Ok(None);
        };
        let Some(piece) = progress.queue.front().cloned() else {
            return Ok(None);
        };
        let kind = kind_of(name);
        let length = match (kind, seen) {
            (Kind::Whole, Some(seen)) => seen.length,
            _ => piece.length,
        };
        let read = match seen {
            _ if length == 0 => {
                self.window.clear();
                Ok(())
            }
            // It was smaller when it was looked at.
            _ if length > MAX_PIECE_BYTES as u64 => Err(io::Error::other("too large by now")),
            Some(seen) => self
                .files
                .read(seen, piece.offset, length as usize, &mut self.window),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        if let Err(error) = read {
            self.report.last_problem = Some(format!("{name}: {error}"));
            self.state.lost_bytes += progress.lose_front();
            return Ok(None);
        }
        let source = &self.state.source;
        let header = progress.header(&piece, source, name, kind);
        let object = encode(&header, &self.window).map_err(|fault| fault.to_string())?;
        let stream = stream_key(source, name, progress.generation);
        let put = Put {
            name: name.to_owned(),
            length,
            stored_bytes: object.len() as u64,
        };
        Ok(Some((put, (chunk_key(&stream, piece.sequence), object))))
    }

    fn arrived(&mut self, put: &Put, seen: Option<&Seen>) {
        self.failures.remove(&put.name);
        self.backoff.succeeded();
        self.report.away_since_wall_ns = None;
        self.report.chunks_count += 1;
        self.report.payload_bytes += put.length;
        self.report.stored_bytes += put.stored_bytes;
        let Some(progress) = self.state.files.get_mut(&put.name) else {
            return;
        };
        progress.arrived();
        if self.options.free
            && let (Some(seen), true) = (seen, kind_of(&put.name) != Kind::Whole)
        {
            let (from, to) = (
                progress.freed_to,
                progress.shipped_to() / PAGE_BYTES * PAGE_BYTES,
            );
            progress.freed_to = progress.freed_to.max(to);
            self.to_free
                .extend((from < to).then(|| (seen.clone(), from, to)));
        }
    }

    /// Counts a failure; gives the file again.
    fn failed(&mut self, name: String, failure: String) -> String {
        self.report.failed_puts_count += 1;
        self.report.last_failure = Some(failure);
        *self.failures.entry(name.clone()).or_default() += 1;
        name
    }
}
