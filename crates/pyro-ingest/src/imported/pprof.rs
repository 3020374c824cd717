//! pprof's `profile.proto` (<https://github.com/google/pprof/blob/main/proto/profile.proto>).
//!
//! Dictionaries may stand behind the samples that need them, so that the message is walked twice.

use std::collections::{BTreeMap, HashMap};

use pyro_model::{Doubt, Error, IngestReport, Result, Severity};

use super::file::read_whole;
use super::names::{base_name, frame_in, unit};
use super::wire::{Fields, Value};
use crate::profile_tables::{ProfileTables, Sample};

/// Imports a profile, gzipped or not: each of its value types becomes an event.
///
/// # Errors
/// If the file cannot be read, is no profile (says at which byte), or a table cannot be written.
pub fn import_pprof(path: &str, out: &str) -> Result<IngestReport> {
    let bytes = read_whole(path)?;
    let profile = Profile::read(&bytes).map_err(|(at, what)| bad(path, at, &what))?;
    let mut tables = ProfileTables::create("pprof", None, out)?;
    let mut factors = Vec::with_capacity(profile.types.len());
    for &(name, of_source) in &profile.types {
        let text = |index| profile.text(index).map_err(|what| bad(path, 0, &what));
        let (unit, factor) = unit(text(of_source)?);
        tables.event(text(name)?, text(name)?, unit);
        factors.push(factor);
    }
    let mut importer = Importer {
        profile: &profile,
        tables,
        factors,
        frames: HashMap::new(),
        left_out: BTreeMap::new(),
        samples: 0,
        leaf_first: Vec::new(),
        root_first: Vec::new(),
        values: Vec::new(),
    };
    for (field, value) in Fields::new(&bytes) {
        if field == 2 {
            let message = value.bytes();
            let at = message.as_ptr() as usize - bytes.as_ptr() as usize;
            match importer.sample(message) {
                Ok(()) => {}
                Err(Problem::Input(what)) => return Err(bad(path, at, &what)),
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
    let mut report = tables.finish()?;
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
        "{path}: not a pprof profile: {what} at byte {at} (decompressed); make it anew or name its --format"
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

#[derive(Default, Clone, Copy)]
struct Function {
    name: u64,
    file: u64,
}

#[derive(Default, Clone)]
struct Location {
    mapping: u64,
    address: u64,
    lines: Vec<(u64, i64)>,
}

/// The dictionaries of a profile.
#[derive(Default)]
struct Profile<'a> {
    strings: Vec<&'a str>,
    types: Vec<(u64, u64)>,
    functions: HashMap<u64, Function>,
    locations: HashMap<u64, Location>,
    mappings: HashMap<u64, u64>,
    time_ns: i64,
    duration_ns: i64,
}

impl<'a> Profile<'a> {
    fn read(bytes: &'a [u8]) -> std::result::Result<Self, (usize, String)> {
        let mut profile = Self::default();
        let mut fields = Fields::new(bytes);
        for (field, value) in fields.by_ref() {
            let inside = value.bytes();
            let at = if inside.is_empty() {
                0
            } else {
                inside.as_ptr() as usize - bytes.as_ptr() as usize
            };
            match field {
                1 => profile.types.push(pair(inside)),
                3 => {
                    let (id, name) = ids(inside, 1, 5);
                    profile.mappings.insert(id, name);
                }
                4 => {
                    let (id, location) = location(inside);
                    profile.locations.insert(id, location);
                }
                5 => {
                    let (id, name) = ids(inside, 1, 2);
                    let file = ids(inside, 1, 4).1;
                    profile.functions.insert(id, Function { name, file });
                }
                6 => {
                    let text = std::str::from_utf8(inside)
                        .map_err(|error| (at + error.valid_up_to(), "text is not UTF-8".into()))?;
                    profile.strings.push(text);
                }
                9 => profile.time_ns = value.number() as i64,
                10 => profile.duration_ns = value.number() as i64,
                _ => {}
            }
        }
        if let Some(at) = fields.broken_at {
            return Err((at, "a field breaks off or has an unknown type".to_owned()));
        }
        if profile.types.is_empty() || profile.strings.first() != Some(&"") {
            let what = "there is no type of values, or no string table that begins with \"\"";
            return Err((0, what.to_owned()));
        }
        Ok(profile)
    }

    fn text(&self, index: u64) -> std::result::Result<&'a str, String> {
        let found = usize::try_from(index)
            .ok()
            .and_then(|at| self.strings.get(at));
        let none = || format!("string {index} of {} is asked for", self.strings.len());
        found.copied().ok_or_else(none)
    }
}

/// Two numbers of a message, by their fields.
fn ids(message: &[u8], first: u64, second: u64) -> (u64, u64) {
    let (mut a, mut b) = (0, 0);
    for (field, value) in Fields::new(message) {
        if field == first {
            a = value.number();
        } else if field == second {
            b = value.number();
        }
    }
    (a, b)
}

fn pair(message: &[u8]) -> (u64, u64) {
    ids(message, 1, 2)
}

fn location(message: &[u8]) -> (u64, Location) {
    let mut made = Location::default();
    let mut id = 0;
    for (field, value) in Fields::new(message) {
        match field {
            1 => id = value.number(),
            2 => made.mapping = value.number(),
            3 => made.address = value.number(),
            4 => {
                let (function, line) = ids(value.bytes(), 1, 2);
                made.lines.push((function, line as i64));
            }
            _ => {}
        }
    }
    (id, made)
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
    leaf_first: Vec<u64>,
    root_first: Vec<u32>,
    values: Vec<u64>,
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
    fn sample(&mut self, message: &[u8]) -> std::result::Result<(), Problem> {
        self.leaf_first.clear();
        self.values.clear();
        let mut labels = Labels::default();
        let cut = || Problem::Input("a sample breaks off".to_owned());
        let mut fields = Fields::new(message);
        for (field, value) in fields.by_ref() {
            match field {
                1 => value.numbers(&mut self.leaf_first).ok_or_else(cut)?,
                2 => value.numbers(&mut self.values).ok_or_else(cut)?,
                3 => self.label(value, &mut labels)?,
                _ => {}
            }
        }
        if fields.broken_at.is_some() {
            return Err(cut());
        }
        let types = &self.profile.types;
        if self.values.len() != types.len() {
            return Err(Problem::Input(format!(
                "a sample has {} values for {} types",
                self.values.len(),
                types.len()
            )));
        }
        self.stack()?;
        self.samples += 1;
        for (event, &value) in self.values.iter().enumerate() {
            if value != 0 {
                let sample = Sample {
                    event,
                    weight: (value as i64).saturating_mul(self.factors[event]),
                    pid: labels.pid,
                    tid: labels.tid,
                    t_ns: None,
                    thread: labels.thread.unwrap_or_default(),
                    task: labels.task,
                    stage: labels.stage,
                    iteration: labels.iteration.and_then(|n| i32::try_from(n).ok()),
                    operator: labels.operator,
                };
                self.tables.push(&sample, &self.root_first)?;
            }
        }
        Ok(())
    }

    fn label(
        &mut self,
        value: Value<'_>,
        labels: &mut Labels<'a>,
    ) -> std::result::Result<(), Problem> {
        let (key, text) = ids(value.bytes(), 1, 2);
        let number = ids(value.bytes(), 1, 3).1 as i64;
        let (key, text) = (self.profile.text(key)?, self.profile.text(text)?);
        let number = if text.is_empty() {
            Some(number)
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
    fn stack(&mut self) -> std::result::Result<(), Problem> {
        self.root_first.clear();
        for at in (0..self.leaf_first.len()).rev() {
            let id = self.leaf_first[at];
            if !self.frames.contains_key(&id) {
                let made = self.location(id)?;
                self.frames.insert(id, made);
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
            .ok_or_else(|| Problem::Input(format!("location {id} is asked for and not there")))?;
        let mapped = profile.mappings.get(&location.mapping).copied();
        let mapped = base_name(profile.text(mapped.unwrap_or(0))?);
        if location.lines.is_empty() {
            let name = format!("{:#x}", location.address);
            return Ok(Box::new([self
                .tables
                .frame(&frame_in(&name, mapped, 0))?]));
        }
        let mut frames = Vec::with_capacity(location.lines.len());
        for &(function, line) in location.lines.iter().rev() {
            let function = profile
                .functions
                .get(&function)
                .copied()
                .unwrap_or_default();
            let name = match profile.text(function.name)? {
                "" => "[no name]",
                name => name,
            };
            let file = profile.text(function.file)?;
            // A file is a library where profilers of the JVM put it; else it is source.
            let library = if file == "kernel" || file.contains(".so") {
                file
            } else {
                mapped
            };
            frames.push(self.tables.frame(&frame_in(name, library, line))?);
        }
        Ok(frames.into())
    }
}

fn keep(slot: &mut Option<i64>, number: Option<i64>) -> bool {
    *slot = number.or(*slot);
    number.is_some()
}
