//! Profiles in pprof's format.
//!
//! Dictionaries may stand behind the samples that need them, so that the message is walked twice.

mod fields;
mod messages;
mod profile;

use std::collections::{BTreeMap, HashMap};

use pyro_model::{Doubt, Error, IngestReport, Result, Severity};

use super::file::read_whole;
use super::names::{base_name, frame_in, unit};
use crate::profile_tables::{self, ProfileTables};
use fields::{Content, Fields};
use messages::{Label, Sample};
use profile::Profile;
use prost::Message;

/// Field of the samples.
const SAMPLE: u32 = 2;

/// Imports a profile, gzipped or not: each of its value types becomes an event.
///
/// # Errors
/// If the file cannot be read, is no profile (says at which byte), or a table cannot be written.
pub fn import_pprof(path: &str, out: &str) -> Result<IngestReport> {
    let bytes = read_whole(path)?;
    let profile = Profile::read(&bytes).map_err(|(at, what)| bad(path, at, &what))?;
    let mut tables = ProfileTables::create("pprof", None, out)?;
    let mut factors = Vec::with_capacity(profile.types.len());
    for kind in &profile.types {
        let text = |index| profile.text(index).map_err(|what| bad(path, 0, &what));
        let (unit, factor) = unit(text(kind.unit)?);
        tables.event(text(kind.name)?, text(kind.name)?, unit);
        factors.push(factor);
    }
    let mut importer = Importer {
        profile: &profile,
        tables,
        factors,
        frames: HashMap::new(),
        left_out: BTreeMap::new(),
        samples: 0,
        root_first: Vec::new(),
    };
    // One that is used again for each, so that its memory is.
    let mut sample = Sample::default();
    for field in Fields::new(&bytes).flatten() {
        let Content::Bytes(message) = field.content else {
            continue;
        };
        if field.tag == SAMPLE {
            sample.clear();
            let decoded = sample.merge(message).map_err(|error| error.to_string());
            let taken = decoded.map_err(Problem::Input);
            match taken.and_then(|()| importer.sample(&sample)) {
                Ok(()) => {}
                Err(Problem::Input(what)) => return Err(bad(path, field.at, &what)),
                Err(Problem::Table(error)) => return Err(error),
            }
        }
    }
    let Importer {
        tables,
        left_out,
        samples,
        ..
    } = importer;
    let mut report = tables.finish(path)?;
    for (key, count) in left_out {
        let text = format!("{path}: label {key:?} of {count} samples has no column; left out");
        report.doubts.push(
            Doubt::new("import_label_left_out", Severity::Info, text)
                .in_file(path)
                .times(count),
        );
    }
    report.stats.insert("bytes", bytes.len().into());
    report.stats.insert("samples", samples.into());
    if profile.time_ns > 0 {
        report
            .stats
            .insert("started_wall_ns", profile.time_ns.into());
        let ended = profile.time_ns.saturating_add(profile.duration_ns.max(0));
        report.stats.insert("ended_wall_ns", ended.into());
    }
    Ok(report)
}

fn bad(path: &str, at: usize, what: &str) -> Error {
    Error::Input(format!(
        "{path}: not a pprof profile: {what} at byte {at} (decompressed); record it again, or name its format with --format"
    ))
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

impl From<String> for Problem {
    fn from(what: String) -> Self {
        Self::Input(what)
    }
}

struct Importer<'p, 'a> {
    profile: &'p Profile<'a>,
    tables: ProfileTables,
    /// What a value of each type is to be multiplied with.
    factors: Vec<i64>,
    /// Frames of a location, root first.
    frames: HashMap<u64, Box<[u32]>>,
    left_out: BTreeMap<String, u64>,
    samples: u64,
    root_first: Vec<u32>,
}

/// Labels that have a column.
#[derive(Default)]
struct Labels<'a> {
    thread: Option<&'a str>,
    operator: Option<&'a str>,
    pid: Option<i64>,
    tid: Option<i64>,
    task: Option<i64>,
    stage: Option<i64>,
    iteration: Option<i64>,
}

