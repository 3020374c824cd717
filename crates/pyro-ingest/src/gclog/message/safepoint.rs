//! Lines that end a stop of all threads.

use super::kinds::{Message, Safepoint};
use crate::unified_log::decorations::decimal;

/// `ZMarkEndOld", …, Reaching safepoint: 92811 ns, At safepoint: 12069 ns, …, Total: 118247 ns, …`.
pub(super) fn safepoint(rest: &str) -> Option<Safepoint<'_>> {
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
pub(super) fn stopped(rest: &str) -> Option<Message<'_>> {
    let (total, rest) = rest.split_once(" seconds")?;
    let reaching = rest
        .strip_prefix(", Stopping threads took: ")
        .and_then(|r| r.strip_suffix(" seconds"));
    Some(Message::Stopped {
        total_ns: decimal(total, 9)?,
        reaching_ns: reaching.and_then(|number| decimal(number, 9)),
    })
}
