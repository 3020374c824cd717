//! speedscope's JSON (<https://www.speedscope.app/file-format-schema.json>), sampled and evented.

use std::borrow::Cow;

use pyro_model::{Doubt, Error, IngestReport, Result, Severity};
use serde::Deserialize;

use super::file::read_whole;
use super::names::{frame_in, unit};
use crate::profile_tables::{ProfileTables, Sample};

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    shared: Shared<'a>,
    #[serde(borrow)]
    profiles: Vec<Profile<'a>>,
}

#[derive(Deserialize)]
struct Shared<'a> {
    #[serde(borrow)]
    frames: Vec<Frame<'a>>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    line: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    unit: Cow<'a, str>,
    start_value: f64,
    end_value: f64,
    #[serde(default)]
    samples: Vec<Vec<u32>>,
    #[serde(default)]
    weights: Vec<f64>,
    #[serde(borrow, default)]
    events: Vec<Step<'a>>,
}

#[derive(Deserialize)]
struct Step<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    at: f64,
    frame: u32,
}

/// Names that Pyrometer gives profiles: those of its events.
const EVENTS: [&str; 4] = ["cpu", "wall", "alloc", "lock"];

/// Imports all profiles of a file.
///
/// A profile named after an event is of that event. Others are, by their unit, `time`, `bytes` or
/// `samples`, and their name is taken for that of a thread, as profilers write it.
///
/// # Errors
/// If the file cannot be read, is not of the format (says at which line and column, or in which
/// profile), or a table cannot be written.
pub fn import_speedscope(path: &str, out: &str) -> Result<IngestReport> {
    let bytes = read_whole(path)?;
    let file: File<'_> = serde_json::from_slice(&bytes)
        .map_err(|error| Error::Input(format!("{path}: not a speedscope file: {error}")))?;
    let mut tables = ProfileTables::create("speedscope", None, out)?;
    let mut frames = Vec::with_capacity(file.shared.frames.len());
    for frame in &file.shared.frames {
        let line = frame.line.unwrap_or(0.0) as i64;
        frames.push(tables.frame(&frame_in(&frame.name, "", line))?);
    }
    let (mut rows, mut rounded) = (0_u64, 0_u64);
    for (number, profile) in file.profiles.iter().enumerate() {
        let mut reader = Reader::new(profile, &frames, &mut tables);
        let read = match &*profile.kind {
            "sampled" => reader.sampled(),
            "evented" => reader.evented(),
            other => Err(Problem::Input(format!("type {other:?} is not known"))),
        };
        rows += reader.rows;
        rounded += reader.rounded;
        read.map_err(|problem| match problem {
            Problem::Input(what) => Error::Input(format!(
                "{path}: not a speedscope file: profile {number} ({:?}): {what}",
                profile.name
            )),
            Problem::Table(error) => error,
        })?;
    }
    let mut report = tables.finish(path)?;
    if rounded > 0 {
        let text = format!("{path}: {rounded} weights are not whole numbers and were rounded");
        report.doubts.push(
            Doubt::new("import_rounded", Severity::Warning, text)
                .in_file(path)
                .times(rounded),
        );
    }
    report.stats.insert("bytes", bytes.len().into());
    report.stats.insert("profiles", file.profiles.len().into());
    report.stats.insert("samples", rows.into());
    Ok(report)
}

enum Problem {
    Input(String),
    Table(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Table(error)
    }
}

struct Reader<'r, 'a> {
    profile: &'r Profile<'a>,
    frames: &'r [u32],
    tables: &'r mut ProfileTables,
    unit: &'r str,
    factor: f64,
    event: usize,
    thread: &'r str,
    rows: u64,
    rounded: u64,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn new(profile: &'r Profile<'a>, frames: &'r [u32], tables: &'r mut ProfileTables) -> Self {
        let (unit, factor) = unit(&profile.unit);
        let named = EVENTS.contains(&&*profile.name);
        let event = match unit {
            _ if named => &*profile.name,
            "ns" => "time",
            "bytes" => "bytes",
            _ => "samples",
        };
        let number = tables.events.len();
        tables.event(event, &profile.name, unit);
        Self {
            profile,
            frames,
            tables,
            unit,
            factor: factor as f64,
            event: number,
            thread: if named { "" } else { &profile.name },
            rows: 0,
            rounded: 0,
        }
    }

    fn sampled(&mut self) -> std::result::Result<(), Problem> {
        let profile = self.profile;
        let (samples, weights) = (&profile.samples, &profile.weights);
        if !weights.is_empty() && samples.len() != weights.len() {
            return Err(Problem::Input(format!(
                "{} samples and {} weights",
                samples.len(),
                weights.len()
            )));
        }
        for (at, sample) in samples.iter().enumerate() {
            let weight = weights.get(at).copied().unwrap_or(1.0) * self.factor;
            self.rounded += u64::from(weight.fract() != 0.0 && self.unit != "ns");
            self.add(sample, whole(weight))
                .map_err(|problem| here(problem, "sample", at))?;
        }
        Ok(())
    }

    /// Between two events the frames that are open have the time; sums are exact, as every edge
    /// is rounded once.
    fn evented(&mut self) -> std::result::Result<(), Problem> {
        let profile = self.profile;
        let factor = self.factor;
        let edge = |at: f64| whole((at - profile.start_value) * factor);
        let end = edge(profile.end_value);
        let mut open: Vec<u32> = Vec::new();
        let mut last = 0;
        for (at, step) in profile.events.iter().enumerate() {
            let now = edge(step.at);
            if now < last {
                let what = format!("event {at} is before the one before it");
                return Err(Problem::Input(what));
            }
            self.add(&open, now - last)
                .map_err(|problem| here(problem, "event", at))?;
            last = now;
            match (&*step.kind, open.last()) {
                ("O", _) => open.push(step.frame),
                ("C", Some(&innermost)) if innermost == step.frame => {
                    open.pop();
                }
                ("C", _) => {
                    let what = format!(
                        "event {at} closes frame {}, which is not innermost",
                        step.frame
                    );
                    return Err(Problem::Input(what));
                }
                (other, _) => {
                    return Err(Problem::Input(format!("event {at} has type {other:?}")));
                }
            }
        }
        self.add(&open, end.saturating_sub(last).max(0))
    }

    fn add(&mut self, root_first: &[u32], weight: i64) -> std::result::Result<(), Problem> {
        if weight == 0 || (root_first.is_empty() && self.profile.kind == "evented") {
            return Ok(());
        }
        let mut ids = Vec::with_capacity(root_first.len());
        for &frame in root_first {
            let found = self.frames.get(frame as usize).copied();
            ids.push(found.ok_or_else(|| {
                Problem::Input(format!(
                    "frame {frame} is missing: there are {}",
                    self.frames.len()
                ))
            })?);
        }
        self.rows += 1;
        let sample = Sample {
            event: self.event,
            weight,
            thread: self.thread,
            ..Sample::default()
        };
        self.tables.push(&sample, &ids)?;
        Ok(())
    }
}

fn here(problem: Problem, what: &str, at: usize) -> Problem {
    match problem {
        Problem::Input(text) => Problem::Input(format!("{what} {at}: {text}")),
        other => other,
    }
}

fn whole(value: f64) -> i64 {
    value.round() as i64
}