impl<'a> Importer<'_, 'a> {
    fn sample(&mut self, sample: &Sample) -> std::result::Result<(), Problem> {
        let mut labels = Labels::default();
        for label in &sample.labels {
            self.label(label, &mut labels)?;
        }
        let types = &self.profile.types;
        if sample.values.len() != types.len() {
            return Err(Problem::Input(format!(
                "a sample has {} values for {} types",
                sample.values.len(),
                types.len()
            )));
        }
        self.stack(&sample.locations)?;
        self.samples += 1;
        for (event, &value) in sample.values.iter().enumerate() {
            if value != 0 {
                let row = profile_tables::Sample {
                    event,
                    weight: value.saturating_mul(self.factors[event]),
                    pid: labels.pid,
                    tid: labels.tid,
                    t_ns: None,
                    thread: labels.thread.unwrap_or_default(),
                    task: labels.task,
                    stage: labels.stage,
                    iteration: labels.iteration.and_then(|n| i32::try_from(n).ok()),
                    operator: labels.operator,
                };
                self.tables.push(&row, &self.root_first)?;
            }
        }
        Ok(())
    }

    fn label(
        &mut self,
        label: &Label,
        labels: &mut Labels<'a>,
    ) -> std::result::Result<(), Problem> {
        let (key, text) = (
            self.profile.text(label.key)?,
            self.profile.text(label.text)?,
        );
        let number = if text.is_empty() {
            Some(label.number)
        } else {
            text.parse().ok()
        };
        let name = Some(text).filter(|text| !text.is_empty());
        let known = match key {
            "thread" | "thread_name" | "thread name" => {
                name.is_some() && {
                    labels.thread = name;
                    true
                }
            }
            "operator" => {
                name.is_some() && {
                    labels.operator = name;
                    true
                }
            }
            "pid" | "process_id" => keep(&mut labels.pid, number),
            "tid" | "thread_id" | "thread id" => keep(&mut labels.tid, number),
            "task" => keep(&mut labels.task, number),
            "stage" => keep(&mut labels.stage, number),
            "iteration" => keep(&mut labels.iteration, number),
            _ => false,
        };
        if !known {
            *self.left_out.entry(key.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    /// Puts the frames of the sample into `root_first`.
    fn stack(&mut self, leaf_first: &[u64]) -> std::result::Result<(), Problem> {
        self.root_first.clear();
        for &id in leaf_first.iter().rev() {
            if !self.frames.contains_key(&id) {
                let frames = self.location(id)?;
                self.frames.insert(id, frames);
            }
            self.root_first.extend_from_slice(&self.frames[&id]);
        }
        Ok(())
    }

    /// Frames of a location, root first; the last of its lines is the caller of those inlined.
    fn location(&mut self, id: u64) -> std::result::Result<Box<[u32]>, Problem> {
        let profile = self.profile;
        let location = profile
            .locations
            .get(&id)
            .ok_or_else(|| Problem::Input(format!("location {id} is missing")))?;
        let mapped = profile.mappings.get(&location.mapping).copied();
        let mapped = base_name(profile.text(mapped.unwrap_or(0))?);
        if location.lines.is_empty() {
            let name = format!("{:#x}", location.address);
            return Ok(Box::new([self
                .tables
                .frame(&frame_in(&name, mapped, 0))?]));
        }
        let mut frames = Vec::with_capacity(location.lines.len());
        for line in location.lines.iter().rev() {
            let function = profile.functions.get(&line.function);
            let (name, file) = function.map_or((0, 0), |function| (function.name, function.file));
            let name = match profile.text(name)? {
                "" => "[no name]",
                name => name,
            };
            let file = profile.text(file)?;
            // A file is a library where profilers of the JVM put it; else it is source.
            let library = if file == "kernel" || file.contains(".so") {
                file
            } else {
                mapped
            };
            frames.push(self.tables.frame(&frame_in(name, library, line.line))?);
        }
        Ok(frames.into())
    }
}

fn keep(slot: &mut Option<i64>, number: Option<i64>) -> bool {
    *slot = number.or(*slot);
    number.is_some()
}
