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
use crate::perf::sysfs::tests_support::{EPYC, GRACE, XEON, machine};

const MULTIPLEXED: &str = include_str!("../../../../tests/fixtures/perf/multiplexed.ndjson");
const NO_PMU: &str = include_str!("../../../../tests/fixtures/perf/no-pmu.ndjson");
const PARANOID: &str = include_str!("../../../../tests/fixtures/perf/paranoid.ndjson");
const MEMORY: &str = include_str!("../../../../tests/fixtures/perf/xeon-memory.ndjson");

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
        let mut made = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let line: Value = serde_json::from_str(line).unwrap();
            if line["user_only"] == true {
                made.user_only = true;
                continue;
            }
            let event = (
                line["event"][0].as_u64().unwrap() as u32,
                line["event"][1].as_u64().unwrap(),
            );
            if let Some(errno) = line["errno"].as_i64() {
                made.refused.insert(event, errno as i32);
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
            made.readings.insert((event.0, event.1, target), readings);
        }
        made
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
    let (_folder, sysfs) = machine(tree);
    Perf::open(
        Recording::new(recording),
        &sysfs,
        Some(0x19),
        &Descriptors::new(limit),
    )
}

#[test]
fn counters_that_take_turns_keep_both_times_and_raw_values() {
    let mut perf = start(MULTIPLEXED, "", 100);
    let mut rows = Vec::new();
    let mut emit = keep(&mut rows);
    perf.note((1, 7), || 100, true, false, &mut emit);
    perf.turn(false, || 200, &mut emit);
    perf.note((1, 7), || 250, false, false, &mut emit);
    perf.turn(false, || 300, &mut emit);
    perf.note((1, 7), || 350, false, false, &mut emit);
    perf.turn(true, || 400, &mut emit);
    perf.note((1, 7), || 500, false, true, &mut emit);
    drop(emit);
    assert_eq!(
        of(&rows, "cycles"),
        [
            (100, 0, 0, 0),
            (300, 2_000, 1_000, 1_000),
            (400, 4_000, 2_000, 2_000),
            (500, 5_000, 2_500, 2_500)
        ],
        "no reading at 200, when it had not run; a last one after its end"
    );
    assert_eq!(
        of(&rows, "instructions").last(),
        Some(&(500, 9_000, 2_500, 2_500))
    );
    assert_eq!(
        of(&rows, "branch-misses"),
        [(100, 0, 0, 0), (400, 30, 2_000, 500), (500, 36, 2_500, 600)],
        "a turn of one in four: not scaled up; read in slow passes"
    );
    assert_eq!(
        of(&rows, "page-faults"),
        [(100, 0, 0, 0), (500, 0, 0, 0)],
        "stood still: two rows"
    );
    assert!(
        perf.kernel.open.borrow().is_empty(),
        "all closed at the thread's end"
    );
    assert_eq!(perf.threads.figures.threads, 1);
}

#[test]
fn a_machine_without_pmu_says_so_and_counts_what_the_kernel_does() {
    let mut perf = start(NO_PMU, "", 100);
    let mut rows = Vec::new();
    perf.note((1, 7), || 100, true, false, &mut keep(&mut rows));
    perf.end(|| 200, &mut keep(&mut rows));
    let mut events: Vec<&str> = rows.iter().map(|row| row.event.as_str()).collect();
    events.sort_unstable();
    events.dedup();
    assert_eq!(
        events,
        [
            "context-switches",
            "cpu-migrations",
            "page-faults",
            "task-clock"
        ]
    );
    assert_eq!(of(&rows, "task-clock"), [(100, 5, 5, 5), (200, 90, 90, 90)]);
    let report = perf.report();
    let cycles = report["events"]
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["event"] == "cycles")
        .unwrap();
    assert_eq!(
        (cycles["counted"].as_bool(), cycles["kind"].as_str()),
        (Some(false), Some("hardware"))
    );
    assert!(
        cycles["reason"].as_str().unwrap().contains("no PMU"),
        "{cycles}"
    );
    assert!(!cycles["remedy"].as_str().unwrap().is_empty());
}

#[test]
fn where_the_kernel_may_not_be_counted_programs_are() {
    let perf = start(PARANOID, "", 100);
    let events = perf.report()["events"].clone();
    let events = events.as_array().unwrap();
    assert!(
        events
            .iter()
            .all(|event| event["user_only"] == event["counted"]),
        "{events:?}"
    );
    assert!(
        events
            .iter()
            .any(|event| event["event"] == "cycles" && event["counted"] == true)
    );
    for name in ["node-loads", "cpu-migrations", "context-switches"] {
        let denied = events.iter().find(|event| event["event"] == name).unwrap();
        assert!(
            denied["remedy"]
                .as_str()
                .unwrap()
                .contains("perf_event_paranoid"),
            "{denied}"
        );
    }
}

#[test]
fn a_group_that_lost_its_place_takes_turns() {
    let lost = r#"{"event": [0, 0], "target": "thread 7", "readings": [null, [10, 4, 100, 50], [20, 8, 200, 90]]}"#;
    let mut perf = start(lost, "", 100);
    let mut rows = Vec::new();
    perf.note((1, 7), || 100, true, false, &mut keep(&mut rows));
    perf.note((1, 7), || 150, false, true, &mut keep(&mut rows));
    assert_eq!(of(&rows, "cycles"), [(100, 100, 10, 4), (150, 200, 20, 8)]);
    assert_eq!(perf.threads.figures.displaced, 1);
    assert!(perf.kernel.open.borrow().is_empty());
}

