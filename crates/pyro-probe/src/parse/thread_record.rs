//! Records of the iterator over threads (`bpf/threads.bpf.c`).

use super::counters::{COUNTERS, Counters, Fields};

/// Bytes of the record of a thread that is asleep.
const ASLEEP_BYTES: usize = 8;
/// Bytes of another record without its frames.
const HEADER_BYTES: usize = ASLEEP_BYTES + COUNTERS + 40;

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
/// It has slept since the record before.
const ASLEEP: u32 = 32;

/// A thread at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record<'a> {
    /// The moment, and its counters then.
    pub counters: Counters,
    /// Stack pointer of its user code; `None` on a CPU, or as before.
    pub user_sp: Option<i64>,
    /// Instruction pointer of its user code.
    pub user_pc: Option<i64>,
    /// System call it is in.
    pub syscall: Option<i64>,
    /// The kernel's `__state`: 0 runnable, 1 interruptible, 2 uninterruptible, others.
    pub state: u32,
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
    /// Addresses of its kernel stack, leaf first, 8 bytes each.
    frames: &'a [u8],
}

impl Record<'_> {
    /// Addresses of its kernel stack, leaf first.
    pub fn frames(&self) -> impl Iterator<Item = u64> {
        self.frames
            .chunks_exact(8)
            .map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
    }
}

/// What the iterator says of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation<'a> {
    /// How it is now.
    Seen(&'a Record<'a>),
    /// It has slept since its last record, and nothing has changed: its number.
    Asleep(i32),
}

/// Hands out the whole records; what is cut at the end is left out. `ahead_ns` is added to the kernel's times.
pub fn records(mut bytes: &[u8], ahead_ns: i64, each: &mut dyn FnMut(Observation)) {
    while let Some(head) = bytes.get(..ASLEEP_BYTES).map(Fields) {
        if head.half(4) == ASLEEP {
            each(Observation::Asleep(head.id(0)));
            bytes = &bytes[ASLEEP_BYTES..];
        } else if let Some((record, rest)) = record(bytes, ahead_ns) {
            each(Observation::Seen(&record));
            bytes = rest;
        } else {
            return;
        }
    }
}

fn record(bytes: &[u8], ahead_ns: i64) -> Option<(Record<'_>, &[u8])> {
    let f = Fields(bytes.get(..HEADER_BYTES)?);
    let place = f.from(ASLEEP_BYTES + COUNTERS);
    let frames_count = usize::try_from(place.word(32)).ok()?;
    let end = frames_count.checked_mul(8)?.checked_add(HEADER_BYTES)?;
    let frames = bytes.get(HEADER_BYTES..end)?;
    let flags = f.half(4);
    let known = flags & (ON_CPU | ENDED | AS_BEFORE) == 0;
    let register = |at: usize| known.then(|| place.word(at) as i64);
    let record = Record {
        counters: Counters::read(f.from(ASLEEP_BYTES), ahead_ns),
        user_sp: register(0),
        user_pc: register(8),
        syscall: register(16).filter(|&number| number >= 0),
        state: place.half(24),
        on_cpu: flags & ON_CPU != 0,
        waits_for_cpu: flags & WAITS_FOR_CPU != 0,
        io_wait: flags & IO_WAIT != 0,
        ended: flags & ENDED != 0,
        as_before: flags & AS_BEFORE != 0,
        frames,
    };
    Some((record, &bytes[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::counters::tests_support::numbered;
    use proptest::prelude::*;

    /// A record as the program writes it.
    fn bytes(flags: u32, frames: &[u64]) -> Vec<u8> {
        let mut bytes: Vec<u8> = [77, flags]
            .iter()
            .flat_map(|half| half.to_ne_bytes())
            .collect();
        if flags == ASLEEP {
            return bytes;
        }
        bytes.extend(numbered(77, b"Executor task l"));
        bytes.extend(
            [12_u64, 13, 202, 1]
                .iter()
                .flat_map(|word| word.to_ne_bytes()),
        );
        bytes.extend((frames.len() as u64).to_ne_bytes());
        bytes.extend(frames.iter().flat_map(|frame| frame.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_thread_that_waits_one_on_a_cpu_and_one_that_slept_on() {
        let mut all = bytes(IO_WAIT, &[0xffff_ffff_8100_0000, 8]);
        all.extend(bytes(ON_CPU, &[]));
        all.extend(bytes(ASLEEP, &[]));
        let (mut seen, mut asleep) = (0, 0);
        records(&all, 1000, &mut |observed| {
            let Observation::Seen(record) = observed else {
                assert_eq!(observed, Observation::Asleep(77));
                asleep += 1;
                return;
            };
            seen += 1;
            let counters = record.counters;
            assert_eq!((counters.tid, counters.cpu, record.state), (77, 3, 1));
            assert_eq!((counters.t_mono_ns, counters.start_ns), (1001, 1011));
            assert_eq!(counters.comm.as_str(), "Executor task l");
            if record.io_wait {
                let registers = (record.user_sp, record.user_pc, record.syscall);
                assert_eq!(registers, (Some(12), Some(13), Some(202)));
                let frames: Vec<u64> = record.frames().collect();
                assert_eq!(frames, [0xffff_ffff_8100_0000, 8]);
            } else {
                assert!(record.on_cpu && record.user_sp.is_none() && record.syscall.is_none());
            }
        });
        assert_eq!((seen, asleep), (2, 1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            records(&bytes, i64::MAX, &mut |observed| {
                if let Observation::Seen(record) = observed {
                    record.frames().count();
                }
            });
        }

        #[test]
        fn a_cut_record_is_left_out(cut in 0_usize..420) {
            let (one, two) = (bytes(0, &[1]), bytes(0, &[2, 3]));
            let whole = [one.clone(), two].concat();
            let mut got = 0;
            records(&whole[..cut.min(whole.len())], 0, &mut |_| got += 1);
            prop_assert_eq!(got, usize::from(cut >= one.len()) + usize::from(cut >= whole.len()));
        }
    }
}
