//! Profiles of other tools as tables.

use pyro_model::{IngestReport, Result};
use pyro_stacks::folded::perf_script::PerfScript;
use pyro_stacks::folded::{Folded, collapsed, frame_of};

use super::source::{Watched, error};
use crate::profile_tables::{ProfileTables, Sample};

/// What collapsed text does not say of itself.
#[derive(Debug, Clone)]
pub struct FoldedOptions<'a> {
    /// Host, where known.
    pub host: Option<&'a str>,
    /// Event of all samples.
    pub event: &'a str,
    /// Unit of their weights.
    pub unit: &'a str,
}

/// Reads collapsed stacks (`root;caller;leaf 12`) into tables `samples`, `stacks` and `frames` of
/// folder `out`: a row of samples for each distinct stack. A first frame `[name tid=12]`, as
/// async-profiler writes it, names the thread.
///
/// # Errors
/// If the file cannot be read, a line is not a stack and a whole number, or a table cannot be
/// written.
pub fn import_folded(
    path: &str,
    out: &str,
    options: &FoldedOptions<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<IngestReport> {
    let mut folded = Folded::default();
    let counts = collapsed::read(Watched::open(path, go_on)?, &mut folded)
        .map_err(|problem| error(path, problem))?;
    let mut tables = ProfileTables::create("folded", options.host, out)?;
    tables.event(options.event, options.event, options.unit);
    let mut frames = Vec::with_capacity(folded.names_count());
    for name in 0..folded.names_count() as u32 {
        let text = String::from_utf8_lossy(folded.name_of(name));
        frames.push(tables.frame(&frame_of(&text))?);
    }
    let mut stack = Vec::new();
    for (names, weight) in folded.iter() {
        stack.clear();
        stack.extend(names.iter().map(|&name| frames[name as usize]));
        let first = names.first().map(|&name| folded.name_of(name));
        let (thread, tid) = first.and_then(thread_of).unzip();
        let sample = Sample {
            weight,
            tid,
            thread: thread.as_deref().unwrap_or_default(),
            ..Sample::default()
        };
        tables.push(&sample, &stack)?;
    }
    let mut report = tables.finish(path)?;
    report.stats.insert("lines", counts.lines.into());
    report.stats.insert("bytes", counts.bytes.into());
    Ok(report)
}

/// Thread of a first frame `[name tid=12]` or `[tid=12]`.
fn thread_of(name: &[u8]) -> Option<(String, i64)> {
    let inside = std::str::from_utf8(name).ok()?;
    let inside = inside.strip_prefix('[')?.strip_suffix(']')?;
    let (thread, tid) = inside.rsplit_once("tid=")?;
    Some((thread.trim_end().to_owned(), tid.parse().ok()?))
}

/// Reads the text of `perf script` into tables `samples`, `stacks` and `frames` of folder `out`:
/// a row for each sample. A sample weighs its period, in the event's unit, or 1 where perf did
/// not print it. The first event that samples time on CPU becomes `cpu`; others keep their name.
///
/// # Errors
/// If the file cannot be read, a line where a sample should begin does not begin one, or a table
/// cannot be written.
pub fn import_perf_script(
    path: &str,
    out: &str,
    host: Option<&str>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<IngestReport> {
    let mut script = PerfScript::new(Watched::open(path, go_on)?);
    let mut tables = ProfileTables::create("perf-script", host, out)?;
    // Frames of each symbol, root first.
    let mut frames: Vec<Box<[u32]>> = Vec::new();
    let mut stack = Vec::new();
    while script
        .read_sample()
        .map_err(|problem| error(path, problem))?
    {
        let sample = script.sample();
        let event = sample.event as usize;
        if event == tables.events.len() {
            let name = String::from_utf8_lossy(&script.events[event]);
            let cpu_known = tables.events.iter().any(|event| event.is_cpu());
            let (event, unit) = event_of(&name, sample.period.is_some(), cpu_known);
            tables.event(event, &name, unit);
        }
        while frames.len() < script.symbols.len() {
            let symbol = script.symbols.get(frames.len() as u32);
            let of_symbol = symbol.frames();
            let numbers: Result<Box<[u32]>> =
                of_symbol.iter().map(|frame| tables.frame(frame)).collect();
            frames.push(numbers?);
        }
        stack.clear();
        for &symbol in sample.stack.iter().rev() {
            stack.extend_from_slice(&frames[symbol as usize]);
        }
        let comm = String::from_utf8_lossy(&sample.comm);
        let row = Sample {
            weight: sample.period.unwrap_or(1),
            pid: sample.pid,
            tid: sample.tid,
            t_ns: sample.t_ns,
            thread: &comm,
            event,
            ..Sample::default()
        };
        tables.push(&row, &stack)?;
    }
    let mut report = tables.finish(path)?;
    report.stats.insert("bytes", script.bytes().into());
    report
        .stats
        .insert("other_lines", script.other_lines.into());
    Ok(report)
}

/// Event and unit of one of perf's events. Clocks count ns; `cpu_known`: another samples the CPU.
fn event_of(name: &str, has_period: bool, cpu_known: bool) -> (&str, &'static str) {
    let base = name.split(':').next().unwrap_or(name);
    let base = base
        .strip_suffix('/')
        .map_or(base, |inside| inside.rsplit('/').next().unwrap_or(base));
    let is_clock = matches!(base, "cpu-clock" | "task-clock");
    let is_cycles = matches!(base, "cycles" | "cpu-cycles" | "ref-cycles");
    let unit = match (has_period, is_clock, is_cycles) {
        (false, ..) => "samples",
        (_, true, _) => "ns",
        (_, _, true) => "cycles",
        _ => "count",
    };
    let event = if (is_clock || is_cycles) && !cpu_known {
        "cpu"
    } else {
        name
    };
    (if event.is_empty() { "unknown" } else { event }, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_perf() {
        assert_eq!(event_of("cpu-clock:ppp", true, false), ("cpu", "ns"));
        assert_eq!(event_of("cycles:u", true, false), ("cpu", "cycles"));
        assert_eq!(
            event_of("cpu_core/cycles/", true, true),
            ("cpu_core/cycles/", "cycles")
        );
        assert_eq!(event_of("cycles", false, false), ("cpu", "samples"));
        assert_eq!(
            event_of("sched:sched_switch", true, false),
            ("sched:sched_switch", "count")
        );
        assert_eq!(event_of("", true, false), ("unknown", "count"));
    }

    #[test]
    fn weights_and_sums_that_no_number_holds_are_a_doubt() {
        let (dir, most) = (tempfile::tempdir().unwrap(), i64::MAX);
        let path = dir.path().join("profile.folded");
        let options = FoldedOptions {
            host: None,
            event: "cpu",
            unit: "ns",
        };
        let less = most - 1;
        for (text, expected) in [
            (format!("a {less}\nb 1\n"), None),
            (format!("a {most}\na {most}\n"), Some(1)),
            (format!("a {less}\nb {less}\n"), Some(1)),
        ] {
            std::fs::write(&path, text).unwrap();
            let (path, out) = (path.to_str().unwrap(), dir.path().to_str().unwrap());
            let report = import_folded(path, out, &options, &mut || true).unwrap();
            let said = report.doubts.first();
            assert_eq!(said.map(|doubt| doubt.count), expected);
            assert!(said.is_none_or(|doubt| doubt.code == "import_too_large"));
        }
    }

    #[test]
    fn threads_of_async_profiler() {
        assert_eq!(thread_of(b"[main tid=12]"), Some(("main".to_owned(), 12)));
        assert_eq!(thread_of(b"[tid=12]"), Some((String::new(), 12)));
        assert_eq!(thread_of(b"main"), None);
    }
}
