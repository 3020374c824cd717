use super::*;
use crate::header::{Kind, Source};
use crate::testing;
use proptest::prelude::*;

fn header(file: &str) -> Header {
    testing::header(file, Kind::Lines, 3, 100)
}

/// The object with another header or payload, and a checksum that fits.
fn sealed(said: &[u8], stored: &[u8]) -> Vec<u8> {
    let mut object = MAGIC.to_vec();
    object.extend(VERSION.to_le_bytes());
    object.extend((said.len() as u32).to_le_bytes());
    object.extend(said);
    object.extend(stored);
    object.extend(XxHash3_64::oneshot(&object).to_le_bytes());
    object
}

fn damage(object: &[u8]) -> &'static str {
    match decode(object) {
        Err(Fault::Damaged(what)) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_is_packed_and_noise_is_not() {
    let text = "a line of a log\n".repeat(1000);
    let object = encode(&header("gc.log"), text.as_bytes()).unwrap();
    assert!(object.len() < text.len() / 10);
    let chunk = decode(&object).unwrap();
    assert!(chunk.header.zstd && chunk.payload == text.as_bytes());
    assert_eq!(chunk.header.length, text.len() as u64);

    let mut state = 1u64;
    let noise = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(999).collect();
    let object = encode(&header("x"), &noise).unwrap();
    let chunk = decode(&object).unwrap();
    assert!(!chunk.header.zstd && chunk.payload == noise);
}

#[test]
fn what_is_no_chunk_is_named() {
    let object = encode(&header("x"), b"abc").unwrap();
    assert_eq!(decode(b""), Err(Fault::NotAChunk));
    assert_eq!(decode(b"PAR1 and so on and so on"), Err(Fault::NotAChunk));
    let mut newer = object.clone();
    newer[8] = 2;
    assert_eq!(decode(&newer), Err(Fault::Newer(2)));
    for end in 8..object.len() {
        damage(&object[..end]);
    }
    let mut longer = object;
    longer.push(0);
    assert_eq!(damage(&longer), "the checksum does not fit");
}

#[test]
fn lengths_are_not_believed() {
    let said = |header: &Header| serde_json::to_vec(header).unwrap();
    let mut claims = Header {
        length: 3,
        ..header("x")
    };
    assert_eq!(
        decode(&sealed(&said(&claims), b"abc")).unwrap().payload,
        b"abc"
    );
    assert_eq!(
        damage(&sealed(&said(&claims), b"ab")),
        "the payload has another length"
    );
    claims.zstd = true;
    assert_eq!(
        damage(&sealed(&said(&claims), b"abc")),
        "the payload cannot be unpacked"
    );
    let bomb = zstd::bulk::compress(&vec![0; 1 << 20], 1).unwrap();
    damage(&sealed(&said(&claims), &bomb));
    claims.length = u64::MAX;
    assert_eq!(
        damage(&sealed(&said(&claims), &bomb)),
        "the payload is too large"
    );
    claims.length = 2;
    claims.offset = u64::MAX - 1;
    assert_eq!(
        damage(&sealed(&said(&claims), b"ab")),
        "the payload lies in no file"
    );
    assert_eq!(damage(&sealed(b"{}", b"ab")), "the header cannot be read");
    let mut long = sealed(b"{}", b"");
    long[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let end = long.len() - 8;
    let checksum = XxHash3_64::oneshot(&long[..end]).to_le_bytes();
    long[end..].copy_from_slice(&checksum);
    assert_eq!(damage(&long), "the header is longer than the object");
}

#[test]
fn what_no_reader_takes_is_not_made() {
    assert!(encode(&header("x"), &vec![0; MAX_PAYLOAD_BYTES + 1]).is_err());
    assert!(encode(&header(&"x".repeat(MAX_HEADER_BYTES)), b"").is_err());
}

#[test]
fn a_header_of_later_may_say_more() {
    let mut said = serde_json::to_value(Header {
        length: 1,
        ..header("x")
    })
    .unwrap();
    said["colour"] = "blue".into();
    let object = sealed(said.to_string().as_bytes(), b"a");
    assert_eq!(decode(&object).unwrap().payload, b"a");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        app in "\\PC*", executor in "\\PC*", host in "\\PC*", file in "\\PC*",
        generation: u32, sequence: u64, offset in 0..u64::MAX - 10_000, cut_wall_ns: i64,
        begins_whole: bool, ends_whole: bool, last: bool,
        payload in prop::collection::vec(0u8..4, 0..3000),
    ) {
        let source = Source { app, executor, attempt: "a".to_owned(), host };
        let header = Header {
            source, file, generation, kind: Kind::Recording, sequence, offset, cut_wall_ns,
            begins_whole, ends_whole, last, length: payload.len() as u64,
            skipped_bytes: offset / 2, zstd: false,
        };
        let chunk = decode(&encode(&header, &payload).unwrap()).unwrap();
        prop_assert_eq!(Header { zstd: false, ..chunk.header }, header);
        prop_assert_eq!(chunk.payload, payload);
    }

    #[test]
    fn one_wrong_byte_is_seen(at: prop::sample::Index, to: u8, payload in ".{0,200}") {
        let mut object = encode(&header("x"), payload.as_bytes()).unwrap();
        let at = at.index(object.len());
        prop_assume!(object[at] != to);
        object[at] = to;
        prop_assert!(decode(&object).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, said in "\\PC{0,80}") {
        let _ = decode(&bytes);
        let _ = decode(&[MAGIC.as_slice(), &VERSION.to_le_bytes(), &bytes].concat());
        let _ = decode(&sealed(said.as_bytes(), &bytes));
    }
}
