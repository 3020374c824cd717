//! Chunks of a recording and the events in them.

use std::io::Read as _;

use super::bytes::{Cursor, Malformed, Read};

/// Type id of a chunk's description of its types, which the format fixes.
pub const METADATA: u64 = 0;
/// The same of constant pools; types of events have larger ones.
pub const CHECKPOINT: u64 = 1;

/// Bytes of a chunk's header.
pub const HEADER_BYTES: usize = 68;

/// A chunk in memory.
pub struct Chunk {
    /// All bytes, from the header on.
    pub bytes: Vec<u8>,
    /// The writer closed the chunk; else its constant pools may be missing.
    pub complete: bool,
    /// Wall time of the start, Unix ns.
    pub start_wall_ns: i64,
    /// Ticks at the start.
    pub start_ticks: i64,
    /// Ticks in a second.
    pub ticks_per_second: i64,
}

/// An event: its type, and its body behind size and type, whose position is that in the chunk.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// Id of the type.
    pub class: u64,
    /// The fields.
    pub body: Cursor<'a>,
}

/// Why there is no further chunk.
#[derive(Debug)]
pub enum ChunkError {
    /// ChunkReader failed.
    Io(std::io::Error),
    /// There are bytes, but not those of a chunk of version 1 or 2 with compressed integers.
    NotAChunk,
}

/// Bytes set aside for a chunk at once: an unfinished one claims more than there is.
const RESERVED: u64 = 16 << 20;

/// Reads the header of the next chunk.
///
/// # Errors
/// If reading fails or what follows is no chunk.
pub fn begin(input: &mut impl std::io::Read) -> Result<Option<Header>, ChunkError> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    input
        .by_ref()
        .take(HEADER_BYTES as u64)
        .read_to_end(&mut bytes)
        .map_err(ChunkError::Io)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    header(bytes)
        .map(Some)
        .map_err(|Malformed| ChunkError::NotAChunk)
}

/// Reads the rest of a chunk, into memory of another: a recording is read in memory bounded by its
/// largest chunk.
///
/// # Errors
/// If reading fails.
pub fn read(
    input: &mut impl std::io::Read,
    header: &Header,
    mut bytes: Vec<u8>,
) -> std::io::Result<Chunk> {
    bytes.clear();
    bytes.extend_from_slice(&header.bytes);
    let rest = header.size.saturating_sub(HEADER_BYTES as u64);
    bytes.reserve(rest.min(RESERVED) as usize);
    input.by_ref().take(rest).read_to_end(&mut bytes)?;
    // An unfinished chunk of async-profiler claims 1 GiB and has no constant pool yet.
    let complete = bytes.len() as u64 == header.size && header.pool_offset != 0;
    Ok(Chunk {
        bytes,
        complete,
        start_wall_ns: header.start_wall_ns,
        start_ticks: header.start_ticks,
        ticks_per_second: header.ticks_per_second,
    })
}

/// The header of a chunk.
pub struct Header {
    bytes: Vec<u8>,
    /// Bytes that the chunk claims to have.
    pub size: u64,
    pool_offset: i64,
    start_wall_ns: i64,
    start_ticks: i64,
    ticks_per_second: i64,
}

fn header(bytes: Vec<u8>) -> Read<Header> {
    let mut cursor = Cursor::new(&bytes);
    if cursor.take(4)? != b"FLR\0" {
        return Err(Malformed);
    }
    let major = cursor.take(2)?;
    cursor.take(2)?;
    if !matches!(major, [0, 1 | 2]) {
        return Err(Malformed);
    }
    let size = u64::try_from(cursor.be64()?).map_err(|_| Malformed)?;
    let pool_offset = cursor.be64()?;
    cursor.be64()?; // metadata offset: found by going through the events
    let start_wall_ns = cursor.be64()?;
    cursor.be64()?; // duration
    let start_ticks = cursor.be64()?;
    let ticks_per_second = cursor.be64()?;
    let compressed = cursor.take(4)?[3] & 1 == 1;
    if size < HEADER_BYTES as u64 || ticks_per_second <= 0 || !compressed {
        return Err(Malformed);
    }
    Ok(Header {
        bytes,
        size,
        pool_offset,
        start_wall_ns,
        start_ticks,
        ticks_per_second,
    })
}

impl Chunk {
    /// Events in the order of the file. Ends at the first that is not whole;
    /// [`Events::broken_at`] then says where.
    pub fn events(&self) -> Events<'_> {
        Events {
            cursor: Cursor::at(&self.bytes, HEADER_BYTES),
            broken_at: None,
        }
    }

    /// Wall time of `ticks`, Unix ns.
    pub fn wall_ns(&self, ticks: i64) -> i64 {
        self.start_wall_ns
            .saturating_add(self.duration_ns(ticks.saturating_sub(self.start_ticks)))
    }

    /// Length of `ticks`, ns.
    pub fn duration_ns(&self, ticks: i64) -> i64 {
        if self.ticks_per_second == 1_000_000_000 {
            return ticks;
        }
        let ns = i128::from(ticks) * 1_000_000_000 / i128::from(self.ticks_per_second);
        i64::try_from(ns).unwrap_or(i64::MAX)
    }
}

/// Iterator over the events of a chunk.
pub struct Events<'a> {
    cursor: Cursor<'a>,
    /// Offset in the chunk of an event that is not whole.
    pub broken_at: Option<usize>,
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    #[inline]
    fn next(&mut self) -> Option<Event<'a>> {
        let start = self.cursor.position();
        if self.cursor.remaining() == 0 || self.broken_at.is_some() {
            return None;
        }
        let event = event(&mut self.cursor, start);
        if event.is_err() {
            self.broken_at = Some(start);
        }
        event.ok()
    }
}

fn event<'a>(cursor: &mut Cursor<'a>, start: usize) -> Read<Event<'a>> {
    let size = cursor.count_from(start)?;
    let class = cursor.varint()?;
    let at = cursor.position();
    let body = cursor.part((start + size).checked_sub(at).ok_or(Malformed)?)?;
    Ok(Event { class, body })
}
