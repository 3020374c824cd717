//! The application's own word for what it does, read from its memory in the same pass as its state.
//!
//! A value that many threads share belongs to none of them: only main threads are annotated.

mod elf;
mod locate;
mod maps;
mod names;
mod postgres;
mod spec;

use std::collections::HashMap;
use std::ffi::OsString;
use std::rc::Rc;

use serde_json::{Value, json};

use locate::{Symbols, Word};
use names::Names;
use spec::Spec;

/// Different words at most: a value that counts would have a word for each reading.
const MOST_WORDS: usize = 4096;
const OTHER: &str = "(too many values)";
/// Rounds until a process in which nothing was found is looked at again; twice as many each time.
const MOST_ROUNDS: u32 = 64;

/// Reads one annotation of any number of processes.
#[derive(Debug)]
pub struct Annotations {
    text: String,
    spec: Spec,
    names: Option<Names>,
    /// Names of PostgreSQL's events by version; `None` where there are none.
    versions: HashMap<String, Option<Names>>,
    symbols: Symbols,
    processes: HashMap<i32, Process>,
    words: HashMap<(bool, i128), Rc<str>>,
    readings: u64,
    failures: u64,
}

#[derive(Debug)]
struct Process {
    word: Result<Word, String>,
    program: OsString,
    /// Version of the server, where its events have names.
    version: Option<String>,
    rounds: u32,
    wait: u32,
    last_error: Option<String>,
    readings: u64,
}

impl Annotations {
    /// Takes the value of `--annotate`.
    ///
    /// # Errors
    /// What is wrong with it, or with the file of names.
    pub fn new(text: &str) -> Result<Self, String> {
        let spec = spec::parse(text)?;
        let (Spec::Word { names: file, .. } | Spec::Postgres { names: file }) = &spec;
        let names = match file {
            None => None,
            Some(path) => {
                let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
                let text = std::fs::read_to_string(path).map_err(|error| at(&error))?;
                Some(names::parse(&text).map_err(|error| at(&error))?)
            }
        };
        Ok(Self {
            text: text.to_owned(),
            spec,
            names,
            versions: HashMap::new(),
            symbols: Symbols::default(),
            processes: HashMap::new(),
            words: HashMap::new(),
            readings: 0,
            failures: 0,
        })
    }

    /// What the main thread of a process says now; `None` where it is not to be had.
    pub fn of(&mut self, pid: i32) -> Option<Rc<str>> {
        if !self.processes.contains_key(&pid) {
            let found = self.find(pid);
            self.processes.insert(pid, found);
        }
        let process = self.processes.get_mut(&pid)?;
        let word = *process.word.as_ref().ok()?;
        match word.read(pid) {
            Ok(value) => {
                self.readings += 1;
                process.readings += 1;
                let version = process.version.clone();
                Some(self.word(value, version))
            }
            Err(error) => {
                self.failures += 1;
                process.last_error = Some(error.to_string());
                None
            }
        }
    }

    /// Once a round: looks again at processes that became another program, and now and then at
    /// those without the symbol, which a library may bring. What was reported of those that are gone
    /// stays, for the report.
    pub fn refresh(&mut self, alive: impl Fn(i32) -> bool) {
        let pids: Vec<i32> = self.processes.keys().copied().collect();
        for pid in pids.into_iter().filter(|&pid| alive(pid)) {
            let Some(process) = self.processes.get_mut(&pid) else {
                continue;
            };
            process.rounds += 1;
            let again = process.word.is_err() && process.rounds >= process.wait;
            if again || program(pid) != process.program {
                let (wait, readings) = (process.wait, process.readings);
                let mut found = self.find(pid);
                found.wait = (wait * 2).min(MOST_ROUNDS);
                found.readings = readings;
                self.processes.insert(pid, found);
            }
        }
    }

    /// What came of it, for the report.
    pub fn to_json(&self) -> Value {
        let found = self
            .processes
            .values()
            .filter(|process| process.word.is_ok());
        let mut reasons: Vec<String> = Vec::new();
        for (pid, process) in &self.processes {
            let why = process.word.as_ref().err().or(process.last_error.as_ref());
            if let Some(why) = why.filter(|_| process.readings == 0) {
                reasons.push(format!("process {pid}: {why}"));
            }
        }
        reasons.sort();
        json!({
            "spec": self.text,
            "readings_count": self.readings,
            "failures_count": self.failures,
            "processes_count": found.count(),
            "words_count": self.words.len(),
            "reasons": reasons.into_iter().take(20).collect::<Vec<_>>(),
        })
    }

