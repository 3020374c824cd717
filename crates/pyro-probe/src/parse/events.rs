//! Records and sums of the programs of tier T0 (`bpf/events.bpf.c`).

use super::thread_record::Record;

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

/// Sizes in bytes of `struct sum_key`, `sum`, `latency_key`, `latency`, `stack` and `thread`.
pub const SUM_KEY: usize = 24;
/// See [`SUM_KEY`].
pub const SUM: usize = 48;
/// See [`SUM_KEY`].
pub const LATENCY_KEY: usize = 16;
/// See [`SUM_KEY`].
pub const LATENCY: usize = 24;
/// See [`SUM_KEY`].
pub const STACK: usize = 8 + 64 * 8;
/// See [`SUM_KEY`].
pub const THREAD: usize = 64;

/// Who woke a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waker {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Its name.
    pub comm: String,
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

/// A thread after its last switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Name.
    pub comm: String,
    /// When.
    pub end_ns: i64,
    /// Its start.
    pub start_ns: i64,
    /// CPU time.
    pub run_ns: i64,
    /// Time on run queues.
    pub run_delay_ns: i64,
    /// Times it got a CPU.
    pub timeslices_count: i64,
    /// User time.
    pub user_ns: i64,
    /// System time.
    pub system_ns: i64,
    /// Minor faults.
    pub minor_faults_count: i64,
    /// Major faults.
    pub major_faults_count: i64,
    /// Switches as it waited.
    pub voluntary_count: i64,
    /// Switches as it was taken off its CPU.
    pub involuntary_count: i64,
    /// CPU it ran on.
    pub cpu: i32,
}

impl Ended {
    /// As a record of a thread that has ended.
    pub fn record(&self) -> Record<'_> {
        Record {
            t_mono_ns: self.end_ns,
            run_ns: self.run_ns,
            run_delay_ns: self.run_delay_ns,
            timeslices_count: self.timeslices_count,
            utime_ns: self.user_ns,
            stime_ns: self.system_ns,
            voluntary_count: self.voluntary_count,
            involuntary_count: self.involuntary_count,
            minor_faults_count: self.minor_faults_count,
            major_faults_count: self.major_faults_count,
            start_ns: self.start_ns,
            tid: self.tid,
            cpu: self.cpu,
            ended: true,
            comm: &self.comm,
            ..Record::default()
        }
    }
}

/// What the ring buffer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An interval long enough to be told by itself.
    OffCpu(OffCpu),
    /// The end of a thread.
    Ended(Ended),
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

/// Fields of a record, by their offsets; what is not there is 0.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn word(&self, at: usize) -> u64 {
        let bytes = self
            .0
            .get(at..at + 8)
            .and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    }
    fn half(&self, at: usize) -> u32 {
        let bytes = self
            .0
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    }
    fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }
    fn ns(&self, at: usize) -> i64 {
        i64::try_from(self.word(at)).unwrap_or(i64::MAX)
    }
    fn id(&self, at: usize) -> i32 {
        self.half(at) as i32
    }
    fn text(&self, at: usize) -> String {
        let bytes = self.0.get(at..at + 16).unwrap_or_default();
        let name = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }
}

fn kind_name(kind: u32) -> &'static str {
    KINDS.get(kind as usize).copied().unwrap_or("other")
}

