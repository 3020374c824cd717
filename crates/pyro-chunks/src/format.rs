//! A chunk as bytes.

use std::fmt;

use twox_hash::XxHash3_64;

use crate::header::Header;

const MAGIC: &[u8; 8] = b"PYROCHNK";
const VERSION: u32 = 1;
/// Magic, version, length of the header.
const HEAD_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 8;
const MAX_HEADER_BYTES: usize = 64 << 10;

/// Most bytes that a payload has, uncompressed.
pub const MAX_PAYLOAD_BYTES: usize = 16 << 20;

/// Most bytes that an object has: nothing larger is read.
pub const MAX_OBJECT_BYTES: usize =
    MAX_PAYLOAD_BYTES + HEAD_BYTES + MAX_HEADER_BYTES + CHECKSUM_BYTES;

/// zstd's fastest level of the ordinary ones: text shrinks to a tenth.
const LEVEL: i32 = 1;

/// A chunk that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What it says of itself.
    pub header: Header,
    /// The bytes of the file.
    pub payload: Vec<u8>,
}

/// Why an object is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It does not begin as a chunk does.
    NotAChunk,
    /// It is of a version that this reader does not know.
    Newer(u32),
    /// It is not what was written: what does not fit.
    Damaged(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAChunk => out.write_str("not a chunk"),
            Self::Newer(version) => write!(out, "a chunk of version {version}, {VERSION} is known"),
            Self::Damaged(what) => out.write_str(what),
        }
    }
}

/// Makes the object of a chunk. `header.length` and `header.zstd` are set here: a payload that zstd
/// does not make smaller is kept as it is.
///
/// # Errors
/// If payload or header are larger than a reader takes.
pub fn encode(header: &Header, payload: &[u8]) -> Result<Vec<u8>, Fault> {
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(Fault::Damaged("the payload is too large"));
    }
    let packed = zstd::bulk::compress(payload, LEVEL).ok();
    let packed = packed.filter(|packed| packed.len() < payload.len());
    let header = Header {
        length: payload.len() as u64,
        zstd: packed.is_some(),
        ..header.clone()
    };
    let said = serde_json::to_vec(&header).expect("strings and numbers always serialise");
    if said.len() > MAX_HEADER_BYTES {
        return Err(Fault::Damaged("the header is too large"));
    }
    let stored = packed.as_deref().unwrap_or(payload);
    let mut object = Vec::with_capacity(HEAD_BYTES + said.len() + stored.len() + CHECKSUM_BYTES);
    object.extend_from_slice(MAGIC);
    object.extend(VERSION.to_le_bytes());
    object.extend((said.len() as u32).to_le_bytes());
    object.extend(said);
    object.extend_from_slice(stored);
    object.extend(XxHash3_64::oneshot(&object).to_le_bytes());
    Ok(object)
}

/// Reads an object.
///
/// # Errors
/// Why it is not used; whatever the bytes, nothing panics and no more memory is taken than
/// [`MAX_PAYLOAD_BYTES`] beside them.
pub fn decode(object: &[u8]) -> Result<Chunk, Fault> {
    if object.len() < MAGIC.len() || !object.starts_with(MAGIC) {
        return Err(Fault::NotAChunk);
    }
    let word = |at: usize| {
        let bytes = object.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    match word(8) {
        None => return Err(Fault::Damaged("cut")),
        Some(VERSION) => {}
        Some(version) => return Err(Fault::Newer(version)),
    }
    let body = object.len().checked_sub(CHECKSUM_BYTES);
    let body = body.filter(|&body| body >= HEAD_BYTES);
    let Some((body, checksum)) = body.map(|body| object.split_at(body)) else {
        return Err(Fault::Damaged("cut"));
    };
    if checksum != XxHash3_64::oneshot(body).to_le_bytes() {
        return Err(Fault::Damaged("the checksum does not fit"));
    }
    let said = word(12).unwrap_or(0) as usize;
    let end = HEAD_BYTES + said;
    let (Some(said), Some(stored)) = (body.get(HEAD_BYTES..end), body.get(end..)) else {
        return Err(Fault::Damaged("the header is longer than the object"));
    };
    let header: Header =
        serde_json::from_slice(said).map_err(|_| Fault::Damaged("the header cannot be read"))?;
    let length = usize::try_from(header.length).unwrap_or(usize::MAX);
    if length > MAX_PAYLOAD_BYTES {
        return Err(Fault::Damaged("the payload is too large"));
    }
    if header.offset.checked_add(header.length).is_none() || header.skipped_bytes > header.offset {
        return Err(Fault::Damaged("the payload lies in no file"));
    }
    let payload = if header.zstd {
        zstd::bulk::decompress(stored, length)
            .map_err(|_| Fault::Damaged("the payload cannot be unpacked"))?
    } else {
        stored.to_vec()
    };
    if payload.len() != length {
        return Err(Fault::Damaged("the payload has another length"));
    }
    Ok(Chunk { header, payload })
}

#[cfg(test)]
mod tests;
