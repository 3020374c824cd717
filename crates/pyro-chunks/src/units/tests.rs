use super::*;
use proptest::prelude::*;

/// A message with a body of so many bytes.
fn arrow(body: usize) -> Vec<u8> {
    // Fields of the root: version, type, header, length of the body (at 8 of the table).
    let mut description = 20u32.to_le_bytes().to_vec();
    description.extend([0; 2]);
    for word in [12u16, 24, 0, 0, 0, 8] {
        description.extend(word.to_le_bytes());
    }
    description.extend([0; 2]);
    description.extend(14i32.to_le_bytes());
    description.extend([0; 4]);
    description.extend((body as i64).to_le_bytes());
    description.resize(description.len().next_multiple_of(8), 0);
    let mut bytes = vec![0xff; 4];
    bytes.extend((description.len() as u32).to_le_bytes());
    bytes.extend(description);
    bytes.extend(vec![7; body]);
    bytes
}

/// A chunk of a recording of so many bytes, closed or not.
fn jfr(size: usize, closed: bool) -> Vec<u8> {
    let mut bytes = vec![0; size];
    bytes[..8].copy_from_slice(b"FLR\0\0\x02\0\0");
    let claimed = if closed { size as i64 } else { 1 << 30 };
    bytes[8..16].copy_from_slice(&claimed.to_be_bytes());
    bytes[16..24].copy_from_slice(&i64::from(closed).to_be_bytes());
    bytes
}

/// Cuts what is there as a shipper does, with windows of `window` bytes.
fn pieces(kind: Kind, bytes: &[u8], window: usize, ended: bool) -> Vec<(At, usize)> {
    let (mut at, mut place, mut pieces) = (At::Start, 0, Vec::new());
    loop {
        let rest = &bytes[place..];
        let found = cut(
            kind,
            at,
            &rest[..rest.len().min(window)],
            rest.len() as u64,
            ended,
        );
        if found.length == 0 {
            return pieces;
        }
        pieces.push((at, found.length));
        (at, place) = (found.then, place + found.length);
    }
}

#[test]
fn lines_are_whole() {
    let text = b"one\ntwo\nthree";
    assert_eq!(pieces(Kind::Lines, text, 100, false), [(At::Start, 8)]);
    assert_eq!(pieces(Kind::Lines, text, 100, true), [(At::Start, 13)]);
    assert_eq!(
        pieces(Kind::Lines, text, 6, true),
        [(At::Start, 4), (At::Start, 4), (At::Start, 5)]
    );
    let long = b"a very long line\nb\n";
    assert_eq!(
        pieces(Kind::Lines, long, 10, false),
        [(At::Start, 10), (At::Line, 9)]
    );
    assert_eq!(cut(Kind::Lines, At::Start, b"", 0, true).length, 0);
}

#[test]
fn messages_are_whole() {
    let stream = [
        arrow(0),
        arrow(100),
        arrow(1000),
        vec![255, 255, 255, 255, 0, 0, 0, 0],
    ]
    .concat();
    let small = arrow(0).len();
    let ends = [small, small * 2 + 100, small * 3 + 1100, stream.len()];
    for length in 0..=stream.len() {
        let whole = ends
            .iter()
            .rfind(|&&end| end <= length)
            .copied()
            .unwrap_or(0);
        let found = cut(
            Kind::Messages,
            At::Start,
            &stream[..length],
            length as u64,
            false,
        );
        assert_eq!((found.length, found.then), (whole, At::Start), "{length}");
    }
    let cuts = pieces(Kind::Messages, &stream, 400, false);
    assert_eq!(cuts.iter().map(|cut| cut.1).sum::<usize>(), stream.len());
    assert_eq!(
        cuts[1],
        (At::Start, 400),
        "the large one has its own pieces"
    );
    assert_eq!(cuts[2].0, At::Inside(1000 + small as u64 - 400));
    let cut_short = &stream[..stream.len() - 100];
    let all: usize = pieces(Kind::Messages, cut_short, 400, true)
        .iter()
        .map(|cut| cut.1)
        .sum();
    assert_eq!(all, cut_short.len());
}

