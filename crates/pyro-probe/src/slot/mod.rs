//! Context slots: what each thread of an observed process works for, as the process itself says
//! (docs/reference/context-slot.md).
//!
//! Read with `pread`, not through a mapping: whatever happens to a file, a reading is short at worst.

mod context;
mod file;

use std::fs;
use std::path::{Path, PathBuf};

pub use context::Context;
use file::{Phase, Record, SlotFile};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::sys::Changes;

/// Begin of a file's name; the process id follows.
pub const PREFIX: &str = "context-";

/// Place of a record: file and slot.
type Place = (usize, usize);

/// All context slots of a run on this host.
#[derive(Debug)]
pub struct Slots {
    folder: PathBuf,
    /// Tells when names come and go there.
    changes: Changes,
    looked: bool,
    files: Vec<SlotFile>,
    threads: FxHashMap<i32, Place>,
    workers: FxHashMap<i32, Place>,
    tasks: FxHashMap<(i32, i64), Place>,
    /// Files that were read so far.
    seen: u64,
    /// Names of such files that hold something else.
    refused: u64,
    /// Readings that found a record being written, twice.
    torn: u64,
    /// Threads of files closed by now that found no slot.
    overflow: u64,
}

impl Slots {
    /// Slots of the files `context-<pid>` in a folder, now or later.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            changes: Changes::of(folder),
            looked: false,
            files: Vec::new(),
            threads: FxHashMap::default(),
            workers: FxHashMap::default(),
            tasks: FxHashMap::default(),
            seen: 0,
            refused: 0,
            torn: 0,
            overflow: 0,
        }
    }

    /// Finds all slots in use: to be called at the begin of every pass.
    pub fn refresh(&mut self) {
        if self.changes.any() || !self.looked {
            self.looked = true;
            self.look();
        }
        self.threads.clear();
        self.workers.clear();
        self.tasks.clear();
        for (number, file) in self.files.iter_mut().enumerate() {
            file.refresh();
            for slot in 0..file.slots() {
                let Some(record) = file.record(1 + slot) else {
                    continue;
                };
                let place = (number, slot);
                match record.phase() {
                    Some(Phase::Worker) => self.workers.insert(record.tid(), place),
                    Some(Phase::Task) => {
                        self.tasks.insert((file.pid, record.task()), place);
                        self.threads.insert(record.tid(), place)
                    }
                    Some(Phase::Driver) => self.threads.insert(record.tid(), place),
                    None => None,
                };
            }
        }
    }

    /// What a thread works for at this moment; `None` if for nothing, or if it does not say.
    pub fn context(&mut self, pid: i32, tid: i32) -> Option<Context> {
        if let Some(&place) = self.threads.get(&tid)
            && self.files[place.0].pid == pid
        {
            let record = self.record_now(place)?;
            return (record.tid() == tid && record.phase()? != Phase::Worker)
                .then(|| record.context());
        }
        let &place = self.workers.get(&pid)?;
        let worker = self.record_now(place)?;
        if worker.tid() != pid || worker.phase()? != Phase::Worker {
            return None;
        }
        // The task may have ended since it gave the worker something to do.
        let (parent, task) = (self.files[place.0].parent, worker.task());
        let &place = self.tasks.get(&(parent, task))?;
        let driven_by = self.record_now(place)?;
        (driven_by.task() == task && driven_by.phase()? == Phase::Task).then(|| Context {
            sequence: worker.sequence(),
            ..driven_by.context()
        })
    }

    /// What a report says of them.
    pub fn to_json(&self) -> Value {
        json!({
            "files_count": self.seen,
            "refused_count": self.refused,
            "torn_count": self.torn,
            "without_slot_count": self.overflow(),
        })
    }

    /// Threads that found no slot free.
    fn overflow(&self) -> u64 {
        let open: i64 = self.files.iter().map(|file| file.overflow).sum();
        self.overflow + open as u64
    }

    /// Removes all files and what links to them: the run is over. A process that still runs may go on
    /// writing to what has no name any more; one that was killed could not remove its own.
    pub fn remove(&mut self) {
        self.remove_of(|_| true);
    }

    /// The same of processes that have ended: the run goes on, and another may read the others.
    pub fn remove_ended(&mut self) {
        // One that has ended and was not waited for yet has no command line.
        let words = |pid: i32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        self.remove_of(|pid| words(pid).is_empty());
    }

    fn remove_of(&mut self, whose: impl Fn(i32) -> bool) {
        let open = self.files.drain(..).map(|file| (file.pid, file.target));
        let linked: Vec<_> = open.filter(|(pid, _)| whose(*pid)).collect();
        let linked = linked.into_iter();
        let mut named = self.named();
        named.retain(|(pid, _)| whose(*pid));
        let more = named
            .iter()
            .filter_map(|(pid, path)| Some((*pid, fs::read_link(path).ok()?)));
        for (pid, target) in linked.chain(more) {
            // Others may write into the folder: a link there may lead to any file.
            let name = target.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.ends_with(&format!("{PREFIX}{pid}"))) {
                remove(&target);
            }
        }
        named.iter().for_each(|(_, path)| remove(path));
    }

    fn record_now(&mut self, (number, slot): Place) -> Option<Record> {
        let record = self.files[number].record_now(slot);
        self.torn += u64::from(record.is_none());
        record
    }

    /// Opens files that are new, and closes those of processes that ended.
    fn look(&mut self) {
        let overflow = &mut self.overflow;
        self.files.retain(|file| {
            let alive = is_alive(file.pid);
            *overflow += if alive { 0 } else { file.overflow as u64 };
            alive
        });
        self.refused = 0;
        for (pid, path) in self.named() {
            if self.files.iter().any(|file| file.pid == pid) || !is_alive(pid) {
                continue;
            }
            match SlotFile::open(pid, &path) {
                Ok(file) => {
                    self.files.push(file);
                    self.seen += 1;
                }
                Err(_) => self.refused += 1,
            }
        }
    }

    /// Files by their names: process and path.
    fn named(&self) -> Vec<(i32, PathBuf)> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        names
            .filter_map(|entry| {
                let pid = entry.file_name().to_str()?.strip_prefix(PREFIX)?.parse();
                Some((pid.ok()?, entry.path()))
            })
            .collect()
    }
}

fn is_alive(pid: i32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

fn remove(path: &Path) {
    // What is not there any more, its process has removed.
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests;
