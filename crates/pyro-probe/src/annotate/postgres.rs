//! PostgreSQL: the wait event of a server's process.
//!
//! Since version 14 every process of a server has a pointer `my_wait_event_info`, to a word that is
//! 0 while it waits for nothing: class in the first byte, event in the last two.

use std::io::Read as _;
use std::path::Path;

use super::names::{self, Names};
use super::spec::{Place, Type};
use crate::sys::open_regular;

/// Names of a version's events, as its server names them (`tools/postgres_wait_events.py`).
const KNOWN: [(&str, &str); 1] = [("15", include_str!("postgres-15.txt"))];
/// Classes of all versions.
const CLASSES: [(u8, &str); 10] = [
    (0x01, "LWLock"),
    (0x03, "Lock"),
    (0x04, "BufferPin"),
    (0x05, "Activity"),
    (0x06, "Client"),
    (0x07, "Extension"),
    (0x08, "IPC"),
    (0x09, "Timeout"),
    (0x0a, "IO"),
    (0x0b, "InjectionPoint"),
];
/// Longest file `PG_VERSION` that is read.
const MOST_VERSION_BYTES: u64 = 64;
/// What a process is said to wait for when it does not.
pub const NOTHING: &str = "no wait event";

/// The symbol, and what lies there.
pub fn word() -> (Place, Type) {
    let place = Place::Symbol("my_wait_event_info".to_owned(), 0);
    let kind = Type {
        pointers: 1,
        bytes: 4,
        signed: false,
    };
    (place, kind)
}

/// Version of the server that a process belongs to: its working directory is the data directory.
pub fn version(pid: i32) -> Option<String> {
    let file = open_regular(Path::new(&format!("/proc/{pid}/cwd/PG_VERSION"))).ok()?;
    let mut text = String::new();
    file.take(MOST_VERSION_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    let major = text.trim();
    (major.len() <= 8).then(|| major.to_owned())
}

/// Names of a version's events; `None` if we have none.
pub fn names(version: &str) -> Option<Names> {
    let (_, text) = KNOWN.iter().find(|(known, _)| *known == version)?;
    names::parse(text).ok()
}

/// What a value is called without a name: class and number.
pub fn unnamed(value: i128) -> String {
    if value == 0 {
        return NOTHING.to_owned();
    }
    let (class, event) = ((value >> 24) & 0xff, value & 0xffff);
    let known = CLASSES
        .iter()
        .find(|(number, _)| i128::from(*number) == class);
    match known {
        Some((_, name)) => format!("{name}:{event}"),
        None => format!("class {class}:{event}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_version_that_is_here() {
        let names = names("15").unwrap();
        assert_eq!(names[&0x0a00_0011], "IO:DataFileRead");
        assert_eq!(names[&0x0600_0000], "Client:ClientRead");
        assert_eq!(names[&0x0300_0004], "Lock:tuple");
        assert!(names.len() > 200);
        assert!(super::names("8").is_none());
    }

    #[test]
    fn a_version_is_read_of_a_short_regular_file_alone() {
        use std::process::{Child, Command};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("PG_VERSION");
        let mut process = Command::new("sleep")
            .arg("60")
            .current_dir(&folder)
            .spawn()
            .unwrap();
        let version_of = |process: &Child| {
            let (pid, (say, hear)) = (process.id() as i32, std::sync::mpsc::channel());
            std::thread::spawn(move || say.send(version(pid)));
            hear.recv_timeout(std::time::Duration::from_secs(10))
        };
        std::fs::write(&path, "15\n").unwrap();
        let of_a_file = version_of(&process);
        std::fs::write(&path, format!("15{}", "\n".repeat(100))).unwrap();
        let of_a_long_file = version_of(&process);
        std::fs::remove_file(&path).unwrap();
        Command::new("mkfifo").arg(&path).status().unwrap();
        let of_a_pipe = version_of(&process);
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(of_a_file, Ok(Some("15".to_owned())));
        assert_eq!(of_a_long_file, Ok(Some("15".to_owned())));
        assert_eq!(of_a_pipe, Ok(None));
    }

    #[test]
    fn every_name_begins_with_its_class() {
        for (version, text) in KNOWN {
            for (value, name) in names::parse(text).unwrap() {
                let class = unnamed(value);
                let class = class.split(':').next().unwrap_or_default();
                assert!(
                    name.starts_with(&format!("{class}:")),
                    "{version}: {value:#x} {name}"
                );
            }
        }
    }

    #[test]
    fn what_has_no_name_is_told_by_number() {
        assert_eq!(unnamed(0x0a00_00ff), "IO:255");
        assert_eq!(unnamed(0x7f00_0003), "class 127:3");
        assert_eq!(unnamed(0), NOTHING);
    }
}
