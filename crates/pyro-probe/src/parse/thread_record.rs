//! Records of the iterator over threads (`bpf/threads.bpf.c`).

/// Bytes of a record without its frames.
const HEADER_BYTES: usize = 152;

/// It had a CPU.
const ON_CPU: u32 = 1;
/// It waited on a run queue.
const WAITS_FOR_CPU: u32 = 2;
/// The kernel counted it as waiting for I/O.
const IO_WAIT: u32 = 4;
/// It has ended but was not waited for.
const ENDED: u32 = 8;
/// Registers and stack are those of the record before.
const AS_BEFORE: u32 = 16;

/// A thread at one moment. Times in ns; counters since the thread's start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record<'a> {
    /// CLOCK_MONOTONIC.
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
    /// Start, on the kernel's monotonic clock.
    pub start_ns: i64,
    /// Stack pointer of its user code; `None` on a CPU, or as before.
    pub user_sp: Option<i64>,
    /// Instruction pointer of its user code.
    pub user_pc: Option<i64>,
    /// System call it is in.
    pub syscall: Option<i64>,
    /// Thread.
    pub tid: i32,
    /// The kernel's `__state`: 0 runnable, 1 interruptible, 2 uninterruptible, others.
    pub state: u32,
    /// CPU it last ran on.
    pub cpu: i32,
    /// It had a CPU.
    pub on_cpu: bool,
    /// It waited on a run queue.
    pub waits_for_cpu: bool,
    /// The kernel counted it as waiting for I/O.
    pub io_wait: bool,
    /// It has ended but was not waited for.
    pub ended: bool,
    /// Registers and stack are those of the record before.
    pub as_before: bool,
    /// Name.
    pub comm: &'a str,
    /// Addresses of its kernel stack, leaf first, 8 bytes each.
    pub(crate) frames: &'a [u8],
}

impl Record<'_> {
    /// Addresses of its kernel stack, leaf first.
    pub fn frames(&self) -> impl Iterator<Item = u64> {
        self.frames
            .chunks_exact(8)
            .map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..at + 8).and_then(|word| word.try_into().ok());
    u64::from_ne_bytes(bytes.unwrap_or_default())
}

fn half(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|half| half.try_into().ok());
    u32::from_ne_bytes(bytes.unwrap_or_default())
}

/// Hands out the whole records; what is cut at the end is left out.
pub fn records(mut bytes: &[u8], each: &mut dyn FnMut(&Record)) {
    while let Some((record, rest)) = record(bytes) {
        each(&record);
        bytes = rest;
    }
}

fn record(bytes: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let header = bytes.get(..HEADER_BYTES)?;
    let frames_count = usize::try_from(word(header, 144)).ok()?;
    let end = frames_count.checked_mul(8)?.checked_add(HEADER_BYTES)?;
    let frames = bytes.get(HEADER_BYTES..end)?;
    let signed = |index: usize| i64::try_from(word(header, index * 8)).unwrap_or(i64::MAX);
    let flags = half(header, 124);
    let known = flags & (ON_CPU | ENDED | AS_BEFORE) == 0;
    let register = |index: usize| known.then(|| word(header, index * 8) as i64);
    let name = header[128..144].split(|&byte| byte == 0).next();
    let record = Record {
        t_mono_ns: signed(0),
        run_ns: signed(1),
        run_delay_ns: signed(2),
        timeslices_count: signed(3),
        utime_ns: signed(4),
        stime_ns: signed(5),
        voluntary_count: signed(6),
        involuntary_count: signed(7),
        minor_faults_count: signed(8),
        major_faults_count: signed(9),
        start_ns: signed(10),
        user_sp: register(11),
        user_pc: register(12),
        syscall: register(13).filter(|&number| number >= 0),
        tid: half(header, 112) as i32,
        state: half(header, 116),
        cpu: half(header, 120) as i32,
        on_cpu: flags & ON_CPU != 0,
        waits_for_cpu: flags & WAITS_FOR_CPU != 0,
        io_wait: flags & IO_WAIT != 0,
        ended: flags & ENDED != 0,
        as_before: flags & AS_BEFORE != 0,
        comm: name.map_or("", |name| std::str::from_utf8(name).unwrap_or("?")),
        frames,
    };
    Some((record, &bytes[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A record as the program writes it.
    fn bytes(flags: u32, frames: &[u64]) -> Vec<u8> {
        let mut bytes: Vec<u8> = (1..=13_u64).flat_map(u64::to_ne_bytes).collect();
        bytes.extend(202_i64.to_ne_bytes());
        bytes.extend([77, 1, 3, flags].iter().flat_map(|half| half.to_ne_bytes()));
        bytes.extend(b"Executor task l\0");
        bytes.extend((frames.len() as u64).to_ne_bytes());
        bytes.extend(frames.iter().flat_map(|frame| frame.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_thread_that_sleeps_and_one_on_a_cpu() {
        let mut both = bytes(IO_WAIT, &[0xffff_ffff_8100_0000, 8]);
        both.extend(bytes(ON_CPU, &[]));
        let mut got = 0;
        records(&both, &mut |record| {
            got += 1;
            assert_eq!((record.tid, record.cpu, record.state), (77, 3, 1));
            assert_eq!((record.t_mono_ns, record.start_ns), (1, 11));
            assert_eq!(record.comm, "Executor task l");
            if record.io_wait {
                let registers = (record.user_sp, record.user_pc, record.syscall);
                assert_eq!(registers, (Some(12), Some(13), Some(202)));
                assert_eq!(
                    record.frames().collect::<Vec<_>>(),
                    [0xffff_ffff_8100_0000, 8]
                );
            } else {
                assert!(record.on_cpu && record.user_sp.is_none() && record.syscall.is_none());
            }
        });
        assert_eq!(got, 2);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            records(&bytes, &mut |record| { record.frames().count(); });
        }

        #[test]
        fn a_cut_record_is_left_out(cut in 0_usize..336) {
            let mut whole = bytes(0, &[1]);
            whole.extend(bytes(0, &[2, 3]));
            let mut got = 0;
            records(&whole[..cut.min(whole.len())], &mut |_| got += 1);
            prop_assert_eq!(got, usize::from(cut >= 160) + usize::from(cut >= 328));
        }
    }
}
