//! What lines of the log say.

/// What a message says. Borrowed from the line.
#[derive(Debug, PartialEq)]
pub enum Message<'a> {
    /// The collector's name, as in table gc_pauses.
    Collector(&'static str),
    /// The end of a pause.
    Pause(Pause<'a>),
    /// The start of a concurrent cycle that names its cause (ZGC).
    Cycle {
        /// `GC(n)`.
        gc_id: i64,
        /// As logged.
        cause: &'a str,
    },
    /// Sizes of a part of the heap, before and after a collection.
    Space {
        /// `GC(n)`.
        gc_id: i64,
        /// Which part.
        space: Space,
        /// Before and after: bytes, or regions of G1.
        sizes: (i64, i64),
    },
    /// Survivors of one age.
    Age {
        /// `GC(n)`.
        gc_id: i64,
        /// Collections survived.
        age: i32,
        /// Bytes of that age.
        bytes: i64,
    },
    /// A phase beside the running application has ended.
    Concurrent(Concurrent),
    /// Bytes of a region of G1.
    RegionSize(i64),
    /// A safepoint, JDK 13 and later.
    Safepoint(Safepoint<'a>),
    /// `Entering safepoint region: …`, before JDK 13: names the next stop.
    Entering(&'a str),
    /// `Total time for which application threads were stopped`, before JDK 13.
    Stopped {
        /// Whole stop.
        total_ns: i64,
        /// Time to reach the safepoint.
        reaching_ns: Option<i64>,
    },
    /// A line of the kinds above that is not whole.
    Broken,
    /// Anything else.
    Other,
}

/// A concurrent phase.
#[derive(Debug, PartialEq)]
pub struct Concurrent {
    /// `GC(n)`.
    pub gc_id: i64,
    /// The collector's words in lower case.
    pub phase: String,
    /// Length.
    pub duration_ns: i64,
}

/// A pause line that carries its length.
#[derive(Debug, PartialEq)]
pub struct Pause<'a> {
    /// `GC(n)`.
    pub gc_id: i64,
    /// The collector's words in lower case.
    pub kind: String,
    /// Text of the cause.
    pub cause: Option<&'a str>,
    /// Used before, used after, committed after.
    pub heap_bytes: Option<(i64, i64, i64)>,
    /// Length.
    pub duration_ns: i64,
}

/// A `Safepoint "…"` line.
#[derive(Debug, PartialEq)]
pub struct Safepoint<'a> {
    /// VM operation.
    pub operation: &'a str,
    /// Time to reach the safepoint.
    pub reaching_ns: Option<i64>,
    /// Time at the safepoint.
    pub at_ns: Option<i64>,
    /// Whole stop.
    pub total_ns: i64,
}

/// A part of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Young generation, bytes.
    Young,
    /// Old generation, bytes.
    Old,
    /// G1's eden, regions.
    EdenRegions,
    /// G1's survivors, regions.
    SurvivorRegions,
    /// G1's old generation, regions.
    OldRegions,
    /// G1's humongous objects, regions.
    HumongousRegions,
}
