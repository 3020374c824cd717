//! Finds an annotation in a process, and reads it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use object::read::ReadCache;

use super::elf::{self, Found};
use super::maps::{self, Mapping};
use super::spec::{Place, Type};
use crate::sys::{open_regular, read_memory};

/// Longest `/proc/PID/maps` that is read.
const MOST_MAPS_BYTES: u64 = 16 << 20;
/// Libraries of a process that are looked at: one may map any number of files.
const MOST_LIBRARIES: usize = 1024;

/// A word of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    address: u64,
    kind: Type,
}

impl Word {
    /// Its value now.
    ///
    /// # Errors
    /// What the system says: `ESRCH`, `EPERM`, or `EFAULT` where nothing lies there.
    pub fn read(self, pid: i32) -> std::io::Result<i128> {
        let mut address = self.address;
        for _ in 0..self.kind.pointers {
            let mut pointer = [0; 8];
            read_memory(pid, address, &mut pointer)?;
            address = u64::from_le_bytes(pointer);
        }
        let mut bytes = [0; 8];
        read_memory(pid, address, &mut bytes[..self.kind.bytes])?;
        Ok(self.kind.value(bytes))
    }
}

/// Symbols of files that were looked up before: children share their parents' files.
#[derive(Debug, Default)]
pub struct Symbols {
    known: HashMap<(u64, u64), Result<Found, String>>,
}

impl Symbols {
    /// Finds the word in a process.
    ///
    /// # Errors
    /// Why it is not there.
    pub fn locate(&mut self, pid: i32, place: &Place, kind: Type) -> Result<Word, String> {
        let address = match place {
            Place::Absolute(address) => *address,
            Place::Symbol(name, offset) => self
                .address(pid, name)?
                .checked_add(*offset)
                .ok_or("beyond all memory")?,
        };
        Ok(Word { address, kind })
    }

    fn address(&mut self, pid: i32, name: &str) -> Result<u64, String> {
        let text = read_maps(pid).map_err(|error| format!("/proc/{pid}/maps: {error}"))?;
        let mappings: Vec<Mapping> = maps::files(&text).collect();
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let program = program.to_string_lossy();
        let mut paths: Vec<&str> = Vec::new();
        for mapping in mappings.iter().filter(|mapping| mapping.executable) {
            if paths.len() == MOST_LIBRARIES {
                break;
            }
            if mapping.path != program && !paths.contains(&mapping.path) {
                paths.push(mapping.path);
            }
        }
        let mut why = Vec::new();
        for path in std::iter::once(program.as_ref()).chain(paths) {
            // The program itself is there even if its file was replaced since.
            let open = if path == program {
                format!("/proc/{pid}/exe")
            } else {
                format!("/proc/{pid}/root{path}")
            };
            match self.in_file(&open, name) {
                Ok(found) => {
                    let mut places = mappings.iter().filter(|mapping| mapping.path == path);
                    return places
                        .find_map(|mapping| found.in_process(mapping.start, mapping.offset))
                        .ok_or_else(|| format!("{path} is not mapped as its headers say"));
                }
                Err(reason) if reason == "no such symbol" => {}
                Err(reason) => why.push(format!("{path}: {reason}")),
            }
        }
        let more = if why.is_empty() {
            String::new()
        } else {
            format!(" ({})", why.join("; "))
        };
        Err(format!(
            "no symbol {name} in {program} and its libraries{more}"
        ))
    }

    fn in_file(&mut self, path: &str, name: &str) -> Result<Found, String> {
        use std::os::unix::fs::MetadataExt;
        let file = open_regular(Path::new(path)).map_err(|error| error.to_string())?;
        let facts = file.metadata().map_err(|error| error.to_string())?;
        let key = (facts.dev(), facts.ino());
        let found = self.known.entry(key);
        found
            .or_insert_with(|| elf::symbol(&ReadCache::new(&file), name))
            .clone()
    }
}

fn read_maps(pid: i32) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{pid}/maps"))?;
    file.take(MOST_MAPS_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::spec::{Spec, parse};
    use super::*;

    #[unsafe(no_mangle)]
    static PYROMETER_ANNOTATION_TEST: [u32; 3] = [7, 0x0a00_000d, 9];

    fn located(text: &str) -> Result<Word, String> {
        let Ok(Spec::Word { place, kind, .. }) = parse(text) else {
            panic!("{text}");
        };
        Symbols::default().locate(std::process::id() as i32, &place, kind)
    }

    #[test]
    fn a_symbol_of_our_own_program() {
        let pid = std::process::id() as i32;
        let word = located("word@PYROMETER_ANNOTATION_TEST+4:u32").unwrap();
        assert_eq!(word.address, PYROMETER_ANNOTATION_TEST.as_ptr() as u64 + 4);
        assert_eq!(word.read(pid).unwrap(), 0x0a00_000d);
    }

    #[test]
    fn pointers_are_followed() {
        let value = Box::new(-5_i64);
        let (first, pid) = (Box::new(&raw const *value), std::process::id() as i32);
        let text = format!("word@{}:*i64", &raw const *first as u64);
        assert_eq!(located(&text).unwrap().read(pid).unwrap(), -5);
        let nowhere = located("word@0:*i64").unwrap().read(pid).unwrap_err();
        assert_eq!(nowhere.raw_os_error(), Some(libc::EFAULT));
    }

    #[test]
    fn what_is_missing_is_named() {
        let message = located("word@no_such_thing_here:u32").unwrap_err();
        assert!(message.contains("no_such_thing_here"), "{message}");
        let place = Place::Symbol("x".into(), 0);
        let kind = Type {
            pointers: 0,
            bytes: 4,
            signed: false,
        };
        let message = Symbols::default()
            .locate(i32::MAX, &place, kind)
            .unwrap_err();
        assert!(message.contains("/maps"), "{message}");
    }
}
