//! Counting what cannot be read, so that a million broken lines are one doubt.

use std::collections::BTreeMap;

use pyro_model::{Doubt, Severity};

/// Places that a message names.
const NAMED: usize = 5;

/// A place in the uncompressed stream of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Line, from 1.
    pub line: u64,
    /// Byte, from 0.
    pub byte: u64,
}

#[derive(Debug)]
struct Group {
    first: At,
    why: String,
    bytes: Vec<u64>,
    count: u64,
}

/// What was found wrong in one file.
#[derive(Debug, Default)]
pub struct Findings {
    broken: Option<Group>,
    too_long: Option<Group>,
    unknown: BTreeMap<String, (At, u64)>,
}

fn note(group: &mut Option<Group>, at: At, byte: u64, why: &str) {
    let group = group.get_or_insert_with(|| Group {
        first: at,
        why: why.to_owned(),
        bytes: Vec::new(),
        count: 0,
    });
    group.count += 1;
    if group.bytes.len() < NAMED {
        group.bytes.push(byte);
    }
}

impl Findings {
    /// A line that cannot be read, from byte `byte` of the stream on.
    pub fn broken(&mut self, at: At, byte: u64, why: &str) {
        note(&mut self.broken, at, byte, why);
    }

    /// A line that was passed over for its length.
    pub fn too_long(&mut self, at: At) {
        note(&mut self.too_long, at, at.byte, "");
    }

    /// An event that is not known.
    pub fn unknown(&mut self, name: &[u8], at: At) {
        let name = String::from_utf8_lossy(&name[..name.len().min(200)]);
        // Names of damaged lines must not fill the memory.
        let name = if self.unknown.len() < 100 || self.unknown.contains_key(name.as_ref()) {
            &name
        } else {
            "others"
        };
        self.unknown.entry(name.to_owned()).or_insert((at, 0)).1 += 1;
    }

    /// The first line that cannot be read, in words.
    pub fn first(&self) -> Option<String> {
        let group = self.broken.as_ref()?;
        Some(format!(
            "line {}, byte {}: {}",
            group.first.line, group.bytes[0], group.why
        ))
    }

    /// The doubts about `file`.
    pub fn into_doubts(self, file: &str) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        if let Some(group) = self.broken {
            let message = format!(
                "{} line(s) cannot be read and were left out; the first is line {}: {} at byte {}; {}",
                group.count,
                group.first.line,
                group.why,
                group.bytes[0],
                places(&group)
            );
            doubts.push(doubt(
                "eventlog_line_unreadable",
                Severity::Warning,
                message,
                file,
                group.first,
                group.count,
            ));
        }
        if let Some(group) = self.too_long {
            let message = format!(
                "{} line(s) are too long to be read and were left out; {}",
                group.count,
                places(&group)
            );
            doubts.push(doubt(
                "eventlog_line_too_long",
                Severity::Warning,
                message,
                file,
                group.first,
                group.count,
            ));
        }
        for (name, (first, count)) in self.unknown {
            let message = format!("{count} unknown event(s) {name:?} were left out");
            doubts.push(doubt(
                "eventlog_unknown_event",
                Severity::Info,
                message,
                file,
                first,
                count,
            ));
        }
        doubts
    }
}

fn places(group: &Group) -> String {
    let bytes: Vec<_> = group.bytes.iter().map(u64::to_string).collect();
    let more = if group.count > group.bytes.len() as u64 {
        ", …"
    } else {
        ""
    };
    format!(
        "bytes {}{more} of the uncompressed stream",
        bytes.join(", ")
    )
}

fn doubt(
    code: &'static str,
    severity: Severity,
    message: String,
    file: &str,
    first: At,
    count: u64,
) -> Doubt {
    Doubt::new(code, severity, message)
        .in_file(file)
        .at_line(first.line)
        .at_byte(first.byte)
        .times(count)
}
