//! What the kernel counts of a thread: `struct counters` of `bpf/kernel.h`.

/// Bytes of the structure.
pub const COUNTERS: usize = 144;

/// Name of a thread, 15 bytes at most.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Comm([u8; 16]);

impl Comm {
    /// From bytes that end with a zero byte, or where they end.
    pub fn of(bytes: &[u8]) -> Self {
        let mut comm = Self::default();
        let name = bytes.iter().take(15).take_while(|&&byte| byte != 0);
        comm.0
            .iter_mut()
            .zip(name)
            .for_each(|(to, &from)| *to = from);
        comm
    }

    /// The name, as far as it is text.
    pub fn as_str(&self) -> &str {
        let length = self.0.iter().position(|&byte| byte == 0);
        let bytes = &self.0[..length.unwrap_or(self.0.len())];
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        std::str::from_utf8(&bytes[..valid]).unwrap_or_default()
    }
}

impl std::fmt::Debug for Comm {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}", self.as_str())
    }
}

/// Bytes that a thread read and wrote since its start; `None` where the kernel does not count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoBytes {
    /// Read by system calls.
    pub rchar: Option<i64>,
    /// Written by system calls.
    pub wchar: Option<i64>,
    /// Fetched from block devices.
    pub read: Option<i64>,
    /// Sent to block devices (pages made dirty).
    pub written: Option<i64>,
}

/// Counters of a thread since its start; times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// When: CLOCK_MONOTONIC.
    pub t_mono_ns: i64,
    /// CPU time.
    pub run_ns: i64,
    /// Time on run queues.
    pub run_delay_ns: i64,
    /// Times it got a CPU.
    pub timeslices_count: i64,
    /// Ticks that found it in user code.
    pub utime_ns: i64,
    /// Ticks that found it in the kernel.
    pub stime_ns: i64,
    /// Switches as it waited.
    pub voluntary_count: i64,
    /// Switches as it was taken off its CPU.
    pub involuntary_count: i64,
    /// Minor faults.
    pub minor_faults_count: i64,
    /// Major faults.
    pub major_faults_count: i64,
    /// Start, on the same clock.
    pub start_ns: i64,
    /// What it read and wrote.
    pub io: IoBytes,
    /// Thread.
    pub tid: i32,
    /// CPU it last ran on.
    pub cpu: i32,
    /// Name.
    pub comm: Comm,
}

/// Fields of a record, by their offsets; what is not there is 0.
#[derive(Clone, Copy)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// Eight bytes.
    pub fn word(&self, at: usize) -> u64 {
        let bytes = self.0.get(at..at + 8).and_then(|word| word.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    }

    /// Four bytes.
    pub fn half(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..at + 4).and_then(|half| half.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    }

    /// One byte.
    pub fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// A count or a time, held at the end of `i64`.
    pub fn count(&self, at: usize) -> i64 {
        i64::try_from(self.word(at)).unwrap_or(i64::MAX)
    }

    /// A number of a process or thread.
    pub fn id(&self, at: usize) -> i32 {
        self.half(at) as i32
    }

    /// The name of a thread.
    pub fn comm(&self, at: usize) -> Comm {
        Comm::of(self.0.get(at..at + 16).unwrap_or_default())
    }

    /// What follows.
    pub fn from(&self, at: usize) -> Fields<'a> {
        Fields(self.0.get(at..).unwrap_or_default())
    }
}

impl Counters {
    /// Reads the structure. Its times are the kernel's own: `ahead_ns` is added to them.
    pub fn read(f: Fields, ahead_ns: i64) -> Self {
        let counted = |at| i64::try_from(f.word(at)).ok();
        Self {
            t_mono_ns: f.count(0).saturating_add(ahead_ns),
            run_ns: f.count(8),
            run_delay_ns: f.count(16),
            timeslices_count: f.count(24),
            utime_ns: f.count(32),
            stime_ns: f.count(40),
            voluntary_count: f.count(48),
            involuntary_count: f.count(56),
            minor_faults_count: f.count(64),
            major_faults_count: f.count(72),
            start_ns: f.count(80).saturating_add(ahead_ns),
            io: IoBytes {
                rchar: counted(88),
                wchar: counted(96),
                read: counted(104),
                written: counted(112),
            },
            tid: f.id(120),
            cpu: f.id(124),
            comm: f.comm(128),
        }
    }
}

#[cfg(test)]
pub mod tests_support {
    use super::COUNTERS;

    /// The structure with 1, 2, 3 … in its words, and a thread's number and name.
    pub fn numbered(tid: u32, comm: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = (1..=15_u64).flat_map(u64::to_ne_bytes).collect();
        bytes.extend([tid, 3].iter().flat_map(|half| half.to_ne_bytes()));
        bytes.extend(comm);
        bytes.resize(COUNTERS, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_as_far_as_they_go() {
        for (bytes, name) in [
            (&b"Executor task l\0"[..], "Executor task l"),
            (b"gc\0x", "gc"),
            (b"longer than fifteen", "longer than fif"),
            (b"caf\xc3\xa9", "café"),
            (b"a\xffb", "a"),
            (b"", ""),
        ] {
            assert_eq!(Comm::of(bytes).as_str(), name);
        }
    }

    #[test]
    fn every_word_has_its_place_and_what_is_not_counted_has_none() {
        let mut bytes = tests_support::numbered(77, b"burn");
        let counters = Counters::read(Fields(&bytes), 100);
        assert_eq!((counters.t_mono_ns, counters.start_ns), (101, 111));
        assert_eq!(
            (counters.run_ns, counters.utime_ns),
            (2, 5),
            "no times of day"
        );
        assert_eq!(
            (counters.io.rchar, counters.io.written),
            (Some(12), Some(15))
        );
        assert_eq!((counters.tid, counters.cpu), (77, 3));
        assert_eq!(counters.comm.as_str(), "burn");
        bytes[88..96].copy_from_slice(&(-1_i64).to_ne_bytes());
        assert_eq!(Counters::read(Fields(&bytes), 0).io.rchar, None);
    }
}
