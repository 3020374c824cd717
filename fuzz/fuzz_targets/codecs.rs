//! Any bytes behind the head of each codec, as a compressed event log: no panic, no more lines
//! than bytes, and what is packed by us is read as it was.
#![no_main]

mod scratch;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::eventlog::try_bytes;

/// Heads of blocks as Spark's codecs write them, up to where lengths begin.
const HEADS: [&[u8]; 4] = [
    b"LZ4Block\x25",
    b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01",
    b"ZV\x01",
    b"\x28\xb5\x2f\xfd",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, rest)) = bytes.split_first() else {
        return;
    };
    let out = scratch::folder();
    let head = HEADS[usize::from(choice) % HEADS.len()];
    let _ = try_bytes([head, rest].concat(), out);

    // LZF without compression: a block of our own holds any line.
    if rest.len() < 0xffff {
        let mut packed = b"ZV\0".to_vec();
        packed.extend((rest.len() as u16).to_be_bytes());
        packed.extend(rest);
        let plain = try_bytes(rest.to_vec(), out);
        let read = try_bytes(packed, out);
        // Plain bytes may have the head of another codec.
        if HEADS.iter().all(|head| !rest.starts_with(&head[..2]))
            && let (Ok(plain), Ok(read)) = (plain, read)
        {
            assert_eq!(plain.stats["lines_count"], read.stats["lines_count"]);
            assert_eq!(plain.stats["events_count"], read.stats["events_count"]);
        }
    }
});
