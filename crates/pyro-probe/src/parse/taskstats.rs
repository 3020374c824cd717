//! Messages of the kernel's taskstats (generic netlink), read by their lengths: `struct taskstats`
//! grew from version to version, and a field that is not there is `None`.

use super::counters::{Comm, Counters, IoBytes};

/// Kinds of delay with their offset in `struct taskstats`, each a count and a total in ns.
///
/// Offsets are those of versions 2 to 14 and from 16 on (`include/uapi/linux/taskstats.h`): new
/// fields were added at the end, except in version 15.
const DELAYS: [(&str, usize); 8] = [
    ("cpu", 16),
    ("blkio", 32),
    ("swapin", 48),
    ("freepages", 312),
    ("thrashing", 328),
    ("compact", 352),
    ("wpcopy", 400),
    ("irq", 416),
];

/// From this version on the kernel says of which process a thread was.
pub const WITH_PROCESSES: u16 = 12;

/// Names of the delays, in the order of [`Stats::delays`].
pub const KINDS: [&str; 8] = {
    let mut names = [""; 8];
    let mut index = 0;
    while index < 8 {
        names[index] = DELAYS[index].0;
        index += 1;
    }
    names
};

/// A count of delays and their time in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Delay {
    /// Delays.
    pub count: i64,
    /// Their time.
    pub total_ns: i64,
}

/// What we read of `struct taskstats`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Version of the structure.
    pub version: u16,
    /// Delays by [`KINDS`].
    pub delays: [Option<Delay>; 8],
    /// CPU time by the scheduler's clock.
    pub run_ns: i64,
    /// Name, 15 bytes at most.
    pub comm: Comm,
    /// Thread; 0 in a reply about a whole process.
    pub tid: i64,
    /// Process, from version 12 on.
    pub pid: Option<i64>,
    /// Parent of its process.
    pub parent_pid: i64,
    /// Time since its start.
    pub elapsed_ns: i64,
    /// User time.
    pub user_ns: i64,
    /// System time.
    pub system_ns: i64,
    /// Minor faults.
    pub minor_faults_count: i64,
    /// Major faults.
    pub major_faults_count: i64,
    /// Voluntary context switches.
    pub voluntary_switches_count: Option<i64>,
    /// Involuntary context switches.
    pub involuntary_switches_count: Option<i64>,
    /// What it read and wrote.
    pub io: IoBytes,
}

/// Where a field of the usual layout lies in that of `version`.
///
/// Version 15 (Linux 6.14 and 6.15) put a maximum and a minimum behind each total; version 16 moved
/// them to the end. Version 1 had no exit code before the delays.
fn place(version: u16, offset: usize) -> usize {
    match version {
        0 | 1 => offset.saturating_sub(8),
        15 => {
            let before = DELAYS.iter().filter(|delay| delay.1 + 16 <= offset);
            offset + 16 * before.count()
        }
        _ => offset,
    }
}

impl Stats {
    /// The last counters of a thread.
    pub fn counters(&self, t_mono_ns: i64) -> Counters {
        let cpu = self.delays[0].unwrap_or_default();
        Counters {
            t_mono_ns,
            run_ns: self.run_ns,
            run_delay_ns: cpu.total_ns,
            timeslices_count: cpu.count,
            utime_ns: self.user_ns,
            stime_ns: self.system_ns,
            voluntary_count: self.voluntary_switches_count.unwrap_or(0),
            involuntary_count: self.involuntary_switches_count.unwrap_or(0),
            minor_faults_count: self.minor_faults_count,
            major_faults_count: self.major_faults_count,
            start_ns: t_mono_ns.saturating_sub(self.elapsed_ns),
            tid: i32::try_from(self.tid).unwrap_or(0),
            cpu: -1,
            comm: self.comm,
            io: self.io,
        }
    }

