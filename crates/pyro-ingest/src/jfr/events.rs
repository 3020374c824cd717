//! Events of interest, found by name and read by the chunk's own metadata.

use super::bytes::{Cursor, Text};
use super::keys::ByKey;
use super::metadata::Metadata;
use super::shape::{Shape, Value};

/// What an event is to Pyrometer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A sample of a running thread.
    Execution,
    /// The same each time that a thread has used so much CPU time (JDK 25 and later).
    CpuTime,
    /// A sample of a thread in native code, running or not (JDK's own sampler).
    NativeMethod,
    /// Samples of a thread, running or asleep.
    Wall,
    /// A sampled allocation.
    Allocation,
    /// Time spent waiting for a lock.
    Lock,
    /// The same for a lock of native code.
    NativeLock,
    /// A sampled object that was in use at the end.
    Live,
    /// A call of the native allocator.
    Malloc,
    /// Its memory given back.
    Free,
    /// A JIT compilation.
    Compilation,
    /// Events were lost before they were written.
    DataLoss,
    /// Samples by CPU time were.
    SamplesLost,
    /// A setting of the recording.
    Setting,
    /// What recorded it.
    Recording,
    /// Facts of the JVM.
    Jvm,
}

/// Fields that are kept, by position.
#[derive(Debug, Clone, Copy)]
pub enum Slot {
    /// Start, ticks.
    Start,
    /// Length, ticks.
    Duration,
    /// Key of the thread.
    Thread,
    /// Key of the stack.
    Stack,
    /// Key of the state.
    State,
    /// Samples of a batch, or a number of its own for other kinds.
    Count,
    /// Ticks that a batch spans, or that a sample stands for.
    Span,
    /// Key of a class.
    Class,
    /// Bytes.
    Bytes,
    /// A name.
    Name,
    /// A value.
    Value,
}
use Slot::{Bytes, Class, Count, Duration, Name, Span, Stack, Start, State, Thread};

/// Number of slots.
const SLOTS: usize = 11;

/// Fields of one event. Only a few have text: it is kept apart, so that a record is short.
#[derive(Default)]
pub struct Record<'a> {
    numbers: [u64; SLOTS],
    /// Slots that hold a number, a bit each.
    known: u16,
    name: Option<Text<'a>>,
    value: Option<Text<'a>>,
}

impl<'a> Record<'a> {
    /// The field of a slot as a number, if it is one.
    #[inline]
    pub fn get(&self, slot: Slot) -> Option<u64> {
        let slot = slot as usize;
        (self.known & (1 << slot) != 0).then(|| self.numbers[slot])
    }

    /// The field as a number, 0 if absent.
    #[inline]
    pub fn number(&self, slot: Slot) -> u64 {
        self.get(slot).unwrap_or(0)
    }

    /// The name, if it is text.
    pub fn name(&self) -> Option<Text<'a>> {
        self.name
    }

    /// The value, if it is text.
    pub fn value(&self) -> Option<Text<'a>> {
        self.value
    }

    #[inline]
    fn set(&mut self, slot: usize, value: Value<'a>) {
        match value {
            Value::Number(number) => {
                self.numbers[slot] = number;
                self.known |= 1 << slot;
            }
            Value::Text(text) if slot == Name as usize => self.name = Some(text),
            Value::Text(text) if slot == Slot::Value as usize => self.value = Some(text),
            // Text where a number is expected.
            Value::Text(_) | Value::Absent => {}
        }
    }
}

/// Fields and the slots that they fill.
type Fields = &'static [(Slot, &'static str)];

/// What many events have.
const COMMON: Fields = &[
    (Start, "startTime"),
    (Duration, "duration"),
    (Thread, "eventThread"),
    (Stack, "stackTrace"),
];
const SAMPLED: Fields = &[(Thread, "sampledThread"), (State, "state")];

