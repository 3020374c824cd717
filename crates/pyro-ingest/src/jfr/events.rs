//! Events of interest, told by name and read by the chunk's own metadata.

use super::bytes::Cursor;
use super::metadata::{Metadata, Shape, Value};
use super::pools::KeyMap;

/// What an event is to Pyrometer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A sample of a running thread.
    Execution,
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
    /// Ticks that a batch spans.
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
/// Number of slots.
const SLOTS: usize = 11;

/// Fields of one event.
pub struct Record<'a>([Value<'a>; SLOTS]);

impl Default for Record<'_> {
    fn default() -> Self {
        Self([Value::Absent; SLOTS])
    }
}

impl<'a> Record<'a> {
    /// The field of a slot.
    #[inline]
    pub fn get(&self, slot: Slot) -> Value<'a> {
        self.0[slot as usize]
    }

    /// The field as a number, 0 if absent.
    #[inline]
    pub fn number(&self, slot: Slot) -> u64 {
        self.get(slot).number().unwrap_or(0)
    }
}

/// Event name, kind, and the name of the field for each slot, in the order of [`Slot`].
const EVENTS: [(&str, Kind, [&str; SLOTS]); 18] = [
    (
        "jdk.ExecutionSample",
        Kind::Execution,
        [
            "startTime",
            "",
            "sampledThread",
            "stackTrace",
            "state",
            "",
            "",
            "",
            "",
            "",
            "",
        ],
    ),
    (
        "jdk.CPUTimeSample",
        Kind::Execution,
        [
            "startTime",
            "",
            "eventThread",
            "stackTrace",
            "",
            "samplingPeriod",
            "",
            "",
            "",
            "",
            "",
        ],
    ),
    (
        "jdk.NativeMethodSample",
        Kind::NativeMethod,
        [
            "startTime",
            "",
            "sampledThread",
            "stackTrace",
            "state",
            "",
            "",
            "",
            "",
            "",
            "",
        ],
    ),
    (
        "profiler.WallClockSample",
        Kind::Wall,
        [
            "startTime",
            "",
            "sampledThread",
            "stackTrace",
            "state",
            "samples",
            "timeSpan",
            "",
            "",
            "",
            "",
        ],
    ),
    (
        "jdk.ObjectAllocationInNewTLAB",
        Kind::Allocation,
        [
            "startTime",
            "",
            "eventThread",
            "stackTrace",
            "",
            "",
            "",
            "objectClass",
            "tlabSize",
            "",
            "",
        ],
    ),
    (
        "jdk.ObjectAllocationOutsideTLAB",
        Kind::Allocation,
        [
            "startTime",
            "",
            "eventThread",
            "stackTrace",
            "",
            "",
            "",
            "objectClass",
            "allocationSize",
            "",
            "",
        ],
    ),
    (
        "jdk.ObjectAllocationSample",
        Kind::Allocation,
        [
            "startTime",
            "",
            "eventThread",
            "stackTrace",
            "",
            "",
            "",
            "objectClass",
            "weight",
            "",
            "",
        ],
    ),
    (
        "profiler.LiveObject",
        Kind::Live,
        [
            "startTime",
            "",
            "eventThread",
            "stackTrace",
            "",
            "",
            "",
            "objectClass",
            "allocationSize",
            "",
            "",
        ],
    ),
    (
        "profiler.Malloc",
        Kind::Malloc,
        [
            "startTime",
            "",
            "eventThread",
            "stackTrace",
            "",
            "address",
            "",
            "",
            "size",
            "",
            "",
        ],
    ),
    (
        "profiler.Free",
        Kind::Free,
        ["startTime", "", "", "", "", "address", "", "", "", "", ""],
    ),
    (
        "jdk.JavaMonitorEnter",
        Kind::Lock,
        [
            "startTime",
            "duration",
            "eventThread",
            "stackTrace",
            "",
            "",
            "",
            "monitorClass",
            "",
            "",
            "",
        ],
    ),
    (
        "jdk.ThreadPark",
        Kind::Lock,
        [
            "startTime",
            "duration",
            "eventThread",
            "stackTrace",
            "",
            "",
            "",
            "parkedClass",
            "",
            "",
            "",
        ],
    ),
    (
        "profiler.NativeLock",
        Kind::NativeLock,
        [
            "startTime",
            "duration",
            "eventThread",
            "stackTrace",
            "",
            "",
            "",
            "",
            "",
            "",
            "",
        ],
    ),
    (
        "jdk.Compilation",
        Kind::Compilation,
        [
            "startTime",
            "duration",
            "",
            "",
            "succeded",
            "compileLevel",
            "",
            "method",
            "codeSize",
            "compiler",
            "",
        ],
    ),
    (
        "jdk.ActiveSetting",
        Kind::Setting,
        [
            "startTime",
            "",
            "",
            "",
            "",
            "id",
            "",
            "",
            "",
            "name",
            "value",
        ],
    ),
    (
        "jdk.ActiveRecording",
        Kind::Recording,
        ["startTime", "", "", "", "", "", "", "", "", "name", ""],
    ),
    (
        "jdk.JVMInformation",
        Kind::Jvm,
        ["startTime", "", "", "", "", "pid", "", "", "", "", ""],
    ),
    // JDK 25 corrected the spelling of the field; both are tried, the first that exists counts.
    (
        "jdk.Compilation",
        Kind::Compilation,
        [
            "startTime",
            "duration",
            "",
            "",
            "succeeded",
            "compileLevel",
            "",
            "method",
            "codeSize",
            "compiler",
            "",
        ],
    ),
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
    pub fn read<'a>(&self, body: &'a [u8], record: &mut Record<'a>) -> bool {
        record.0.fill(Value::Absent);
        self.shape
            .read_into(&mut Cursor::new(body), &mut record.0)
            .is_ok()
    }
}

/// Readers of the events of interest that a chunk declares, by type id.
pub fn readers(metadata: &Metadata) -> KeyMap<u64, Reader> {
    let mut readers = KeyMap::default();
    for (name, kind, fields) in &EVENTS {
        let Some(id) = metadata.id(name) else {
            continue;
        };
        let has = |field: &str| {
            metadata
                .get(id)
                .is_some_and(|class| class.fields.iter().any(|f| f.name == field))
        };
        if fields
            .iter()
            .any(|field| field.starts_with("succe") && !has(field))
        {
            continue;
        }
        if let Ok(shape) = Shape::compile(metadata, id, fields) {
            readers.insert(id, Reader { kind: *kind, shape });
        }
    }
    readers
}