#[test]
fn the_limit_of_open_files_holds_and_is_told() {
    let mut perf = start("", "", 6);
    let mut rows = Vec::new();
    for tid in 1..4 {
        perf.note((1, tid), || 100, true, false, &mut keep(&mut rows));
    }
    assert_eq!(
        perf.kernel.open.borrow().len(),
        6,
        "four of the kernel's own and the fixed two"
    );
    let figures = perf.threads.figures;
    assert_eq!(
        (figures.threads, figures.beyond_limit, figures.refused),
        (1, 3, 0)
    );
    perf.note((1, 1), || 200, false, true, &mut keep(&mut rows));
    perf.note((1, 9), || 300, true, false, &mut keep(&mut rows));
    assert_eq!(
        perf.threads.figures.threads, 2,
        "what was closed may be opened again"
    );
}

#[test]
fn many_threads_have_their_turn_in_the_next_passes() {
    let mut perf = start("", "", 100_000);
    let mut rows = Vec::new();
    for tid in 1..=150 {
        perf.note((1, tid), || 100, true, false, &mut keep(&mut rows));
    }
    for tid in 1..=150 {
        perf.note((1, tid), || 200, false, false, &mut keep(&mut rows));
    }
    let mut turns = Vec::new();
    for _ in 0..4 {
        let before = perf.threads.figures.readings;
        perf.turn(false, || 300, &mut keep(&mut rows));
        turns.push(perf.threads.figures.readings - before);
    }
    assert_eq!(
        turns,
        [64, 64, 22, 0],
        "the fast group of 64, 64, 22 threads"
    );
}

#[test]
fn memory_of_two_nodes_is_read_and_written_apart() {
    let mut perf = start(MEMORY, XEON, 100);
    let mut rows = Vec::new();
    perf.turn(true, || 100, &mut keep(&mut rows));
    perf.turn(true, || 200, &mut keep(&mut rows));
    perf.end(|| 300, &mut keep(&mut rows));
    let by = |scope: &str, event: &str| -> Vec<(i64, i64)> {
        let fits = |row: &&Got| row.scope == scope && row.event == event && row.tid.is_none();
        rows.iter()
            .filter(fits)
            .map(|row| (row.t, row.value))
            .collect()
    };
    // Two channels of node 0: 10 and 20 lines at first, 110 and 70 later; 64 bytes each.
    assert_eq!(
        by("node/0", "memory_read_bytes"),
        [(100, 30 * 64), (200, 180 * 64), (300, 180 * 64)]
    );
    assert_eq!(by("node/1", "memory_read_bytes"), [(100, 0), (300, 0)]);
    assert_eq!(
        by("node/0", "memory_written_bytes"),
        [(100, 0), (200, 5 * 64), (300, 5 * 64)]
    );
    // 900 flits carry 6400 bytes.
    assert_eq!(
        by("uncore_upi_0/node/1", "link_sent_bytes"),
        [(100, 6400), (300, 6400)]
    );
    // 2^32 counts are a joule.
    assert_eq!(
        by("node/0", "energy_package_nj"),
        [(100, 1_000_000_000), (300, 1_000_000_000)]
    );
    let topdown = perf
        .tried
        .iter()
        .filter(|tried| tried.name.starts_with("topdown"))
        .count();
    assert_eq!(topdown, 4);
}

#[test]
fn zen_3_gives_both_ways_together_and_grace_the_other_socket_apart() {
    let perf = start("", EPYC, 100);
    let told: Vec<(&str, &str, usize)> = perf
        .meters
        .iter()
        .map(|meter| (meter.measure, meter.scope.as_str(), meter.counters()))
        .collect();
    assert_eq!(
        told,
        [
            ("memory_bytes", "package/0", 8),
            ("memory_bytes", "package/1", 8)
        ]
    );
    let perf = start("", GRACE, 100);
    let mut told: Vec<(&str, &str)> = perf
        .meters
        .iter()
        .map(|meter| (meter.measure, meter.scope.as_str()))
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            ("memory_read_bytes", "node/0"),
            ("memory_written_bytes", "node/0"),
            ("remote_read_bytes", "node/0"),
            ("remote_written_bytes", "node/0"),
        ]
    );
    assert!(
        perf.tried
            .iter()
            .any(|tried| tried.name == "stall_backend" && tried.refused.is_none())
    );
}

#[test]
fn a_controller_that_may_not_be_read_is_told_once() {
    let refused = r#"{"event": [13, 772], "errno": 13}
{"event": [13, 3076], "errno": 13}"#;
    let perf = start(refused, XEON, 100);
    let reasons: Vec<_> = perf
        .refused
        .iter()
        .filter(|refused| refused.0.contains("uncore_imc_0"))
        .collect();
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].1.contains("perf_event_paranoid"));
    assert!(
        perf.meters
            .iter()
            .any(|meter| meter.measure == "memory_read_bytes" && meter.counters() == 1)
    );
}

#[test]
fn this_machine_is_tried_and_closed_again() {
    for capability in capabilities() {
        match capability.outcome {
            Ok(reason) => assert!(!reason.is_empty(), "{}", capability.name),
            Err((reason, remedy)) => assert!(
                !reason.is_empty() && !remedy.is_empty(),
                "{}",
                capability.name
            ),
        }
    }
}
