//! Chunks for the tests of whoever reads or writes some.

use std::fs;
use std::path::{Path, PathBuf};

use crate::format::{Chunk, encode};
use crate::header::{Header, Kind, Source};
use crate::key::{chunk_key, stream_key};

/// A header with nothing special to it, of executor 1 of `app` on host `h`: its payload is whole and not the last. It
/// was cut `sequence` ns after 1970 began.
pub fn header(file: &str, kind: Kind, sequence: u64, offset: u64) -> Header {
    Header {
        source: Source {
            app: "app".to_owned(),
            executor: "1".to_owned(),
            attempt: "a".to_owned(),
            host: "h".to_owned(),
        },
        file: file.to_owned(),
        generation: 0,
        kind,
        sequence,
        offset,
        length: 0,
        skipped_bytes: 0,
        begins_whole: true,
        ends_whole: true,
        last: false,
        cut_wall_ns: sequence as i64,
        zstd: false,
    }
}

/// A chunk as a reader has it.
pub fn chunk(header: Header, payload: &[u8]) -> Chunk {
    Chunk {
        header: Header {
            length: payload.len() as u64,
            ..header
        },
        payload: payload.to_vec(),
    }
}

/// Puts a chunk into a folder that is a store, and says where.
///
/// # Panics
/// If it cannot be encoded or written.
pub fn put(store: &Path, header: &Header, payload: &[u8]) -> PathBuf {
    let stream = stream_key(&header.source, &header.file, header.generation);
    let path = store.join(chunk_key(&stream, header.sequence));
    let folder = path.parent().expect("a chunk has a folder");
    fs::create_dir_all(folder).expect("the store can be written");
    let object = encode(header, payload).expect("the payload is small");
    fs::write(&path, object).expect("the store can be written");
    path
}
