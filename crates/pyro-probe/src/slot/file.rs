//! One file of context slots, and a record in it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::context::Context;
use crate::sys::open_regular;

/// Bytes of a record, and of the header before the first.
pub(super) const RECORD: usize = 128;
pub(super) const MAGIC: &[u8] = b"PYROCTX\x01";
pub(super) const RECORD_MAGIC: u32 = 0x5458_4350;
/// Slots of a file that are looked at; a file that claims more is none of ours.
pub(super) const MAX_SLOTS: usize = 4096;
/// Slots that are read beyond those known to be used, so that a new one costs no second reading.
const SPARE: usize = 4;

/// What a record says its thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Task,
    Driver,
    /// A whole process that works for a task of another process; which stage, that one knows.
    Worker,
}

/// One record as read: maybe while it was written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Record([u8; RECORD]);

impl Record {
    fn i32(&self, at: usize) -> i32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[at..at + 4]);
        i32::from_le_bytes(bytes)
    }

    fn i64(&self, at: usize) -> i64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[at..at + 8]);
        i64::from_le_bytes(bytes)
    }

    /// Not in the middle of being written.
    fn is_whole(&self) -> bool {
        self.sequence() & 1 == 0
    }

    pub(super) fn sequence(&self) -> i64 {
        self.i64(8)
    }

    pub(super) fn tid(&self) -> i32 {
        self.i32(16)
    }

    pub(super) fn task(&self) -> i64 {
        self.i64(32)
    }

    /// `None`: works for nothing, or is no record.
    pub(super) fn phase(&self) -> Option<Phase> {
        if self.i32(0) as u32 != RECORD_MAGIC || self.i32(4) != 1 {
            return None;
        }
        match self.i32(20) {
            1 => Some(Phase::Task),
            2 => Some(Phase::Driver),
            3 => Some(Phase::Worker),
            _ => None,
        }
    }

    pub(super) fn context(&self) -> Context {
        let known = |value: i64| (value >= 0).then_some(value);
        Context {
            sequence: self.sequence(),
            task_attempt_id: known(self.task()),
            stage_id: known(self.i32(40).into()),
            stage_attempt: (self.i32(44) >= 0).then_some(self.i32(44)),
            sql_id: known(self.i64(56)),
        }
    }
}

#[derive(Debug)]
pub(super) struct SlotFile {
    pub(super) pid: i32,
    /// Process that the workers of this file work for.
    pub(super) parent: i32,
    /// The file itself, where its name in the folder is a link.
    pub(super) target: PathBuf,
    file: File,
    /// Header and used slots as of the last refresh.
    bytes: Vec<u8>,
    pub(super) overflow: i64,
}

impl SlotFile {
    pub(super) fn open(pid: i32, path: &Path) -> io::Result<Self> {
        let no_file = || io::Error::other("not a file of context slots");
        let mut file = Self {
            pid,
            parent: 0,
            target: fs::canonicalize(path)?,
            file: open_regular(path)?,
            bytes: Vec::new(),
            overflow: 0,
        };
        file.refresh().then_some(file).ok_or_else(no_file)
    }

    /// Reads header and used slots; false if it is no (longer a) file of ours.
    pub(super) fn refresh(&mut self) -> bool {
        let mut slots = self.slots() + SPARE;
        for _ in 0..2 {
            self.bytes.resize((1 + slots) * RECORD, 0);
            let length = self.read(0, self.bytes.len());
            self.bytes.truncate(length);
            let Some(header) = self.record(0) else {
                break;
            };
            let (capacity, used) = (header.i32(12), header.i32(16));
            let ours = header.0.starts_with(MAGIC)
                && header.i32(8) == RECORD as i32
                && header.i32(20) == self.pid
                && usize::try_from(capacity).is_ok_and(|count| count <= MAX_SLOTS)
                && (0..=capacity).contains(&used);
            if !ours {
                break;
            }
            (self.parent, self.overflow) = (header.i32(24), header.i64(40).max(0));
            if used as usize <= slots {
                self.bytes.truncate((1 + used as usize) * RECORD);
                return true;
            }
            slots = used as usize;
        }
        self.bytes.clear();
        false
    }

    /// Slots in memory.
    pub(super) fn slots(&self) -> usize {
        (self.bytes.len() / RECORD).saturating_sub(1)
    }

    /// Reads into the buffer; how many bytes there were.
    fn read(&mut self, from: usize, to: usize) -> usize {
        let mut at = from;
        while at < to {
            match self.file.read_at(&mut self.bytes[at..to], at as u64) {
                Ok(0) | Err(_) => break,
                Ok(count) => at += count,
            }
        }
        at
    }

    /// The header (0) or slot `index - 1`, as in memory.
    pub(super) fn record(&self, index: usize) -> Option<Record> {
        let bytes = self.bytes.get(index * RECORD..(index + 1) * RECORD)?;
        bytes.try_into().ok().map(Record)
    }

    /// The record as it is now. Two readings that are the same, the second begun after the first
    /// was done, were not written to in between; the first may be the refresh.
    pub(super) fn record_now(&mut self, slot: usize) -> Option<Record> {
        let mut before = self.record(1 + slot)?;
        for _ in 0..2 {
            let (from, to) = ((1 + slot) * RECORD, (2 + slot) * RECORD);
            if self.read(from, to) < to {
                return None;
            }
            let now = self.record(1 + slot)?;
            if now == before && now.is_whole() {
                return Some(now);
            }
            before = now;
        }
        None
    }
}
