//! Why numbers of a recording may be incomplete.

use std::path::Path;

use pyro_model::{Doubt, Severity};

use super::recording::{Recording, Seen};
use super::unfreed::Unfreed;

/// Takes a doubt: its code, how much it weighs, of how many things, and what it says.
type Add<'a> = &'a mut dyn FnMut(&'static str, Severity, u64, String);

/// Doubts about a recording that was read, and about what its native memory came to.
pub fn doubts(path: &str, recording: &Recording<'_>, unfreed: &Unfreed<'_>) -> Vec<Doubt> {
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
    unread(&recording.seen, &mut add);
    left_out(recording, &mut add);
    native_memory(unfreed, &mut add);
    tasks(path, recording, &mut add);
    let wall = recording.seen.events > 0 && !recording.settings.monotonic;
    add(
        "samples_wall_clock",
        Severity::Info,
        u64::from(wall),
        "times are on the wall clock".to_owned(),
    );
    doubts
}

/// What could not be read, and what the recorder did not write.
fn unread(seen: &Seen, add: Add<'_>) {
    add(
        "jfr_unreadable",
        Severity::Warning,
        seen.broken + seen.broken_pools,
        format!(
            "{} events and {} constant pools could not be read",
            seen.broken, seen.broken_pools
        ),
    );
    add(
        "jfr_events_lost",
        Severity::Warning,
        seen.losses,
        format!(
            "the recorder lost {} bytes of events: its buffers were full",
            seen.lost_bytes
        ),
    );
    add(
        "jfr_events_lost",
        Severity::Warning,
        seen.lost_samples,
        format!(
            "the recorder lost {} samples by CPU time",
            seen.lost_samples
        ),
    );
}

/// Samples that were read and make no rows.
fn left_out(recording: &Recording<'_>, add: Add<'_>) {
    let seen = &recording.seen;
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
        "jfr_samples_of_same_time",
        Severity::Info,
        seen.of_same_time,
        format!(
            "{} samples jdk.ExecutionSample were left out: jdk.CPUTimeSample counts the same time",
            seen.of_same_time
        ),
    );
}

/// Calls of the native allocator, of which no more than so many are kept.
fn native_memory(unfreed: &Unfreed<'_>, add: Add<'_>) {
    let Unfreed {
        left_out, unsure, ..
    } = unfreed;
    add(
        "jfr_events_ignored",
        Severity::Warning,
        *left_out,
        format!("{left_out} calls of the native allocator were left out: too many at once"),
    );
    add(
        "jfr_events_ignored",
        Severity::Warning,
        *unsure,
        format!(
            "memory of {unsure} calls of the native allocator may have been given back: too many \
             frees at once, some were left out"
        ),
    );
}

/// Whether samples could be given to tasks.
fn tasks(path: &str, recording: &Recording<'_>, add: Add<'_>) {
    let seen = &recording.seen;
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
}

/// Whether the process is no part of Spark: no tasks are expected there.
fn without_tasks(path: &str) -> bool {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("profile-java-"))
}
