//! Where a stream may be cut: behind a line, a message, a chunk of a recording. Whatever the bytes,
//! something is found or nothing is taken yet; a stream that is not what its name says is cut anywhere.

use serde::{Deserialize, Serialize};

use crate::header::Kind;

/// Bytes of the header of a JFR chunk.
const JFR_HEADER_BYTES: usize = 68;
/// Longer descriptions of a message are none.
const MAX_DESCRIPTION_BYTES: u64 = 1 << 20;

/// What a place in a stream lies in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// A unit (line, message, JFR chunk) begins here.
    #[default]
    Start,
    /// In a line.
    Line,
    /// In a unit that has so many bytes left.
    Inside(u64),
    /// Nobody knows: the stream is not, or no longer, what its name says.
    Unknown,
}

/// How much to take of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// So many bytes of the window; 0: nothing is complete yet.
    pub length: usize,
    /// What the place behind them lies in.
    pub then: At,
}

/// How a file is cut, by its name.
pub fn kind_of(file: &str) -> Kind {
    let name = file.rsplit('/').next().unwrap_or(file);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "arrows" => Kind::Messages,
        "jfr" => Kind::Recording,
        "json" => Kind::Whole,
        "ndjson" | "log" => Kind::Lines,
        "zstd" | "lz4" | "lzf" | "snappy" | "gz" => Kind::Bytes,
        _ if file.starts_with("eventlog/") || matches!(name, "stdout" | "stderr") => Kind::Lines,
        _ => Kind::Bytes,
    }
}

/// Cuts a stream at the last place in `window` where a unit ends.
///
/// `window` has the first of the `available` bytes behind the last cut. A unit that is larger than the window
/// is taken in several pieces, once it is complete. With `ended` nothing will be added, and all is taken.
pub fn cut(kind: Kind, at: At, window: &[u8], available: u64, ended: bool) -> Cut {
    let all = |then| Cut {
        length: window.len(),
        then,
    };
    match (kind, at) {
        (Kind::Bytes | Kind::Whole, _) | (_, At::Unknown) => all(At::Unknown),
        (Kind::Lines, _) => lines(window, available, ended),
        (Kind::Messages, at) => units(message, at, window, available, ended),
        (Kind::Recording, at) => units(recording, at, window, available, ended),
    }
}

fn lines(window: &[u8], available: u64, ended: bool) -> Cut {
    let last = window.iter().rposition(|&byte| byte == b'\n');
    match last {
        Some(last) if !ended || last + 1 == window.len() || (window.len() as u64) < available => {
            Cut {
                length: last + 1,
                then: At::Start,
            }
        }
        None if window.is_empty() => Cut {
            length: 0,
            then: At::Start,
        },
        None if !ended && window.len() as u64 == available => Cut {
            length: 0,
            then: At::Line,
        },
        _ => Cut {
            length: window.len(),
            then: At::Line,
        },
    }
}

/// What begins at a place.
#[derive(Debug, PartialEq, Eq)]
enum Unit {
    /// A unit of so many bytes.
    Of(u64),
    /// One that is still being written.
    Unfinished,
    /// There are not enough bytes to tell.
    TooShort,
    /// None.
    Broken,
}

/// Bytes of the message at the beginning, if all of it is there.
pub(crate) fn whole_message(bytes: &[u8]) -> Option<usize> {
    match message(bytes) {
        Unit::Of(size) => usize::try_from(size)
            .ok()
            .filter(|&size| size <= bytes.len()),
        _ => None,
    }
}

fn units(size: fn(&[u8]) -> Unit, at: At, window: &[u8], available: u64, ended: bool) -> Cut {
    let all = |then| Cut {
        length: window.len(),
        then,
    };
    let mut taken = 0;
    if let At::Inside(left) = at {
        match usize::try_from(left) {
            Ok(left) if left <= window.len() => taken = left,
            _ => return all(At::Inside(left - window.len() as u64)),
        }
    }
    loop {
        let rest = &window[taken..];
        if rest.is_empty() {
            return all(At::Start);
        }
        let there = available - taken as u64;
        match size(rest) {
            Unit::Of(size) if size <= rest.len() as u64 => taken += size as usize,
            Unit::Of(size) if size <= there && taken == 0 => {
                return all(At::Inside(size - rest.len() as u64));
            }
            // Too large for the rest of this window; the next begins with it.
            Unit::Of(size) if size <= there => break,
            Unit::Of(_) | Unit::Unfinished | Unit::TooShort if ended => return all(At::Unknown),
            // A whole window is not enough to tell: it is none.
            Unit::TooShort if taken == 0 && there > rest.len() as u64 => return all(At::Unknown),
            Unit::Of(_) | Unit::Unfinished | Unit::TooShort => break,
            Unit::Broken => return all(At::Unknown),
        }
    }
    Cut {
        length: taken,
        then: At::Start,
    }
}

/// A message of an Arrow IPC stream: a mark, the length of a description, the description (a flat
/// buffer, which has the length of the body), the body.
fn message(bytes: &[u8]) -> Unit {
    if !bytes.iter().take(4).all(|&byte| byte == 0xff) {
        return Unit::Broken;
    }
    let Some(length) = u32_at(bytes, 4) else {
        return Unit::TooShort;
    };
    let length = u64::from(length);
    if length > MAX_DESCRIPTION_BYTES {
        return Unit::Broken;
    }
    if length == 0 {
        return Unit::Of(8);
    }
    let Some(description) = bytes.get(8..8 + length as usize) else {
        return Unit::TooShort;
    };
    match body_bytes(description) {
        Some(body) if body <= i64::MAX as u64 / 2 => Unit::Of(8 + length + body),
        _ => Unit::Broken,
    }
}

/// `bodyLength` of a flat buffer of type `Message`: the fourth field of its root.
fn body_bytes(description: &[u8]) -> Option<u64> {
    let root = u32_at(description, 0)? as usize;
    let back = u32_at(description, root)? as i32;
    let fields = usize::try_from(i64::try_from(root).ok()? - i64::from(back)).ok()?;
    let entry = 4 + 2 * 3;
    let known = usize::from(u16_at(description, fields)?);
    if known < entry + 2 {
        return Some(0);
    }
    match usize::from(u16_at(description, fields + entry)?) {
        0 => Some(0),
        place => {
            let bytes = description.get(root.checked_add(place)?..)?.get(..8)?;
            u64::try_from(i64::from_le_bytes(bytes.try_into().ok()?)).ok()
        }
    }
}

/// A chunk of a JFR recording: its header has its size, and the place of its constants once its writer has closed it.
fn recording(bytes: &[u8]) -> Unit {
    if !b"FLR\0".starts_with(&bytes[..bytes.len().min(4)]) {
        return Unit::Broken;
    }
    let Some(header) = bytes.get(..JFR_HEADER_BYTES) else {
        return Unit::TooShort;
    };
    let field = |at: usize| {
        let bytes = header[at..at + 8].try_into().expect("eight of them");
        i64::from_be_bytes(bytes)
    };
    let (size, constants, being_written) = (field(8), field(16), header[64] != 0);
    match u64::try_from(size) {
        Ok(size) if size >= JFR_HEADER_BYTES as u64 && constants != 0 && !being_written => {
            Unit::Of(size)
        }
        _ => Unit::Unfinished,
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.get(..4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.get(..2)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests;
