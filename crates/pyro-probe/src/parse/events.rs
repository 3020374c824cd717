//! Records and sums of the programs of tier T0 (`bpf/events.bpf.c`).

use super::counters::{COUNTERS, Comm, Counters, Fields};

/// Kinds of time off the CPU: `enum kind` of `bpf/sched.c`.
const KINDS: [&str; 4] = ["sleeping", "disk", "preempted", "other"];
/// Calls: `enum call` of `bpf/calls.c`.
const CALLS: [&str; 9] = [
    "read",
    "pread64",
    "readv",
    "preadv",
    "preadv2",
    "io_getevents",
    "io_pgetevents",
    "io_submit",
    "io_uring_enter",
];
/// What found no room: `enum lost` of `bpf/events.h`.
pub const LOST: [&str; 6] = [
    "threads",
    "intervals",
    "sums",
    "stacks",
    "requests",
    "latencies",
];

const IO_WAIT: u32 = 1;
const WAKER_INTERRUPT: u32 = 2;
const WOKEN: u32 = 4;

const INTERVAL: u32 = 1;
const ENDED: u32 = 2;
const ENDED_BYTES: usize = 8 + COUNTERS;

/// Sizes in bytes of `struct sum_key`, `sum`, `latency_key`, `latency` and `stack`.
pub const SUM_KEY: usize = 24;
/// See [`SUM_KEY`].
pub const SUM: usize = 48;
/// See [`SUM_KEY`].
pub const LATENCY_KEY: usize = 16;
/// See [`SUM_KEY`].
pub const LATENCY: usize = 24;
/// See [`SUM_KEY`].
pub const STACK: usize = 8 + 64 * 8;

/// Who woke a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waker {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Its name.
    pub comm: Comm,
    /// An interrupt did, while that thread ran.
    pub interrupt: bool,
}

/// One interval off the CPU, or several of a thread that were alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffCpu {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Switched out; `None` of several.
    pub begin_ns: Option<i64>,
    /// Switched in; `None` of several.
    pub end_ns: Option<i64>,
    /// Intervals.
    pub count: i64,
    /// Time off the CPU.
    pub off_ns: i64,
    /// Of it: waiting for a CPU.
    pub run_queue_ns: i64,
    /// Why.
    pub kind: &'static str,
    /// The kernel counted it as waiting for I/O.
    pub io_wait: bool,
    /// Hash of the kernel stack; 0: none.
    pub stack: u64,
    /// Who woke it.
    pub waker: Option<Waker>,
}

/// What the ring buffer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An interval long enough to be reported by itself.
    OffCpu(OffCpu),
    /// The end of a thread: its process, and its last counters.
    Ended(i32, Counters),
}

/// A bucket of a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latency {
    /// `block`, `queue` or `read`.
    pub kind: &'static str,
    /// Major and minor number of the block device; `None` of calls.
    pub device: Option<(u32, u32)>,
    /// Process; 0: the kernel's own.
    pub pid: i32,
    /// What was asked for.
    pub operation: &'static str,
    /// Lower end of the bucket.
    pub low_ns: i64,
    /// Requests or calls.
    pub count: i64,
    /// Their latencies, added up.
    pub sum_ns: i64,
    /// What they moved.
    pub bytes: i64,
}

fn kind_name(kind: u32) -> &'static str {
    KINDS.get(kind as usize).copied().unwrap_or("other")
}

impl Event {
    /// Parses a record of the ring buffer; `None` if it is none of ours. `ahead_ns` is added to the kernel's times.
    pub fn parse(bytes: &[u8], ahead_ns: i64) -> Option<Self> {
        let f = Fields(bytes);
        match (f.half(0), bytes.len()) {
            (INTERVAL, 80) => {
                let (flags, begin_ns, end_ns) = (f.half(4), f.count(8), f.count(16));
                Some(Self::OffCpu(OffCpu {
                    pid: f.id(40),
                    tid: f.id(44),
                    begin_ns: Some(begin_ns.saturating_add(ahead_ns)),
                    end_ns: Some(end_ns.saturating_add(ahead_ns)),
                    count: 1,
                    off_ns: end_ns.saturating_sub(begin_ns),
                    run_queue_ns: f.count(24),
                    kind: kind_name(f.half(56)),
                    io_wait: flags & IO_WAIT != 0,
                    stack: f.word(32),
                    waker: (flags & WOKEN != 0).then(|| Waker {
                        pid: f.id(48),
                        tid: f.id(52),
                        comm: f.comm(60),
                        interrupt: flags & WAKER_INTERRUPT != 0,
                    }),
                }))
            }
            (ENDED, ENDED_BYTES) => Some(Self::Ended(f.id(4), Counters::read(f.from(8), ahead_ns))),
            _ => None,
        }
    }
}

/// Parses an element of the sums of short intervals.
pub fn sum(key: &[u8], value: &[u8]) -> OffCpu {
    let (key, value) = (Fields(key), Fields(value));
    let flags = key.half(20) >> 16;
    OffCpu {
        pid: key.id(8),
        tid: key.id(12),
        begin_ns: None,
        end_ns: None,
        count: value.count(0),
        off_ns: value.count(8),
        run_queue_ns: value.count(16),
        kind: kind_name(key.half(20) & 0xffff),
        io_wait: flags & IO_WAIT != 0,
        stack: key.word(0),
        waker: (flags & WOKEN != 0).then(|| Waker {
            pid: value.id(24),
            tid: key.id(16),
            comm: value.comm(32),
            interrupt: flags & WAKER_INTERRUPT != 0,
        }),
    }
}

