//! The messages that matter: pauses, safepoints, and which collector it is.

mod pause;
mod safepoint;
mod space;
#[cfg(test)]
mod tests;

use super::decorations::decimal;
pub use pause::Pause;
use pause::pause;
pub use safepoint::Safepoint;
use safepoint::{safepoint, stopped};
pub use space::Space;
use space::space;

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

/// `24M` as bytes.
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
