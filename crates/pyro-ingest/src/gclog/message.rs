//! The messages that matter: pauses, safepoints, and which collector it is.

use super::decorations::decimal;

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

/// Reads a message, which is what follows the decorations.
pub fn parse(text: &str) -> Message<'_> {
    if let Some(rest) = text.strip_prefix("GC(") {
        return numbered(rest).unwrap_or(Message::Broken);
    }
    if let Some(rest) = text.strip_prefix("Safepoint \"") {
        return safepoint(rest).map_or(Message::Broken, Message::Safepoint);
    }
    if let Some(rest) = text.strip_prefix("Entering safepoint region: ") {
        return Message::Entering(rest);
    }
    if let Some(rest) = text.strip_prefix("Total time for which application threads were stopped: ")
    {
        return stopped(rest).unwrap_or(Message::Broken);
    }
    // JDK 11 writes it in lower case.
    let sized = text
        .strip_prefix("Heap Region Size: ")
        .or_else(|| text.strip_prefix("Heap region size: "));
    if let Some(bytes) = sized.and_then(size) {
        return Message::RegionSize(bytes);
    }
    let named = text
        .strip_prefix("Using ")
        .or_else(|| text.strip_prefix("Initializing "));
    named
        .and_then(collector)
        .map_or(Message::Other, Message::Collector)
}

fn collector(name: &str) -> Option<&'static str> {
    Some(match name.trim_end() {
        "G1" => "G1",
        "Parallel" => "Parallel",
        "Serial" => "Serial",
        "Concurrent Mark Sweep" => "CMS",
        other if other.starts_with("Shenandoah") => "Shenandoah",
        other if other.starts_with("The Z Garbage Collector") => "ZGC",
        _ => return None,
    })
}

fn numbered(rest: &str) -> Option<Message<'_>> {
    let (id, text) = rest.split_once(')')?;
    let gc_id = id.parse().ok()?;
    let text = text.trim_start();
    // Generational ZGC: `y:`/`o:` within a minor, `Y:`/`O:` within a major collection.
    let (generation, text) = match text.as_bytes() {
        [b'Y' | b'y', b':', ..] => ("young ", text[2..].trim_start()),
        [b'O' | b'o', b':', ..] => ("old ", text[2..].trim_start()),
        _ => ("", text),
    };
    if let Some(text) = text.strip_prefix("Pause ") {
        return Some(pause(gc_id, generation, text));
    }
    let cycle = [
        "Garbage Collection (",
        "Major Collection (",
        "Minor Collection (",
    ];
    if let Some(text) = cycle.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        // The line that ends the cycle repeats the cause and adds sizes: only the first counts.
        let cause = text.strip_suffix(')').filter(|cause| !cause.contains("->"));
        return Some(cause.map_or(Message::Other, |cause| Message::Cycle { gc_id, cause }));
    }
    if let Some(text) = text.strip_prefix("Concurrent ") {
        return Some(concurrent(gc_id, generation, text).unwrap_or(Message::Other));
    }
    if let Some(text) = text.strip_prefix("- age ") {
        return Some(age(gc_id, text).unwrap_or(Message::Other));
    }
    Some(space(gc_id, text).unwrap_or(Message::Other))
}

/// `Mark (0.283s, 0.285s) 2.1ms`, `reset 23M->23M(64M) 0.2ms`; the line that announces a phase has
/// no length.
fn concurrent<'a>(gc_id: i64, generation: &str, text: &str) -> Option<Message<'a>> {
    let (head, last) = text.rsplit_once(' ')?;
    let duration_ns = decimal(last.strip_suffix("ms")?, 6)?;
    let plain = |word: &&str| !word.starts_with('(') && !word.contains("->");
    let words: Vec<&str> = head.split_whitespace().take_while(plain).collect();
    let phase = format!("{generation}{}", words.join(" ").to_lowercase());
    Some(Message::Concurrent(Concurrent {
        gc_id,
        phase,
        duration_ns,
    }))
}

/// `  1:    1147960 bytes,    1147960 total`.
fn age<'a>(gc_id: i64, text: &str) -> Option<Message<'a>> {
    let (age, rest) = text.split_once(':')?;
    let (bytes, _) = rest.split_once(" bytes")?;
    Some(Message::Age {
        gc_id,
        age: age.trim().parse().ok()?,
        bytes: bytes.trim().parse().ok().filter(|bytes| *bytes >= 0)?,
    })
}

