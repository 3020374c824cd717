//! Why numbers of a recording may be incomplete.

use std::path::Path;

use pyro_model::{Doubt, Severity};

use super::recording::Recording;

/// Doubts about a recording that was read; so many calls of the native allocator were left out.
pub fn doubts(path: &str, recording: &Recording<'_>, left_out: u64) -> Vec<Doubt> {
    let seen = &recording.seen;
    let mut doubts = Vec::new();
    let mut add = |code, severity, count: u64, text: String| {
        if count > 0 {
            doubts.push(
                Doubt::new(code, severity, format!("{path}: {text}"))
                    .in_file(path)
                    .times(count),
            );
        }
    };
    let broken = seen.broken + seen.broken_pools;
    add(
        "jfr_unreadable",
        Severity::Warning,
        broken,
        format!(
            "{} events and {} constant pools could not be read",
            seen.broken, seen.broken_pools
        ),
    );
    let foreign = seen
        .ignored
        .get("jdk.ExecutionSample")
        .copied()
        .unwrap_or(0);
    let event = recording.settings.event.as_deref().unwrap_or("unknown");
    add(
        "jfr_events_ignored",
        Severity::Warning,
        foreign,
        format!("{foreign} samples of event {event} were left out: their weight is not time"),
    );
    add(
        "jfr_events_ignored",
        Severity::Warning,
        left_out,
        format!("{left_out} calls of the native allocator were left out: too many at once"),
    );
    let misnamed = seen.misnamed.len() as u64;
    add(
        "samples_thread_name_differs",
        Severity::Warning,
        misnamed,
        format!(
            "{misnamed} task threads are named after a task that the plugin did not see on them"
        ),
    );
    let pid = recording.pid();
    let unknown = seen.events > 0
        && !without_tasks(path)
        && !pid.is_some_and(|pid| recording.spans.knows(pid));
    add(
        "samples_without_tasks",
        Severity::Warning,
        u64::from(unknown),
        format!(
            "no tasks are known of process {}",
            pid.map_or("unknown".to_owned(), |pid| pid.to_string())
        ),
    );
    let wall = seen.events > 0 && !recording.settings.monotonic;
    add(
        "samples_wall_clock",
        Severity::Info,
        u64::from(wall),
        "times are on the wall clock".to_owned(),
    );
    doubts
}

/// Whether the process is no part of Spark: no tasks are expected there.
fn without_tasks(path: &str) -> bool {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("profile-java-"))
}
