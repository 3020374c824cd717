//! Decompression of event logs: every codec that Spark writes, recognised by content.

mod ahead;
mod blocks;
mod lzf;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

pub use ahead::Ahead;
use blocks::{Blocks, Lz4Block, Lzf, SnappyJava};

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Plain,
    /// Zstandard frames.
    Zstd,
    /// Blocks of lz4-java's `LZ4BlockOutputStream`.
    Lz4,
    /// Chunks of ning's compress-lzf.
    Lzf,
    /// Blocks of snappy-java's `SnappyOutputStream`.
    Snappy,
    /// Gzip members.
    Gzip,
}

/// What the first bytes say. `None`: compressed in a way that Spark does not write.
pub fn detect(head: &[u8]) -> Option<Codec> {
    Some(match head {
        [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Codec::Zstd,
        [0x1F, 0x8B, ..] => Codec::Gzip,
        [b'L', b'Z', b'4', b'B', b'l', b'o', b'c', b'k', ..] => Codec::Lz4,
        [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, ..] => Codec::Snappy,
        [b'Z', b'V', 0 | 1, ..] => Codec::Lzf,
        [0x04, 0x22, 0x4D, 0x18, ..]
        | [b'B', b'Z', b'h', ..]
        | [0xFD, b'7', b'z', b'X', b'Z', ..] => return None,
        _ => Codec::Plain,
    })
}

/// Opens a file and decompresses it; the reader's errors are `UnexpectedEof` where the
/// compressed data end early and `InvalidData` where they are damaged.
///
/// # Errors
/// If the file cannot be opened, or is compressed in a way that Spark does not write.
pub fn open(path: &Path) -> io::Result<(Box<dyn Read + Send>, Codec)> {
    let mut file = File::open(path)?;
    let mut head = Vec::with_capacity(16);
    file.by_ref().take(16).read_to_end(&mut head)?;
    let Some(codec) = detect(&head) else {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "compressed in a way that Spark does not write",
        ));
    };
    Ok((decode(io::Cursor::new(head).chain(file), codec)?, codec))
}

/// Decompresses `source`.
///
/// # Errors
/// If the decoder cannot be set up.
pub fn decode(
    source: impl Read + Send + 'static,
    codec: Codec,
) -> io::Result<Box<dyn Read + Send>> {
    if codec == Codec::Plain {
        return Ok(Box::new(source));
    }
    let source = BufReader::with_capacity(1 << 18, source);
    Ok(match codec {
        Codec::Plain => unreachable!("handled above"),
        Codec::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(source)?),
        Codec::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        Codec::Lz4 => Box::new(Blocks::new(source, Lz4Block)),
        Codec::Lzf => Box::new(Blocks::new(source, Lzf)),
        Codec::Snappy => Box::new(Blocks::new(source, SnappyJava)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_make_a_decoder_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), which in 0..5_usize) {
            let (codec, head) = [
                (Codec::Zstd, &b"\x28\xB5\x2F\xFD"[..]),
                (Codec::Gzip, b"\x1F\x8B\x08"),
                (Codec::Lz4, b"LZ4Block\x25"),
                (Codec::Lzf, b"ZV\x01"),
                (Codec::Snappy, b"\x82SNAPPY\0"),
            ][which];
            bytes.splice(0..0, head.iter().copied());
            prop_assert_eq!(detect(&bytes), Some(codec));
            let mut out = Vec::new();
            let _ = decode(io::Cursor::new(bytes), codec).unwrap().take(1 << 20).read_to_end(&mut out);
        }
    }
}
