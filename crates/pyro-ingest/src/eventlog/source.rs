//! Which files make up which event log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pyro_model::{Doubt, Error, Result, Severity};

/// One event log: the files of it in reading order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Files, in order.
    pub parts: Vec<PathBuf>,
}

impl Log {
    /// Whether an error is of one of its files, and not of the tables that are made of it.
    pub fn is_at_fault(&self, error: &Error) -> bool {
        match error {
            Error::Input(_) => true,
            Error::Io { path, .. } => self.parts.contains(path),
            Error::Table(_) | Error::Interrupted => false,
        }
    }
}

/// The doubt about what is left out among event logs.
pub fn refused(path: &Path, error: &Error) -> Doubt {
    about(path, "eventlog_refused", error.to_string())
}

/// What is found among paths.
#[derive(Default)]
struct Found {
    logs: Vec<Log>,
    doubts: Vec<Doubt>,
    /// The first error, of which there is a doubt, too.
    first: Option<Error>,
}

impl Found {
    /// Notes what cannot be read, or holds no log.
    fn refuse(&mut self, path: &Path, error: Error) {
        self.doubts.push(refused(path, &error));
        self.first.get_or_insert(error);
    }
}

/// The name of a file of a rolling log: `events_<index>_<application>[.<codec>][.compact]`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rolled<'a> {
    index: u64,
    compacted: bool,
    application: &'a str,
}

fn rolled(name: &str) -> Option<Rolled<'_>> {
    let (index, rest) = name.strip_prefix("events_")?.split_once('_')?;
    let compacted = rest.ends_with(".compact");
    let application = rest
        .split_once('.')
        .map_or(rest, |(application, _)| application);
    Some(Rolled {
        index: index.parse().ok()?,
        compacted,
        application,
    })
}

/// Index, whether compacted, and the file.
type Part = (u64, bool, PathBuf);

/// Groups files into logs: rolled files of one application together, every other file alone.
///
/// Folders are opened: one named `eventlog_v2_*` or holding rolled files is a log, every
/// other one holds logs. Names that begin with `.` or `_` and `appstatus_*` are no logs. What
/// cannot be read, or holds no log, is a doubt where there are others.
///
/// # Errors
/// If there is no log: that of the first path, or entry of a folder, that does not exist, cannot be
/// read or holds no log.
pub fn find(paths: &[PathBuf]) -> Result<(Vec<Log>, Vec<Doubt>)> {
    let mut found = Found::default();
    let mut files = Vec::new();
    for path in paths {
        let read = match std::fs::metadata(path) {
            Ok(kind) if kind.is_dir() => of_logs(path, &mut found),
            Ok(_) => {
                files.push(path.clone());
                Ok(())
            }
            Err(error) => Err(Error::io(path, error)),
        };
        if let Err(error) = read {
            found.refuse(path, error);
        }
    }
    let Found {
        mut logs,
        mut doubts,
        first,
    } = found;
    group(files, &mut logs, &mut doubts);
    match first {
        Some(error) if logs.is_empty() => Err(error),
        _ => Ok((logs, doubts)),
    }
}

/// Finds the logs of a folder that holds at least one.
fn of_logs(path: &Path, found: &mut Found) -> Result<()> {
    let before = found.logs.len();
    folder(path, true, found)?;
    if found.logs.len() == before {
        return Err(Error::Input(format!(
            "{}: no event log in this folder; name the file, or the folder that spark.eventLog.dir points to",
            path.display()
        )));
    }
    Ok(())
}

fn folder(path: &Path, open: bool, found: &mut Found) -> Result<()> {
    let fail = |error| Error::io(path, error);
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(path).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(['.', '_']) || name.starts_with("appstatus_") {
            continue;
        }
        let inner = entry.path();
        match std::fs::metadata(&inner) {
            Ok(kind) if kind.is_dir() => folders.push(inner),
            Ok(_) => files.push(inner),
            // It was renamed meanwhile, or is a link that leads nowhere.
            Err(error) => found.refuse(&inner, Error::io(&inner, error)),
        }
    }
    files.sort();
    folders.sort();
    if open {
        for inner in folders {
            if let Err(error) = folder(&inner, false, found) {
                found.refuse(&inner, error);
            }
        }
    }
    group(files, &mut found.logs, &mut found.doubts);
    Ok(())
}