    /// Parses the structure; `None` if not even the first delays are there.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let version = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        let word = |offset: usize| -> Option<i64> {
            let at = place(version, offset);
            let bytes = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
            Some(i64::try_from(u64::from_ne_bytes(bytes)).unwrap_or(i64::MAX))
        };
        let half = |offset: usize| -> Option<i64> {
            let at = place(version, offset);
            let bytes = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
            Some(u32::from_ne_bytes(bytes).into())
        };
        // Written in µs.
        let span = |offset| word(offset).unwrap_or(0).saturating_mul(1000);
        let delays = DELAYS.map(|(_, offset)| {
            Some(Delay {
                count: word(offset)?,
                total_ns: word(offset + 8)?,
            })
        });
        delays[0]?;
        let name_at = place(version, 80);
        let name = bytes.get(name_at..name_at + 16).unwrap_or_default();
        Some(Self {
            version,
            delays,
            run_ns: word(72)?,
            comm: Comm::of(name),
            tid: half(128).unwrap_or(0),
            pid: half(368),
            parent_pid: half(132).unwrap_or(0),
            elapsed_ns: span(144),
            user_ns: span(152),
            system_ns: span(160),
            minor_faults_count: word(168).unwrap_or(0),
            major_faults_count: word(176).unwrap_or(0),
            voluntary_switches_count: word(272),
            involuntary_switches_count: word(280),
            io: IoBytes {
                rchar: word(216),
                wchar: word(224),
                read: word(248),
                written: word(256),
            },
        })
    }
}

/// What a message of the netlink socket says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The number of a family of messages.
    Family(u16),
    /// A thread, asked for or ended.
    Thread(Stats),
    /// A process with all its threads, by its number.
    Process(i64, Stats),
    /// The kernel's answer is an error number (0: done).
    Error(i32),
}

const NLMSG_ERROR: u16 = 2;
const HEADER_BYTES: usize = 16;
const GENERIC_BYTES: usize = 4;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const TYPE_TGID: u16 = 2;
const TYPE_STATS: u16 = 3;
const TYPE_AGGR_PID: u16 = 4;
const TYPE_AGGR_TGID: u16 = 5;

/// Splits length-prefixed records (netlink's messages and attributes are both such), each at a
/// multiple of four; ends where a length is wrong.
fn records(bytes: &[u8], long: bool) -> impl Iterator<Item = (u16, &[u8])> {
    let header = if long { HEADER_BYTES } else { 4 };
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let head = rest.get(..header)?;
        let (length, kind) = if long {
            let length = u32::from_ne_bytes(head.get(..4)?.try_into().ok()?);
            (length as usize, [head[4], head[5]])
        } else {
            let length = u16::from_ne_bytes([head[0], head[1]]);
            (usize::from(length), [head[2], head[3]])
        };
        let body = rest.get(header..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes(kind), body))
    })
}

/// Reads what one datagram holds.
pub fn messages(bytes: &[u8]) -> Vec<Message> {
    let mut found = Vec::new();
    for (kind, body) in records(bytes, true) {
        if kind == NLMSG_ERROR {
            let code = body.get(..4).and_then(|code| code.try_into().ok());
            found.extend(code.map(|code| Message::Error(i32::from_ne_bytes(code))));
            continue;
        }
        let attributes = body.get(GENERIC_BYTES..).unwrap_or_default();
        for (kind, value) in records(attributes, false) {
            let stats = || {
                let (_, stats) = records(value, false).find(|part| part.0 == TYPE_STATS)?;
                Stats::parse(stats)
            };
            match kind {
                CTRL_ATTR_FAMILY_ID => {
                    let number = value.get(..2).and_then(|number| number.try_into().ok());
                    found.extend(number.map(|n| Message::Family(u16::from_ne_bytes(n))));
                }
                TYPE_AGGR_PID => found.extend(stats().map(Message::Thread)),
                TYPE_AGGR_TGID => {
                    let number = records(value, false).find(|part| part.0 == TYPE_TGID);
                    let number = number.and_then(|(_, bytes)| bytes.get(..4)?.try_into().ok());
                    let process = number.map_or(0, |bytes| u32::from_ne_bytes(bytes).into());
                    found.extend(stats().map(|stats| Message::Process(process, stats)));
                }
                _ => {}
            }
        }
    }
    found
}