impl Event {
    /// Parses a record of the ring buffer; `None` if it is none of ours.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let f = Fields(bytes);
        match (f.half(0), bytes.len()) {
            (INTERVAL, 80) => {
                let (flags, begin_ns, end_ns) = (f.half(4), f.ns(8), f.ns(16));
                Some(Self::OffCpu(OffCpu {
                    pid: f.id(40),
                    tid: f.id(44),
                    begin_ns: Some(begin_ns),
                    end_ns: Some(end_ns),
                    count: 1,
                    off_ns: end_ns.saturating_sub(begin_ns),
                    run_queue_ns: f.ns(24),
                    kind: kind_name(f.half(56)),
                    io_wait: flags & IO_WAIT != 0,
                    stack: f.word(32),
                    waker: (flags & WOKEN != 0).then(|| Waker {
                        pid: f.id(48),
                        tid: f.id(52),
                        comm: f.text(60),
                        interrupt: flags & WAKER_INTERRUPT != 0,
                    }),
                }))
            }
            (ENDED, 120) => Some(Self::Ended(Ended {
                pid: f.id(96),
                tid: f.id(100),
                comm: f.text(104),
                end_ns: f.ns(8),
                start_ns: f.ns(16),
                run_ns: f.ns(24),
                run_delay_ns: f.ns(32),
                timeslices_count: f.ns(40),
                user_ns: f.ns(48),
                system_ns: f.ns(56),
                minor_faults_count: f.ns(64),
                major_faults_count: f.ns(72),
                voluntary_count: f.ns(80),
                involuntary_count: f.ns(88),
                cpu: f.id(4),
            })),
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
        count: value.ns(0),
        off_ns: value.ns(8),
        run_queue_ns: value.ns(16),
        kind: kind_name(key.half(20) & 0xffff),
        io_wait: flags & IO_WAIT != 0,
        stack: key.word(0),
        waker: (flags & WOKEN != 0).then(|| Waker {
            pid: value.id(24),
            tid: key.id(16),
            comm: value.text(32),
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
        count: value.ns(0),
        sum_ns: value.ns(8),
        bytes: value.ns(16),
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

/// A thread that is off its CPU now (`struct thread`): time until `now_ns`.
pub fn off_until(tid: u32, bytes: &[u8], now_ns: i64) -> Option<OffCpu> {
    let f = Fields(bytes);
    let (begin_ns, kind) = (f.ns(0), kind_name(f.byte(40).into()));
    let off_ns = now_ns.saturating_sub(begin_ns);
    (begin_ns > 0 && off_ns > 0).then(|| OffCpu {
        pid: f.id(24),
        tid: tid as i32,
        begin_ns: Some(begin_ns),
        end_ns: Some(now_ns),
        count: 1,
        off_ns,
        run_queue_ns: if kind == "preempted" { off_ns } else { 0 },
        kind,
        io_wait: f.byte(41) != 0,
        stack: 0,
        waker: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let Some(Event::OffCpu(off)) = Event::parse(&bytes) else {
            panic!("{:?}", Event::parse(&bytes))
        };
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
        assert_eq!(waker.comm, "gc1");
        put(&mut bytes, 4, 0, 4);
        assert!(matches!(Event::parse(&bytes), Some(Event::OffCpu(off)) if off.waker.is_none()));

        let mut bytes = [0; 120];
        put(&mut bytes, 0, 2, 4);
        put(&mut bytes, 24, 123, 8);
        put(&mut bytes, 88, 9, 8);
        put(&mut bytes, 100, 42, 4);
        let Some(Event::Ended(ended)) = Event::parse(&bytes) else {
            panic!("{:?}", Event::parse(&bytes))
        };
        assert_eq!(
            (ended.run_ns, ended.involuntary_count, ended.tid),
            (123, 9, 42)
        );
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

    #[test]
    fn a_thread_that_is_off_and_one_that_runs() {
        let mut thread = [0; THREAD];
        assert_eq!(off_until(7, &thread, 100), None);
        put(&mut thread, 0, 40, 8);
        put(&mut thread, 24, 3, 4);
        put(&mut thread, 40, 2, 1);
        let off = off_until(7, &thread, 100).unwrap();
        assert_eq!(
            (off.pid, off.tid, off.off_ns, off.run_queue_ns),
            (3, 7, 60, 60)
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            Event::parse(&bytes);
            sum(&bytes, &bytes);
            latency(&bytes, &bytes);
            frames(&bytes);
            off_until(1, &bytes, 1);
        }
    }
}