/// `Eden regions: 51->0(52)` of G1; `DefNew: 28903K(29504K)->2489K(29504K) Eden: …` of the
/// others, before JDK 14 without the first parenthesis.
fn space<'a>(gc_id: i64, text: &str) -> Option<Message<'a>> {
    let (name, rest) = text.split_once(": ")?;
    let (space, in_regions) = match name {
        "Eden regions" => (Space::EdenRegions, true),
        "Survivor regions" => (Space::SurvivorRegions, true),
        "Old regions" => (Space::OldRegions, true),
        "Humongous regions" => (Space::HumongousRegions, true),
        "DefNew" | "PSYoungGen" | "ParNew" => (Space::Young, false),
        "Tenured" | "ParOldGen" | "PSOldGen" | "CMS" => (Space::Old, false),
        _ => return None,
    };
    let (before, rest) = rest.split_once("->")?;
    let amount = |text: &str| {
        let text = text.split('(').next()?.trim();
        if in_regions {
            text.parse::<u32>().ok().map(i64::from)
        } else {
            size(text)
        }
    };
    let sizes = (amount(before)?, amount(rest)?);
    Some(Message::Space {
        gc_id,
        space,
        sizes,
    })
}

/// `Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.456ms`. The line that announces a pause
/// has neither sizes nor a length, and one that was cut has sizes without a length.
fn pause<'a>(gc_id: i64, generation: &str, text: &'a str) -> Message<'a> {
    let (head, last) = text.rsplit_once(' ').unwrap_or(("", text));
    let duration = last
        .strip_suffix("ms")
        .and_then(|number| decimal(number, 6));
    let Some(duration_ns) = duration else {
        let whole = last.ends_with(')') && !last.contains("->") || !last.contains(['(', '>', '.']);
        return if whole {
            Message::Other
        } else {
            Message::Broken
        };
    };
    let (head, heap_bytes) = match head.rsplit_once(' ') {
        Some((before, sizes)) => match heap(sizes) {
            Some(bytes) => (before, Some(bytes)),
            None => (head, None),
        },
        None => (head, None),
    };
    let words = head.split(" (").next().unwrap_or(head).trim();
    let mut parentheses = Groups(head.get(words.len()..).unwrap_or("").trim());
    let (first, second) = (parentheses.next(), parentheses.next());
    let mut kind = format!("{generation}{}", words.to_lowercase());
    // G1 names the sort of a young pause first and the cause second; others only the cause.
    let cause = match (words, first, second) {
        ("Young", Some(sort), Some(cause)) => {
            match sort {
                "Normal" => {}
                "Mixed" => kind = "mixed".to_owned(),
                other => kind = format!("{kind} {}", other.to_lowercase()),
            }
            Some(cause)
        }
        ("Init Mark" | "Final Mark", Some(detail), None) => {
            kind = format!("{kind} ({})", detail.to_lowercase());
            None
        }
        ("Mark Start", Some(_), None) => None, // ZGC: (Major) or (Minor); the cycle has the cause
        (_, cause, _) => cause,
    };
    Message::Pause(Pause {
        gc_id,
        kind,
        cause,
        heap_bytes,
        duration_ns,
    })
}

/// Top-level parenthesised groups: `(A) (System.gc())` gives `A`, `System.gc()`.
struct Groups<'a>(&'a str);

impl<'a> Iterator for Groups<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start().strip_prefix('(')?;
        let mut depth = 1;
        for (at, byte) in text.bytes().enumerate() {
            depth += match byte {
                b'(' => 1,
                b')' => -1,
                _ => 0,
            };
            if depth == 0 {
                self.0 = &text[at + 1..];
                return Some(&text[..at]);
            }
        }
        None
    }
}

/// `24M->4M(256M)`.
fn heap(text: &str) -> Option<(i64, i64, i64)> {
    let (before, rest) = text.split_once("->")?;
    let (after, rest) = rest.split_once('(')?;
    Some((size(before)?, size(after)?, size(rest.strip_suffix(')')?)?))
}

fn size(text: &str) -> Option<i64> {
    let unit = match text.as_bytes().last()? {
        b'B' => 1,
        b'K' => 1 << 10,
        b'M' => 1 << 20,
        b'G' => 1 << 30,
        b'T' => 1_i64 << 40,
        _ => return None,
    };
    text[..text.len() - 1]
        .parse::<u32>()
        .ok()
        .and_then(|n| i64::from(n).checked_mul(unit))
}

fn safepoint(rest: &str) -> Option<Safepoint<'_>> {
    let (operation, rest) = rest.split_once('"')?;
    let (mut reaching_ns, mut at_ns, mut total_ns) = (None, None, None);
    for part in rest.split(',') {
        let Some((name, value)) = part.split_once(':') else {
            continue;
        };
        let nanos = value
            .trim()
            .strip_suffix(" ns")
            .and_then(|n| n.parse().ok());
        match name.trim() {
            "Reaching safepoint" => reaching_ns = nanos,
            "At safepoint" => at_ns = nanos,
            "Total" => total_ns = nanos,
            _ => {}
        }
    }
    Some(Safepoint {
        operation,
        reaching_ns,
        at_ns,
        total_ns: total_ns?,
    })
}