/// Events by name, what they are, and their fields beside the common ones.
const EVENTS: [(&str, Kind, Fields); 19] = [
    ("jdk.ExecutionSample", Kind::Execution, SAMPLED),
    (
        "jdk.CPUTimeSample",
        Kind::CpuTime,
        &[(Span, "samplingPeriod")],
    ),
    ("jdk.NativeMethodSample", Kind::NativeMethod, SAMPLED),
    (
        "profiler.WallClockSample",
        Kind::Wall,
        &[
            (Thread, "sampledThread"),
            (State, "state"),
            (Count, "samples"),
            (Span, "timeSpan"),
        ],
    ),
    (
        "jdk.ObjectAllocationInNewTLAB",
        Kind::Allocation,
        &[(Class, "objectClass"), (Bytes, "tlabSize")],
    ),
    (
        "jdk.ObjectAllocationOutsideTLAB",
        Kind::Allocation,
        &[(Class, "objectClass"), (Bytes, "allocationSize")],
    ),
    (
        "jdk.ObjectAllocationSample",
        Kind::Allocation,
        &[(Class, "objectClass"), (Bytes, "weight")],
    ),
    (
        "profiler.LiveObject",
        Kind::Live,
        &[(Class, "objectClass"), (Bytes, "allocationSize")],
    ),
    (
        "profiler.Malloc",
        Kind::Malloc,
        &[(Count, "address"), (Bytes, "size")],
    ),
    ("profiler.Free", Kind::Free, &[(Count, "address")]),
    (
        "jdk.JavaMonitorEnter",
        Kind::Lock,
        &[(Class, "monitorClass")],
    ),
    ("jdk.ThreadPark", Kind::Lock, &[(Class, "parkedClass")]),
    ("profiler.NativeLock", Kind::NativeLock, &[]),
    (
        "jdk.Compilation",
        Kind::Compilation,
        &[
            // JDK 25 corrected the spelling.
            (State, "succeded"),
            (State, "succeeded"),
            (Count, "compileLevel"),
            (Class, "method"),
            (Bytes, "codeSize"),
            (Name, "compiler"),
        ],
    ),
    ("jdk.DataLoss", Kind::DataLoss, &[(Bytes, "amount")]),
    (
        "jdk.CPUTimeSamplesLost",
        Kind::SamplesLost,
        &[(Count, "lostSamples")],
    ),
    (
        "jdk.ActiveSetting",
        Kind::Setting,
        &[(Count, "id"), (Name, "name"), (Slot::Value, "value")],
    ),
    ("jdk.ActiveRecording", Kind::Recording, &[(Name, "name")]),
    ("jdk.JVMInformation", Kind::Jvm, &[(Count, "pid")]),
];

/// How to read one type of event.
pub struct Reader {
    /// What it is.
    pub kind: Kind,
    shape: Shape<SLOTS>,
}

impl Reader {
    /// Reads an event into `record`; false if its bytes are too short.
    #[inline]
    pub fn read<'a>(&self, mut body: Cursor<'a>, record: &mut Record<'a>) -> bool {
        (record.known, record.name, record.value) = (0, None, None);
        let set = |slot, value| record.set(slot, value);
        self.shape.read_each(&mut body, set).is_ok()
    }

    /// Whether its events say something of their recording.
    pub fn is_about_recording(&self) -> bool {
        matches!(self.kind, Kind::Setting | Kind::Recording | Kind::Jvm)
    }
}

/// Readers of the events of interest that a chunk declares.
pub struct Readers {
    all: Vec<Reader>,
    /// Their places, by id of the type.
    of_type: ByKey<u32>,
}

impl Readers {
    /// Readers of events of these types.
    pub fn of(metadata: &Metadata) -> Self {
        let mut readers = Self {
            all: Vec::new(),
            of_type: ByKey::default(),
        };
        for (name, kind, fields) in EVENTS {
            let slot = |field: &str| {
                let mut all = COMMON.iter().chain(fields);
                all.find(|(_, name)| *name == field)
                    .map(|(slot, _)| *slot as usize)
            };
            let Some(id) = metadata.id(name) else {
                continue;
            };
            if let Ok(shape) = Shape::compile(metadata, id, slot) {
                readers.of_type.insert(id, readers.all.len() as u32);
                readers.all.push(Reader { kind, shape });
            }
        }
        readers
    }

    /// The reader of a type of event, where that is of interest.
    #[inline]
    pub fn get(&self, id: u64) -> Option<&Reader> {
        self.of_type.get(id).map(|place| &self.all[place as usize])
    }
}