/// A request of one text or number attribute.
pub fn request(family: u16, command: u8, version: u8, attribute: u16, value: &[u8]) -> Vec<u8> {
    const REQUEST: u16 = 1;
    let attribute_bytes = 4 + value.len();
    let length = HEADER_BYTES + GENERIC_BYTES + attribute_bytes.next_multiple_of(4);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(&(length as u32).to_ne_bytes());
    bytes.extend_from_slice(&family.to_ne_bytes());
    bytes.extend_from_slice(&REQUEST.to_ne_bytes());
    // Sequence and port: one question at a time, so neither is needed.
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[command, version, 0, 0]);
    bytes.extend_from_slice(&(attribute_bytes as u16).to_ne_bytes());
    bytes.extend_from_slice(&attribute.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(length, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A structure of `version` in which every 8 bytes hold their offset in the usual layout.
    fn numbered(version: u16, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length.max(600)];
        for offset in (16..432).step_by(8) {
            let at = place(version, offset);
            if at + 8 <= bytes.len() {
                bytes[at..at + 8].copy_from_slice(&(offset as u64).to_ne_bytes());
            }
        }
        bytes[..2].copy_from_slice(&version.to_ne_bytes());
        bytes[place(version, 80)..][..4].copy_from_slice(b"gc\0x");
        bytes.truncate(length);
        bytes
    }

    #[test]
    fn every_version_by_its_length() {
        // Version, length of the structure, kinds of delay it has.
        for (version, length, kinds) in [
            (1, 72, 3),
            (2, 80, 3),
            (8, 328, 4),
            (9, 344, 5),
            (11, 368, 6),
            (13, 416, 7),
            (14, 432, 8),
            (15, 560, 8),
            (16, 560, 8),
            (17, 816, 8),
        ] {
            let stats = Stats::parse(&numbered(version, length)).unwrap();
            let known = stats.delays.iter().flatten().count();
            assert_eq!((stats.version, known), (version, kinds), "{length} bytes");
            assert_eq!(stats.run_ns, 72, "version {version}");
            for (delay, (kind, offset)) in stats.delays.iter().zip(DELAYS) {
                let expected = Delay {
                    count: offset as i64,
                    total_ns: offset as i64 + 8,
                };
                assert!(
                    delay.is_none_or(|delay| delay == expected),
                    "{version} {kind}"
                );
            }
            if length >= 328 {
                assert_eq!((stats.comm.as_str(), stats.tid), ("gc", 128));
                assert_eq!(stats.voluntary_switches_count, Some(272));
                assert_eq!((stats.io.rchar, stats.io.written), (Some(216), Some(256)));
                assert_eq!(stats.user_ns, 152_000);
            }
            assert_eq!(
                stats.pid.is_some(),
                version >= WITH_PROCESSES,
                "version {version}"
            );
        }
    }

    #[test]
    fn version_15_lies_where_its_header_says() {
        // include/uapi/linux/taskstats.h of Linux 6.14: totals at 24, 56, 88; run time at 112, 120.
        let expected = [
            (32, 48),
            (48, 80),
            (72, 120),
            (128, 176),
            (312, 360),
            (416, 528),
        ];
        for (usual, there) in expected {
            assert_eq!(place(15, usual), there);
        }
    }

    /// What Linux 6.18 answered about a shell, cut to what its tests need.
    #[test]
    fn a_recorded_exit() {
        let bytes = include_bytes!("../../tests/data/taskstats-exit.bin");
        let [Message::Thread(stats)] = &messages(bytes)[..] else {
            panic!("{:?}", messages(bytes))
        };
        assert_eq!((stats.version, stats.comm.as_str()), (16, "sleeper"));
        assert_eq!(stats.pid, Some(stats.tid));
        assert!(stats.run_ns > 0 && stats.run_ns < 100_000_000, "{stats:?}");
        assert!(
            stats.elapsed_ns > 10_000_000,
            "it slept for 10 ms: {stats:?}"
        );
        assert!(stats.delays.iter().all(Option::is_some));
    }

    #[test]
    fn families_errors_and_requests() {
        let request = request(16, 3, 1, 2, b"TASKSTATS\0");
        assert_eq!(request.len(), 36);
        assert_eq!(records(&request, true).count(), 1);
        let mut answer = vec![28, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        answer.extend([1, 2, 0, 0, 6, 0, 1, 0, 31, 0, 0, 0]);
        assert_eq!(messages(&answer), [Message::Family(31)]);
        let mut error = vec![20, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        error.extend((-1_i32).to_ne_bytes());
        assert_eq!(messages(&error), [Message::Error(-1)]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
            messages(&bytes);
            Stats::parse(&bytes);
        }

        #[test]
        fn a_cut_structure_has_fewer_fields_and_no_others(version in 1_u16..20, cut in 0_usize..600) {
            let whole = Stats::parse(&numbered(version, 600)).unwrap();
            if let Some(part) = Stats::parse(&numbered(version, cut)) {
                for (part, whole) in part.delays.iter().zip(whole.delays) {
                    prop_assert!(part.is_none() || *part == whole);
                }
            }
        }
    }
}