    fn find(&mut self, pid: i32) -> Process {
        let (place, kind) = match &self.spec {
            Spec::Word { place, kind, .. } => (place.clone(), *kind),
            Spec::Postgres { .. } => postgres::word(),
        };
        let version = match &self.spec {
            Spec::Postgres { names: None } => postgres::version(pid),
            _ => None,
        };
        if let Some(version) = &version
            && !self.versions.contains_key(version)
        {
            self.versions
                .insert(version.clone(), postgres::names(version));
        }
        let mut word = self.symbols.locate(pid, &place, kind);
        // An address that cannot be read is found out at once, not reading by reading.
        if let Ok(found) = word
            && let Err(error) = found.read(pid)
        {
            word = Err(error.to_string());
        }
        Process {
            word,
            program: program(pid),
            version,
            rounds: 0,
            wait: 1,
            last_error: None,
            readings: 0,
        }
    }

    fn word(&mut self, value: i128, version: Option<String>) -> Rc<str> {
        let of_version = version.and_then(|version| self.versions.get(&version)?.as_ref());
        let key = (of_version.is_some(), value);
        if self.words.len() >= MOST_WORDS && !self.words.contains_key(&key) {
            return OTHER.into();
        }
        let names = self.names.as_ref().or(of_version);
        let (spec, known) = (&self.spec, names.and_then(|names| names.get(&value)));
        let word = self
            .words
            .entry(key)
            .or_insert_with(|| match (known, spec) {
                (Some(name), _) => name.as_str().into(),
                (None, Spec::Postgres { .. }) => postgres::unnamed(value).into(),
                (None, Spec::Word { .. }) => value.to_string().into(),
            });
        Rc::clone(word)
    }
}

fn program(pid: i32) -> OsString {
    std::fs::read_link(format!("/proc/{pid}/exe"))
        .map(OsString::from)
        .unwrap_or_default()
}

/// Reads the annotation of a process once, as `pyro-probe annotate` prints it.
///
/// # Errors
/// What is wrong with the text or its file of names.
pub fn once(text: &str, pid: i32) -> Result<Value, String> {
    let mut annotations = Annotations::new(text)?;
    let word = annotations.of(pid);
    let reason = annotations.processes.get(&pid).and_then(|process| {
        let failed = process.word.as_ref().err().or(process.last_error.as_ref());
        failed.cloned()
    });
    Ok(json!({ "pid": pid, "annotation": word.as_deref(), "reason": reason }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[unsafe(no_mangle)]
    static mut PYROMETER_ANNOTATION_STATE: u32 = 0;

    fn set(value: u32) {
        // SAFETY: only this test uses it.
        unsafe { (&raw mut PYROMETER_ANNOTATION_STATE).write_volatile(value) };
    }

    #[test]
    fn values_have_names_or_are_told_by_number() {
        let folder = tempfile::tempdir().unwrap();
        let names = folder.path().join("names.txt");
        std::fs::write(&names, "1 reading\n2 = \"writing\"\n").unwrap();
        let text = format!("word@PYROMETER_ANNOTATION_STATE:u32={}", names.display());
        let (mut annotations, pid) = (Annotations::new(&text).unwrap(), std::process::id() as i32);
        for (value, word) in [(1, "reading"), (2, "writing"), (77, "77")] {
            set(value);
            assert_eq!(annotations.of(pid).as_deref(), Some(word));
        }
        annotations.refresh(|_| true);
        let report = annotations.to_json();
        assert_eq!(
            (&report["readings_count"], &report["processes_count"]),
            (&json!(3), &json!(1))
        );
        for value in 0..2 * MOST_WORDS as u32 {
            set(value);
            annotations.of(pid);
        }
        assert_eq!(annotations.of(pid).as_deref(), Some(OTHER));
    }

    #[test]
    fn what_cannot_be_read_is_told_once() {
        let mut annotations = Annotations::new("word@8:u32").unwrap();
        let pid = std::process::id() as i32;
        assert_eq!((annotations.of(pid), annotations.of(pid)), (None, None));
        annotations.refresh(|_| true);
        assert_eq!(annotations.of(pid), None);
        let report = annotations.to_json();
        assert_eq!(report["readings_count"], 0);
        assert!(
            report["reasons"][0]
                .as_str()
                .unwrap()
                .contains("Bad address"),
            "{report}"
        );
        let report = once("word@8:u32", pid).unwrap();
        assert!(
            report["annotation"].is_null() && report["reason"].is_string(),
            "{report}"
        );
    }

    #[test]
    fn a_file_of_names_that_is_wrong_is_refused() {
        let message = Annotations::new("word@8:u32=/nowhere/names").unwrap_err();
        assert!(message.contains("/nowhere/names"), "{message}");
    }
}