/// `0.0003210 seconds, Stopping threads took: 0.0000250 seconds`.
fn stopped(rest: &str) -> Option<Message<'_>> {
    let (total, rest) = rest.split_once(" seconds")?;
    let reaching = rest
        .strip_prefix(", Stopping threads took: ")
        .and_then(|r| r.strip_suffix(" seconds"));
    Some(Message::Stopped {
        total_ns: decimal(total, 9)?,
        reaching_ns: reaching.and_then(|number| decimal(number, 9)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause_of(text: &str) -> Pause<'_> {
        match parse(text) {
            Message::Pause(pause) => pause,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn pauses_of_every_collector() {
        const MIB: i64 = 1 << 20;
        let cases = [
            (
                "GC(12) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.456ms",
                "young",
                Some("G1 Evacuation Pause"),
                Some((24 * MIB, 4 * MIB, 256 * MIB)),
                3_456_000,
            ),
            (
                "GC(1) Pause Young (Mixed) (G1 Preventive Collection) 50M->49M(60M) 2.145ms",
                "mixed",
                Some("G1 Preventive Collection"),
                Some((50 * MIB, 49 * MIB, 60 * MIB)),
                2_145_000,
            ),
            (
                "GC(5) Pause Young (Concurrent Start) (G1 Humongous Allocation) 41M->41M(64M) 4.035ms",
                "young concurrent start",
                Some("G1 Humongous Allocation"),
                Some((41 * MIB, 41 * MIB, 64 * MIB)),
                4_035_000,
            ),
            (
                "GC(24) Pause Young (Prepare Mixed) (G1 Evacuation Pause) 46M->46M(60M) 3.658ms",
                "young prepare mixed",
                Some("G1 Evacuation Pause"),
                Some((46 * MIB, 46 * MIB, 60 * MIB)),
                3_658_000,
            ),
            (
                "GC(3) Pause Remark 34M->18M(47M) 0.346ms",
                "remark",
                None,
                Some((34 * MIB, 18 * MIB, 47 * MIB)),
                346_000,
            ),
            (
                "GC(92) Pause Young (System.gc()) 11M->11M(46M) 0.299ms",
                "young",
                Some("System.gc()"),
                Some((11 * MIB, 11 * MIB, 46 * MIB)),
                299_000,
            ),
            (
                "GC(93) Pause Full (System.gc()) 512K->1G(2G) 3.392ms",
                "full",
                Some("System.gc()"),
                Some((512 << 10, 1 << 30, 2 << 30)),
                3_392_000,
            ),
            (
                "GC(0) Pause Mark Start 0.011ms",
                "mark start",
                None,
                None,
                11_000,
            ),
            (
                "GC(0) Y: Pause Mark Start (Major) 0.012ms",
                "young mark start",
                None,
                None,
                12_000,
            ),
            (
                "GC(0) O: Pause Relocate Start 0.004ms",
                "old relocate start",
                None,
                None,
                4_000,
            ),
            (
                "GC(0) Pause Init Mark (unload classes) 0.022ms",
                "init mark (unload classes)",
                None,
                None,
                22_000,
            ),
            (
                "GC(7) Pause Final Update Refs 0.013ms",
                "final update refs",
                None,
                None,
                13_000,
            ),
            (
                "GC(7) Pause Degenerated GC (Mark) 30M->20M(64M) 5.001ms",
                "degenerated gc",
                Some("Mark"),
                Some((30 * MIB, 20 * MIB, 64 * MIB)),
                5_001_000,
            ),
        ];
        for (text, kind, cause, heap_bytes, duration_ns) in cases {
            let pause = pause_of(text);
            assert_eq!((pause.kind.as_str(), pause.cause), (kind, cause), "{text}");
            assert_eq!(
                (pause.heap_bytes, pause.duration_ns),
                (heap_bytes, duration_ns),
                "{text}"
            );
        }
    }

    #[test]
    fn announced_pauses_are_not_counted_and_cut_ones_are_told() {
        assert_eq!(
            parse("GC(0) Pause Young (Normal) (G1 Evacuation Pause)"),
            Message::Other
        );
        assert_eq!(parse("GC(0) Pause Full (System.gc())"), Message::Other);
        assert_eq!(parse("GC(0) Pause Remark"), Message::Other);
        assert_eq!(
            parse("GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.4"),
            Message::Broken
        );
        assert_eq!(
            parse("GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(25"),
            Message::Broken
        );
        assert_eq!(
            parse("Safepoint \"G1Collect\", Time since last: 19 ns, Reaching sa"),
            Message::Broken
        );
    }

    #[test]
    fn safepoints_new_and_old() {
        let line = "Safepoint \"ZMarkEndOld\", Time since last: 1519526 ns, Reaching safepoint: 92811 ns, \
                    At safepoint: 12069 ns, Leaving safepoint: 13367 ns, Total: 118247 ns, Threads: 1 runnable, 10 total";
        let expected = Safepoint {
            operation: "ZMarkEndOld",
            reaching_ns: Some(92_811),
            at_ns: Some(12_069),
            total_ns: 118_247,
        };
        assert_eq!(parse(line), Message::Safepoint(expected));
        let line = "Total time for which application threads were stopped: 0.0003210 seconds, Stopping threads took: 0.0000250 seconds";
        assert_eq!(
            parse(line),
            Message::Stopped {
                total_ns: 321_000,
                reaching_ns: Some(25_000)
            }
        );
        assert_eq!(
            parse("Entering safepoint region: RevokeBias"),
            Message::Entering("RevokeBias")
        );
    }

    #[test]
    fn generations_of_every_collector() {
        const KIB: i64 = 1 << 10;
        let cases = [
            ("GC(5) Eden regions: 51->0(52)", Space::EdenRegions, (51, 0)),
            ("GC(5) Old regions: 4->7", Space::OldRegions, (4, 7)),
            (
                "GC(5) DefNew: 28903K(29504K)->2489K(29504K) Eden: 26240K(26240K)->0K(26240K) From: 2663K(3264K)->2489K(3264K)",
                Space::Young,
                (28903 * KIB, 2489 * KIB),
            ),
            (
                "GC(5) Tenured: 7098K(65536K)->11323K(65536K)",
                Space::Old,
                (7098 * KIB, 11323 * KIB),
            ),
            (
                "GC(5) PSYoungGen: 28641K->4065K(24576K)",
                Space::Young,
                (28641 * KIB, 4065 * KIB),
            ),
            (
                "GC(5) ParOldGen: 6092K(65536K)->7454K(65536K)",
                Space::Old,
                (6092 * KIB, 7454 * KIB),
            ),
        ];
        for (text, space, sizes) in cases {
            let expected = Message::Space {
                gc_id: 5,
                space,
                sizes,
            };
            assert_eq!(parse(text), expected, "{text}");
        }
        for text in [
            "GC(5) Metaspace: 143K(384K)->143K(384K)",
            "GC(5) Old regions: 4",
            "GC(5) Old regions: -4->7",
        ] {
            assert_eq!(parse(text), Message::Other, "{text}");
        }
    }

    #[test]
    fn ages_regions_and_concurrent_phases() {
        assert_eq!(
            parse("GC(5) - age   2:    1401072 bytes,    2549032 total"),
            Message::Age {
                gc_id: 5,
                age: 2,
                bytes: 1_401_072
            }
        );
        for text in ["Heap Region Size: 2M", "Heap region size: 2M"] {
            assert_eq!(parse(text), Message::RegionSize(2 << 20));
        }
        let cases = [
            (
                "GC(6) Concurrent Mark Cycle 20.5ms",
                "mark cycle",
                20_500_000,
            ),
            (
                "GC(6) Concurrent Mark (0.283s, 0.285s) 2.125ms",
                "mark",
                2_125_000,
            ),
            (
                "GC(6) Concurrent reset 23M->23M(64M) 0.211ms",
                "reset",
                211_000,
            ),
            ("GC(6) O: Concurrent Mark 7.000ms", "old mark", 7_000_000),
        ];
        for (text, phase, duration_ns) in cases {
            let expected = Message::Concurrent(Concurrent {
                gc_id: 6,
                phase: phase.to_owned(),
                duration_ns,
            });
            assert_eq!(parse(text), expected, "{text}");
        }
        assert_eq!(parse("GC(6) Concurrent Mark Cycle"), Message::Other);
    }

    #[test]
    fn cycles_give_zgc_its_causes() {
        assert_eq!(
            parse("GC(3) Garbage Collection (Allocation Stall)"),
            Message::Cycle {
                gc_id: 3,
                cause: "Allocation Stall"
            }
        );
        assert_eq!(
            parse("GC(3) Garbage Collection (Allocation Stall) 64M(100%)->16M(25%)"),
            Message::Other
        );
        assert_eq!(
            parse("GC(5) Major Collection (System.gc())"),
            Message::Cycle {
                gc_id: 5,
                cause: "System.gc()"
            }
        );
    }
}
