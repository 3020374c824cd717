//! What a reader makes of the store.

use std::collections::BTreeMap;

use pyro_chunks::join::{Joiner, Tally};
use pyro_chunks::{Kind, decode, sequence_of};

use super::world::World;

/// The streams by the last part of their names.
pub fn joined(world: &World) -> BTreeMap<String, (Vec<u8>, Tally)> {
    let mut streams: BTreeMap<String, (Vec<u8>, Joiner)> = BTreeMap::new();
    for (key, object) in &world.0.borrow().store {
        let (stream, chunk) = key.rsplit_once('/').unwrap();
        let file = stream.rsplit_once('/').unwrap().1.to_owned();
        let (bytes, joiner) = streams.entry(file).or_default();
        let chunk_read = decode(object);
        let taken = joiner.take(
            sequence_of(chunk).unwrap(),
            chunk_read.as_ref().map_err(Clone::clone),
        );
        if let Some(length) = taken.cut_to {
            bytes.truncate(length as usize);
        }
        match chunk_read {
            Ok(chunk) if chunk.header.kind == Kind::Whole => *bytes = chunk.payload,
            Ok(chunk) => {
                let kept = taken.keep.into_iter();
                bytes.extend(kept.flat_map(|range| &chunk.payload[range]));
            }
            Err(_) => {}
        }
    }
    let tallied =
        |(file, (bytes, joiner)): (String, (Vec<u8>, Joiner))| (file, (bytes, joiner.tally));
    streams.into_iter().map(tallied).collect()
}

/// The bytes of one stream, of which everything arrived, once.
pub fn whole(world: &World, file: &str) -> Vec<u8> {
    let (bytes, tally) = joined(world).remove(file).unwrap_or_default();
    let expected = Tally {
        bytes_count: bytes.len() as u64,
        chunks_count: tally.chunks_count,
        ended: tally.ended,
        last_wall_ns: tally.last_wall_ns,
        ..Tally::default()
    };
    assert_eq!(tally, expected, "{file}");
    bytes
}
