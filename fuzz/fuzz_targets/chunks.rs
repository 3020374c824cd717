//! Any bytes as a chunk, as a stream to be cut, and as the fate of chunks that are joined: no panic,
//! what is cut adds up to the stream, and every byte that arrives is in the file or counted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pyro_chunks::join::Joiner;
use pyro_chunks::{At, Chunk, Header, Kind, Source, cut, decode, encode};

const KINDS: [Kind; 4] = [Kind::Lines, Kind::Messages, Kind::Recording, Kind::Bytes];

fuzz_target!(|bytes: &[u8]| {
    let _ = decode(bytes);
    let [choice, window, rest @ ..] = bytes else {
        return;
    };
    let kind = KINDS[usize::from(*choice) % KINDS.len()];
    let window = usize::from(*window) + 1;
    let (mut at, mut place, mut chunks) = (At::Start, 0, Vec::new());
    loop {
        let here = &rest[place..];
        let found = cut(
            kind,
            at,
            &here[..here.len().min(window)],
            here.len() as u64,
            true,
        );
        assert!(found.length <= window);
        if found.length == 0 {
            break;
        }
        chunks.push(chunk(
            kind,
            chunks.len() as u64,
            place as u64,
            at,
            found.then,
            &here[..found.length],
        ));
        (at, place) = (found.then, place + found.length);
    }
    assert_eq!(place, rest.len(), "an ended stream is taken whole");

    if let Some(chunk) = chunks.first() {
        let read = decode(&encode(&chunk.header, &chunk.payload).expect("small")).expect("ours");
        assert_eq!(read.payload, chunk.payload);
    }

    let (mut joiner, mut length, mut arrived) = (Joiner::default(), 0, 0);
    for (chunk, fate) in chunks.iter().zip(rest.iter().rev()) {
        if fate % 4 == 0 {
            continue;
        }
        let taken = joiner.take(chunk.header.sequence, Ok(chunk));
        let kept = taken.keep.iter();
        length = taken.cut_to.unwrap_or(length) + kept.map(|range| range.len() as u64).sum::<u64>();
        arrived += chunk.payload.len() as u64;
        assert_eq!(joiner.tally.bytes_count, length);
        assert_eq!(
            joiner.tally.bytes_count + joiner.tally.left_out_bytes,
            arrived
        );
    }
});

fn chunk(kind: Kind, sequence: u64, offset: u64, at: At, then: At, payload: &[u8]) -> Chunk {
    let name = || "x".to_owned();
    let source = Source {
        app: name(),
        executor: name(),
        attempt: name(),
        host: name(),
    };
    Chunk {
        header: Header {
            source,
            file: name(),
            generation: 0,
            kind,
            sequence,
            offset,
            length: payload.len() as u64,
            skipped_bytes: 0,
            begins_whole: at == At::Start,
            ends_whole: then == At::Start,
            last: false,
            cut_wall_ns: 0,
            zstd: false,
        },
        payload: payload.to_vec(),
    }
}
