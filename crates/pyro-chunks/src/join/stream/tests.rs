use super::*;
use crate::header::Header;
use crate::testing;
use proptest::prelude::*;

fn chunk(kind: Kind, sequence: u64, offset: u64, payload: &[u8]) -> Chunk {
    let header = Header {
        ends_whole: payload.ends_with(b"\n"),
        ..testing::header("x", kind, sequence, offset)
    };
    testing::chunk(header, payload)
}

/// Ten lines in chunks of one line each.
fn ten(kind: Kind) -> Vec<Chunk> {
    (0..10)
        .map(|line| chunk(kind, line, line * 7, format!("line {line}\n").as_bytes()))
        .collect()
}

fn joined(chunks: &[(u64, Result<&Chunk, Fault>)]) -> (String, Tally) {
    let (mut joiner, mut file) = (Joiner::default(), Vec::new());
    for (sequence, chunk) in chunks {
        let taken = joiner.take(*sequence, chunk.clone());
        if let Some(length) = taken.cut_to {
            file.truncate(length as usize);
        }
        if let Ok(chunk) = chunk {
            let kept = taken.keep.into_iter();
            file.extend(kept.flat_map(|range| &chunk.payload[range]));
        }
        assert_eq!(joiner.tally.bytes_count, file.len() as u64);
    }
    (String::from_utf8(file).unwrap(), joiner.tally)
}

fn of(chunks: &[Chunk]) -> Vec<(u64, Result<&Chunk, Fault>)> {
    let numbered = chunks.iter();
    numbered
        .map(|chunk| (chunk.header.sequence, Ok(chunk)))
        .collect()
}

#[test]
fn all_of_them_are_the_file() {
    let mut chunks = ten(Kind::Messages);
    chunks[9].header.last = true;
    let (text, tally) = joined(&of(&chunks));
    assert_eq!((text.lines().count(), text.len()), (10, 70));
    let expected = Tally {
        bytes_count: 70,
        chunks_count: 10,
        ended: true,
        last_wall_ns: Some(9),
        ..Tally::default()
    };
    assert_eq!(tally, expected);
}

#[test]
fn lines_go_on_behind_a_gap_and_messages_without_a_schema_do_not() {
    for (kind, lines, left_out) in [(Kind::Lines, 8, 0), (Kind::Messages, 3, 35)] {
        let chunks = ten(kind);
        let mut some = of(&chunks);
        some.drain(3..5);
        let (text, tally) = joined(&some);
        assert_eq!(text.lines().count(), lines, "{kind:?}");
        assert_eq!((tally.missing_count, tally.missing_bytes), (2, 14));
        assert_eq!(
            (tally.left_out_bytes, tally.gap_at_byte),
            (left_out, Some(21))
        );
    }
}

#[test]
fn a_damaged_chunk_is_a_gap() {
    let chunks = ten(Kind::Lines);
    let mut some = of(&chunks);
    some[4].1 = Err(Fault::Damaged("the checksum does not fit"));
    let (text, tally) = joined(&some);
    assert!(!text.contains("line 4") && text.contains("line 5"));
    assert_eq!((tally.damaged_count, tally.missing_count), (1, 0));
    assert_eq!(tally.missing_bytes, 7);
    assert_eq!(tally.damage.as_deref(), Some("the checksum does not fit"));
}

#[test]
fn half_a_line_before_a_gap_is_cut_off_and_half_a_line_behind_it_left_out() {
    let mut chunks = vec![
        chunk(Kind::Lines, 0, 0, b"one\n"),
        chunk(Kind::Lines, 1, 4, b"two\nthr"),
        chunk(Kind::Lines, 3, 20, b"ur\nfive\n"),
        chunk(Kind::Lines, 4, 28, b"six\n"),
    ];
    chunks[2].header.begins_whole = false;
    let (text, tally) = joined(&of(&chunks));
    // What begins whole and does not end so is known whole only up to where it begins.
    assert_eq!(text, "one\nsix\n");
    assert_eq!((tally.missing_bytes, tally.left_out_bytes), (9, 15));
    assert_eq!(tally.gap_at_byte, Some(4));
}

#[test]
fn what_was_dropped_is_not_what_was_lost() {
    let mut chunks = ten(Kind::Lines);
    chunks.drain(2..4);
    for (sequence, chunk) in chunks.iter_mut().enumerate() {
        chunk.header.sequence = sequence as u64;
    }
    chunks[2].header.skipped_bytes = 14;
    let (_, tally) = joined(&of(&chunks));
    assert_eq!((tally.dropped_bytes, tally.missing_bytes), (14, 0));
    let mut some = of(&chunks);
    drop(some.remove(1).1);
    let (_, tally) = joined(&some);
    assert_eq!((tally.dropped_bytes, tally.missing_bytes), (14, 7));
}

#[test]
fn what_arrives_twice_is_used_once() {
    let mut chunks = ten(Kind::Messages);
    let both = [chunks[3].payload.clone(), chunks[4].payload.clone()].concat();
    chunks[4] = chunk(Kind::Messages, 4, 21, &both);
    let (text, tally) = joined(&of(&chunks));
    assert_eq!((text.len(), tally.repeated_bytes), (70, 7));
    assert_eq!((tally.missing_bytes, tally.left_out_bytes), (0, 0));
}

#[test]
fn a_chunk_under_another_number_or_of_another_kind_is_none() {
    let chunks = ten(Kind::Lines);
    let mut some = of(&chunks);
    some[3].1 = Ok(&chunks[8]);
    let (text, tally) = joined(&some);
    assert_eq!((text.lines().count(), tally.damaged_count), (9, 1));
    let stranger = chunk(Kind::Bytes, 5, 35, b"line 5\n");
    let mut some = of(&chunks);
    some[5].1 = Ok(&stranger);
    assert_eq!(joined(&some).1.damaged_count, 1);
}

proptest! {
    /// Whatever is lost, damaged or repeated: every line comes through whole, in order and once,
    /// a prefix of messages is one, and all bytes are accounted for.
    #[test]
    fn bytes_add_up(
        fates in prop::collection::vec(0..6u8, 10),
        resumes: bool,
    ) {
        let kind = if resumes { Kind::Lines } else { Kind::Messages };
        let chunks = ten(kind);
        let mut some = Vec::new();
        for ((sequence, chunk), fate) in of(&chunks).into_iter().zip(&fates) {
            match fate {
                0 => {}
                1 => some.push((sequence, Err(Fault::NotAChunk))),
                _ => some.push((sequence, chunk)),
            }
        }
        let (text, tally) = joined(&some);
        let here = |line: u64| fates[line as usize] > 1;
        let expected: Vec<u64> = if resumes {
            (0..10).filter(|&line| here(line)).collect()
        } else {
            (0..10).take_while(|&line| here(line)).collect()
        };
        let expected: String = expected.iter().map(|line| format!("line {line}\n")).collect();
        prop_assert_eq!(text, expected);
        let arrived = (0..10).filter(|&line| here(line)).max().map_or(0, |last| (last + 1) * 7);
        prop_assert_eq!(tally.bytes_count + tally.missing_bytes + tally.left_out_bytes, arrived);
    }
}
