//! The block formats of Spark's Java codecs.

use std::hash::Hasher;
use std::io::{self, Read};

use super::lzf;

/// Blocks of these formats are 64 KiB at most by design and a few MiB by configuration;
/// a header that says more is damaged.
const LARGEST: usize = 64 << 20;

/// Reads one block of a format.
pub trait Format {
    /// Appends the next block's content to `out`; false at the end of the stream.
    ///
    /// # Errors
    /// `UnexpectedEof` or `InvalidData`.
    fn block(
        &mut self,
        source: &mut Counted<impl Read>,
        input: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> io::Result<bool>;
}

/// A source that knows how far it has been read.
pub struct Counted<R> {
    source: R,
    at: u64,
}

impl<R: Read> Counted<R> {
    fn take(&mut self, bytes: usize, into: &mut Vec<u8>) -> io::Result<()> {
        if bytes > LARGEST {
            return Err(self.damaged("says it is too large"));
        }
        into.resize(bytes, 0);
        self.source.read_exact(into)?;
        self.at += bytes as u64;
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    /// The next byte, or `None` at the end.
    fn first(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        let read = self.source.read(&mut byte)?;
        self.at += read as u64;
        Ok((read == 1).then_some(byte[0]))
    }

    fn damaged(&self, what: impl std::fmt::Display) -> io::Error {
        let text = format!("the block before compressed byte {} {what}", self.at);
        io::Error::new(io::ErrorKind::InvalidData, text)
    }
}

/// Turns blocks into a stream.
pub struct Blocks<R, F> {
    source: Counted<R>,
    format: F,
    input: Vec<u8>,
    content: Vec<u8>,
    given: usize,
}

impl<R: Read, F: Format> Blocks<R, F> {
    /// Reads `source`, from its first byte.
    pub fn new(source: R, format: F) -> Self {
        Self {
            source: Counted { source, at: 0 },
            format,
            input: Vec::new(),
            content: Vec::new(),
            given: 0,
        }
    }
}

impl<R: Read, F: Format> Read for Blocks<R, F> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.given == self.content.len() {
            self.content.clear();
            self.given = 0;
            if !self
                .format
                .block(&mut self.source, &mut self.input, &mut self.content)?
            {
                return Ok(0);
            }
        }
        let bytes = buf.len().min(self.content.len() - self.given);
        buf[..bytes].copy_from_slice(&self.content[self.given..self.given + bytes]);
        self.given += bytes;
        Ok(bytes)
    }
}

/// `LZ4Block`: magic, token, two lengths, xxHash32 of the content; streams may follow each other.
pub struct Lz4Block;

impl Format for Lz4Block {
    fn block(
        &mut self,
        source: &mut Counted<impl Read>,
        input: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let Some(first) = source.first()? else {
            return Ok(false);
        };
        let head: [u8; 20] = source.array()?;
        if first != b'L' || &head[..7] != b"Z4Block" {
            return Err(source.damaged("does not begin with LZ4Block"));
        }
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let (packed, size, checksum) = (number(8) as usize, number(12) as usize, number(16));
        if size == 0 {
            // The end of one stream; another may follow.
            return Ok(true);
        }
        source.take(packed, input)?;
        match head[7] & 0xF0 {
            0x10 => out.extend_from_slice(input),
            0x20 if size <= LARGEST => {
                out.resize(size, 0);
                let written = lz4_flex::block::decompress_into(input, out)
                    .map_err(|error| source.damaged(error))?;
                out.truncate(written);
            }
            _ => return Err(source.damaged("is of an unknown method or size")),
        }
        // The checksum is masked by lz4-java's Checksum adapter.
        let mut hasher = twox_hash::XxHash32::with_seed(0x9747_B28C);
        hasher.write(out);
        if out.len() != size || hasher.finish() as u32 & 0x0FFF_FFFF != checksum {
            return Err(source.damaged("does not match its checksum"));
        }
        Ok(true)
    }
}

/// `ZV`: chunks that are stored or compressed.
pub struct Lzf;

impl Format for Lzf {
    fn block(
        &mut self,
        source: &mut Counted<impl Read>,
        input: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let Some(first) = source.first()? else {
            return Ok(false);
        };
        let [second, kind] = source.array()?;
        if (first, second) != (b'Z', b'V') {
            return Err(source.damaged("does not begin with ZV"));
        }
        let length = usize::from(u16::from_be_bytes(source.array()?));
        match kind {
            0 => source.take(length, out)?,
            1 => {
                let size = usize::from(u16::from_be_bytes(source.array()?));
                source.take(length, input)?;
                lzf::decompress(input, size, out).ok_or_else(|| source.damaged("is damaged"))?;
            }
            _ => return Err(source.damaged("is of an unknown kind")),
        }
        Ok(true)
    }
}

/// snappy-java: a header of 16 bytes, then blocks behind their length; streams may follow each other.
pub struct SnappyJava;

impl Format for SnappyJava {
    fn block(
        &mut self,
        source: &mut Counted<impl Read>,
        input: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let Some(first) = source.first()? else {
            return Ok(false);
        };
        let [b, c, d] = source.array()?;
        if [first, b, c, d] == *b"\x82SNA" {
            let rest: [u8; 12] = source.array()?;
            return if &rest[..4] == b"PPY\0" {
                Ok(true)
            } else {
                Err(source.damaged("is not a header"))
            };
        }
        let length = u32::from_be_bytes([first, b, c, d]) as usize;
        source.take(length, input)?;
        let size = snap::raw::decompress_len(input).map_err(|error| source.damaged(error))?;
        if size > LARGEST {
            return Err(source.damaged("says it is too large"));
        }
        out.resize(size, 0);
        snap::raw::Decoder::new()
            .decompress(input, out)
            .map_err(|error| source.damaged(error))?;
        Ok(true)
    }
}