#[test]
fn an_open_chunk_of_a_recording_waits() {
    let stream = [jfr(100, true), jfr(300, true), jfr(200, false)].concat();
    assert_eq!(
        pieces(Kind::Recording, &stream, 1000, false),
        [(At::Start, 400)]
    );
    assert_eq!(
        pieces(Kind::Recording, &stream, 1000, true),
        [(At::Start, 600)]
    );
    let mut flushed = jfr(100, true);
    flushed[64] = 1;
    assert_eq!(pieces(Kind::Recording, &flushed, 1000, false), []);
    assert_eq!(
        pieces(Kind::Recording, &stream, 150, false),
        [(At::Start, 100), (At::Start, 150), (At::Inside(150), 150)]
    );
}

#[test]
fn what_is_not_what_its_name_says_is_taken_as_it_is() {
    for kind in [Kind::Messages, Kind::Recording] {
        let found = cut(kind, At::Start, b"neither of them", 15, false);
        assert_eq!((found.length, found.then), (15, At::Unknown));
        let found = cut(kind, At::Unknown, b"FLR\0", 4, false);
        assert_eq!((found.length, found.then), (4, At::Unknown));
    }
    let mut endless = arrow(0);
    endless[4..8].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    assert_eq!(
        cut(Kind::Messages, At::Start, &endless, 1 << 40, false).then,
        At::Unknown
    );
}

#[test]
fn kinds_by_names() {
    for (name, kind) in [
        ("gc-1.log", Kind::Lines),
        ("plugin-executor-1-2.ndjson", Kind::Lines),
        ("codegen/codegen-driver-driver-2.ndjson", Kind::Lines),
        ("eventlog/app-1", Kind::Lines),
        ("eventlog/app-1.zstd", Kind::Bytes),
        ("probe-h-threads.arrows", Kind::Messages),
        ("probe-h.report.json", Kind::Whole),
        ("profile-executor-1.jfr", Kind::Recording),
        ("stdout", Kind::Lines),
        ("core.1234", Kind::Bytes),
        ("", Kind::Bytes),
    ] {
        assert_eq!(kind_of(name), kind, "{name}");
    }
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![
        Kind::Lines,
        Kind::Messages,
        Kind::Recording,
        Kind::Bytes,
    ])
}

proptest! {
    #[test]
    fn pieces_of_whole_units_add_up(
        sizes in prop::collection::vec(0usize..500, 0..12),
        window in 100usize..900,
    ) {
        let messages: Vec<u8> = sizes.iter().flat_map(|&size| arrow(size)).collect();
        let chunks: Vec<u8> = sizes.iter().flat_map(|&size| jfr(68 + size, true)).collect();
        for (kind, stream) in [(Kind::Messages, messages), (Kind::Recording, chunks)] {
            let cuts = pieces(kind, &stream, window, false);
            prop_assert_eq!(cuts.iter().map(|cut| cut.1).sum::<usize>(), stream.len());
            prop_assert!(cuts.iter().all(|cut| cut.0 != At::Unknown));
        }
    }

    #[test]
    fn whatever_the_bytes_an_ended_stream_is_taken_whole(
        kind in any_kind(),
        heads in prop::collection::vec((0..4u8, prop::collection::vec(any::<u8>(), 0..60)), 0..8),
        window in 1usize..300,
    ) {
        let mut bytes = Vec::new();
        for (head, more) in heads {
            match head {
                0 => bytes.extend(arrow(more.len())),
                1 => bytes.extend(jfr(68 + more.len(), more.len() % 2 == 0)),
                2 => bytes.extend(b"FLR\0"),
                _ => bytes.extend([255; 4]),
            }
            bytes.extend(more);
        }
        let all: usize = pieces(kind, &bytes, window, true).iter().map(|cut| cut.1).sum();
        prop_assert_eq!(all, bytes.len());
        let some: usize = pieces(kind, &bytes, window, false).iter().map(|cut| cut.1).sum();
        prop_assert!(some <= bytes.len());
    }
}
