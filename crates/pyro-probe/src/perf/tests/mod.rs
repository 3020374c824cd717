//! The whole way of counters, from opening to rows, on recorded kernels.
//!
//! A recording is lines of JSON: `{"event": [type, config], "errno": 2}` for what is refused;
//! `{"event": [type, config], "target": "thread 7", "readings": [[enabled, running, value, ...], ...]}`
//! for what a leader's group says, reading by reading, the last one again and again; `"gone"` as a
//! reading is a group that lost its place. What is not named opens and stands at zero.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use serde_json::Value;

use super::*;
use crate::perf::format::Config;
use crate::perf::kernel::{Attr, Target};
use crate::perf::sysfs::tests_support::{
    EPYC, GRACE, ICE_LAKE, NEOVERSE, SAPPHIRE_RAPIDS, XEON, ZEN_4, machine,
};

mod memory;
mod threads;

const MULTIPLEXED: &str = include_str!("../../../../../tests/fixtures/perf/multiplexed.ndjson");
const NO_PMU: &str = include_str!("../../../../../tests/fixtures/perf/no-pmu.ndjson");
const PARANOID: &str = include_str!("../../../../../tests/fixtures/perf/paranoid.ndjson");
const MEMORY: &str = include_str!("../../../../../tests/fixtures/perf/xeon-memory.ndjson");

/// Family and model.
const ZEN_3: (u32, u32) = (0x19, 0x01);

type Key = (u32, u64, String);

#[derive(Default)]
struct Recording {
    refused: HashMap<(u32, u64), i32>,
    user_only: bool,
    readings: HashMap<Key, Vec<Option<Vec<u64>>>>,
    open: Rc<RefCell<Vec<(Attr, Target)>>>,
}

struct Handle {
    key: Key,
    members: Rc<RefCell<usize>>,
    at: RefCell<usize>,
    open: Rc<RefCell<Vec<(Attr, Target)>>>,
    what: (Attr, Target),
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut open = self.open.borrow_mut();
        let index = open
            .iter()
            .position(|one| *one == self.what)
            .expect("it was open");
        open.swap_remove(index);
    }
}

impl Recording {
    fn new(text: &str) -> Self {
        let mut recording = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["user_only"] == true {
                recording.user_only = true;
                continue;
            }
            let event = (
                line["event"][0].as_u64().unwrap() as u32,
                line["event"][1].as_u64().unwrap(),
            );
            if let Some(errno) = line["errno"].as_i64() {
                recording.refused.insert(event, errno as i32);
                continue;
            }
            let target = line["target"].as_str().unwrap().to_owned();
            let reading = |words: &Value| {
                let words = words.as_array()?;
                Some(words.iter().map(|word| word.as_u64().unwrap()).collect())
            };
            let readings = line["readings"]
                .as_array()
                .unwrap()
                .iter()
                .map(reading)
                .collect();
            recording
                .readings
                .insert((event.0, event.1, target), readings);
        }
        recording
    }
}

fn config(config: &Config) -> u64 {
    config[0]
}

impl Kernel for Recording {
    type Handle = Handle;

    fn open(&mut self, attr: &Attr, target: Target, leader: Option<&Handle>) -> io::Result<Handle> {
        if let Some(&errno) = self.refused.get(&(attr.kind, config(&attr.config))) {
            return Err(io::Error::from_raw_os_error(errno));
        }
        if self.user_only && !attr.user_only {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        let name = match target {
            Target::Thread(tid) => format!("thread {tid}"),
            Target::Cpu(cpu) => format!("cpu {cpu}"),
        };
        let members = leader.map_or_else(Rc::default, |leader| leader.members.clone());
        *members.borrow_mut() += 1;
        self.open.borrow_mut().push((*attr, target));
        Ok(Handle {
            key: (attr.kind, config(&attr.config), name),
            members,
            at: RefCell::new(usize::from(!attr.pinned && self.lost(attr, target))),
            open: self.open.clone(),
            what: (*attr, target),
        })
    }

    fn read(&mut self, leader: &Handle, buffer: &mut [u8]) -> io::Result<usize> {
        let members = *leader.members.borrow();
        let zero = vec![0; 2 + members];
        let words = match self.readings.get(&leader.key) {
            Some(readings) => {
                let mut at = leader.at.borrow_mut();
                let words = readings[(*at).min(readings.len() - 1)].clone();
                *at += 1;
                words
            }
            None => Some(zero),
        };
        let Some(words) = words else { return Ok(0) };
        let words: Vec<u64> = std::iter::once(members as u64).chain(words).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

impl Recording {
    /// A group that is opened again after it lost its place begins behind the loss.
    fn lost(&self, attr: &Attr, target: Target) -> bool {
        let Target::Thread(tid) = target else {
            return false;
        };
        let key = (attr.kind, config(&attr.config), format!("thread {tid}"));
        self.readings
            .get(&key)
            .is_some_and(|readings| readings[0].is_none())
    }
}

#[derive(Debug, PartialEq)]
struct Got {
    t: i64,
    scope: String,
    tid: Option<i32>,
    event: String,
    value: i64,
    enabled: i64,
    running: i64,
}

fn keep(rows: &mut Vec<Got>) -> impl FnMut(Row) + '_ {
    |row| {
        rows.push(Got {
            t: row.t_mono_ns,
            scope: row.scope.to_owned(),
            tid: row.thread.map(|thread| thread.1),
            event: row.event.to_owned(),
            value: row.count.value,
            enabled: row.count.enabled_ns,
            running: row.count.running_ns,
        });
    }
}

fn of<'a>(rows: &'a [Got], event: &str) -> Vec<(i64, i64, i64, i64)> {
    let of_event = |row: &&'a Got| row.event == event;
    rows.iter()
        .filter(of_event)
        .map(|row| (row.t, row.value, row.enabled, row.running))
        .collect()
}

fn start(recording: &str, tree: &str, limit: usize) -> Perf<Recording> {
    start_with(recording, tree, limit, OfThreads::All)
}

fn start_with(recording: &str, tree: &str, limit: usize, of_threads: OfThreads) -> Perf<Recording> {
    let (_folder, sysfs) = machine(tree);
    Perf::open(
        Recording::new(recording),
        &sysfs,
        Some(ZEN_3),
        of_threads,
        &Descriptors::new(limit),
    )
}