/// Parses an element of the histograms.
pub fn latency(key: &[u8], value: &[u8]) -> Latency {
    let (key, value) = (Fields(key), Fields(value));
    let operation = usize::from(key.byte(13));
    let (kind, operation) = match key.byte(12) {
        0 => ("block", operation_name(operation)),
        1 => ("queue", operation_name(operation)),
        _ => ("read", CALLS.get(operation).copied().unwrap_or("other")),
    };
    Latency {
        kind,
        device: (kind != "read").then(|| (key.half(0), key.half(4))),
        pid: key.id(8),
        operation,
        low_ns: 1_i64.checked_shl(key.byte(14).min(62).into()).unwrap_or(0),
        count: value.count(0),
        sum_ns: value.count(8),
        bytes: value.count(16),
    }
}

/// Operations of a request (`enum req_op`, linux/blk_types.h).
fn operation_name(operation: usize) -> &'static str {
    match operation {
        0 => "read",
        1 => "write",
        2 => "flush",
        3 | 5 => "discard",
        _ => "other",
    }
}

/// Frames of a stack, innermost first.
pub fn frames(bytes: &[u8]) -> Vec<u64> {
    let fields = Fields(bytes);
    let count = fields.word(0).min(64) as usize;
    (1..=count).map(|frame| fields.word(8 * frame)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::counters::tests_support::numbered;
    use proptest::prelude::*;

    fn put(bytes: &mut [u8], at: usize, value: u64, width: usize) {
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }

    #[test]
    fn an_interval_and_an_end() {
        let mut bytes = [0; 80];
        for (at, value, width) in [
            (0, 1, 4),
            (4, 7, 4),
            (8, 1000, 8),
            (16, 5000, 8),
            (24, 300, 8),
            (32, 77, 8),
            (40, 10, 4),
            (44, 11, 4),
            (48, 20, 4),
            (52, 21, 4),
            (56, 1, 4),
        ] {
            put(&mut bytes, at, value, width);
        }
        bytes[60..63].copy_from_slice(b"gc1");
        let Some(Event::OffCpu(off)) = Event::parse(&bytes, 70) else {
            panic!("{:?}", Event::parse(&bytes, 70))
        };
        assert_eq!((off.begin_ns, off.end_ns), (Some(1070), Some(5070)));
        assert_eq!(
            (off.pid, off.tid, off.off_ns, off.run_queue_ns),
            (10, 11, 4000, 300)
        );
        assert_eq!(
            (off.kind, off.io_wait, off.stack, off.count),
            ("disk", true, 77, 1)
        );
        let waker = off.waker.unwrap();
        assert_eq!((waker.pid, waker.tid, waker.interrupt), (20, 21, true));
        assert_eq!(waker.comm.as_str(), "gc1");
        put(&mut bytes, 4, 0, 4);
        assert!(matches!(Event::parse(&bytes, 0), Some(Event::OffCpu(off)) if off.waker.is_none()));

        let mut bytes = vec![2, 0, 0, 0, 7, 0, 0, 0];
        bytes.extend(numbered(42, b"gc"));
        let Some(Event::Ended(pid, counters)) = Event::parse(&bytes, -1) else {
            panic!("{:?}", Event::parse(&bytes, -1))
        };
        assert_eq!((pid, counters.tid, counters.involuntary_count), (7, 42, 8));
        assert_eq!((counters.t_mono_ns, counters.start_ns), (0, 10));
    }

    #[test]
    fn sums_and_histograms() {
        let (mut key, mut value) = ([0; SUM_KEY], [0; SUM]);
        for (at, wide, width) in [(8, 10, 4), (12, 11, 4), (16, 21, 4), (20, 0, 2), (22, 4, 2)] {
            put(&mut key, at, wide, width);
        }
        put(&mut value, 0, 3, 8);
        put(&mut value, 8, 900, 8);
        put(&mut value, 24, 20, 4);
        let off = sum(&key, &value);
        assert_eq!(
            (off.kind, off.count, off.off_ns, off.begin_ns),
            ("sleeping", 3, 900, None)
        );
        let waker = off.waker.unwrap();
        assert_eq!((waker.pid, waker.tid, waker.interrupt), (20, 21, false));

        let (mut key, mut value) = ([0; LATENCY_KEY], [0; LATENCY]);
        for (at, wide, width) in [(0, 254, 4), (8, 7, 4), (12, 1, 1), (13, 1, 1), (14, 12, 1)] {
            put(&mut key, at, wide, width);
        }
        put(&mut value, 0, 5, 8);
        let bucket = latency(&key, &value);
        assert_eq!(
            (bucket.kind, bucket.operation, bucket.device),
            ("queue", "write", Some((254, 0)))
        );
        assert_eq!((bucket.low_ns, bucket.count), (4096, 5));
        put(&mut key, 12, 2, 1);
        let call = latency(&key, &value);
        assert_eq!(
            (call.kind, call.operation, call.device),
            ("read", "pread64", None)
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            Event::parse(&bytes, i64::MIN);
            sum(&bytes, &bytes);
            latency(&bytes, &bytes);
            frames(&bytes);
        }
    }
}
