//! The messages that matter: pauses, safepoints, and which collector it is.

mod kinds;
mod pause;
mod safepoint;
mod size;
mod space;
#[cfg(test)]
mod tests;

use crate::unified_log::decorations::decimal;
pub use kinds::{Concurrent, Message, Pause, Safepoint, Space};
use pause::pause;
use safepoint::{safepoint, stopped};
use size::size;
use space::space;

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