fn group(files: Vec<PathBuf>, logs: &mut Vec<Log>, doubts: &mut Vec<Doubt>) {
    let mut rolling: BTreeMap<(PathBuf, String), Vec<Part>> = BTreeMap::new();
    for file in files {
        let name = file
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        match rolled(&name) {
            Some(part) => {
                let folder = file.parent().unwrap_or(Path::new("")).to_owned();
                let key = (folder, part.application.to_owned());
                rolling
                    .entry(key)
                    .or_default()
                    .push((part.index, part.compacted, file));
            }
            None => logs.push(Log { parts: vec![file] }),
        }
    }
    for ((folder, application), mut parts) in rolling {
        parts.sort();
        // A compacted file stands for itself and everything before it.
        if let Some(last) = parts.iter().rposition(|(_, compacted, _)| *compacted) {
            parts.drain(..last);
            doubts.push(about(
                &parts[0].2,
                "eventlog_compacted",
                "Spark compacted this log: finished jobs and their tasks were removed",
            ));
        } else if parts[0].0 > 1 {
            let message = format!(
                "the rolling log of {application} begins with file {}: earlier files are missing",
                parts[0].0
            );
            doubts.push(about(&folder, "eventlog_part_missing", message));
        }
        for pair in parts.windows(2) {
            if pair[1].0 > pair[0].0 + 1 {
                let message = format!(
                    "between files {} and {} of {application} files are missing",
                    pair[0].0, pair[1].0
                );
                doubts.push(about(&folder, "eventlog_part_missing", message));
            }
        }
        logs.push(Log {
            parts: parts.into_iter().map(|(_, _, file)| file).collect(),
        });
    }
}

fn about(path: &Path, code: &'static str, message: impl Into<String>) -> Doubt {
    Doubt::new(code, Severity::Warning, message).in_file(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(folder: &Path, names: &[&str]) {
        for name in names {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
    }

    fn names(log: &Log) -> Vec<String> {
        log.parts
            .iter()
            .map(|part| part.file_name().unwrap().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn rolled_files_are_read_in_numeric_order_and_gaps_told() {
        let dir = tempfile::tempdir().unwrap();
        touch(
            dir.path(),
            &[
                "eventlog_v2_a/events_10_a.zstd",
                "eventlog_v2_a/events_9_a.zstd",
                "eventlog_v2_a/appstatus_a",
                "eventlog_v2_a/events_7_a.zstd",
                "app-1",
                ".hidden",
                "_SUCCESS",
            ],
        );
        let (logs, doubts) = find(&[dir.path().to_owned()]).unwrap();
        assert_eq!(
            logs.iter().map(names).collect::<Vec<_>>(),
            [
                vec!["events_7_a.zstd", "events_9_a.zstd", "events_10_a.zstd"],
                vec!["app-1"]
            ]
        );
        assert_eq!(
            doubts.iter().map(|doubt| doubt.code).collect::<Vec<_>>(),
            ["eventlog_part_missing"; 2]
        );
    }

    #[test]
    fn a_compacted_file_replaces_what_came_before() {
        let dir = tempfile::tempdir().unwrap();
        touch(
            dir.path(),
            &[
                "events_1_a",
                "events_2_a",
                "events_2_a.compact",
                "events_3_a",
            ],
        );
        let (logs, doubts) = find(&[dir.path().to_owned()]).unwrap();
        assert_eq!(names(&logs[0]), ["events_2_a.compact", "events_3_a"]);
        assert_eq!(doubts[0].code, "eventlog_compacted");
    }

    #[test]
    fn what_cannot_be_read_beside_logs_is_a_doubt() {
        let dir = tempfile::tempdir().unwrap();
        touch(dir.path(), &["logs/app-1", "empty/_SUCCESS"]);
        let link = dir.path().join("logs/app-2");
        std::os::unix::fs::symlink("gone", &link).unwrap();
        let named = ["logs", "empty", "gone"].map(|name| dir.path().join(name));
        let (logs, doubts) = find(&named).unwrap();
        assert_eq!(logs.iter().map(names).collect::<Vec<_>>(), [["app-1"]]);
        let told = doubts.iter().filter_map(|doubt| doubt.file.as_ref());
        let told: Vec<_> = told.map(PathBuf::from).collect();
        assert_eq!(told, [link, named[1].clone(), named[2].clone()]);
        assert!(doubts.iter().all(|doubt| doubt.code == "eventlog_refused"));
    }

    #[test]
    fn of_a_folder_without_logs_the_error_is_of_what_cannot_be_read_in_it() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("gone", dir.path().join("app-1")).unwrap();
        let error = find(&[dir.path().to_owned()]).unwrap_err();
        assert!(matches!(error, Error::Io { path, .. } if path.ends_with("app-1")));
    }

    #[test]
    fn an_empty_folder_and_a_missing_file_are_errors_that_name_them() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            find(&[dir.path().to_owned()])
                .unwrap_err()
                .to_string()
                .contains("no event log")
        );
        assert!(
            find(&[dir.path().join("gone")])
                .unwrap_err()
                .to_string()
                .contains("gone")
        );
    }
}
