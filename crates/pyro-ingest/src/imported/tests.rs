//! Whatever bytes come, an importer answers with tables or with one message that names the file.

use proptest::prelude::*;

use super::*;
use pyro_model::{IngestReport, Result};

type Import = fn(&str, &str) -> Result<IngestReport>;

fn import(importer: Import, bytes: &[u8]) -> Result<IngestReport> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("profile");
    std::fs::write(&path, bytes).unwrap();
    let answer = importer(path.to_str().unwrap(), dir.path().to_str().unwrap());
    if answer.is_err() {
        // Nothing half-written stays behind.
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    answer
}

fn message(field: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![field << 3 | 2, content.len() as u8];
    bytes.extend_from_slice(content);
    bytes
}

/// One sample of 7 ns in `outer`, which inlined `inner`; samples stand before the dictionaries.
fn profile() -> Vec<u8> {
    let mut bytes = message(1, &[0x08, 1, 0x10, 2]);
    bytes.extend(message(2, &[0x0a, 1, 5, 0x12, 1, 7]));
    bytes.extend(message(4, &[0x08, 5, 0x22, 2, 0x08, 1, 0x22, 2, 0x08, 2]));
    bytes.extend(message(5, &[0x08, 1, 0x10, 3]));
    bytes.extend(message(5, &[0x08, 2, 0x10, 4]));
    for text in ["", "cpu", "microseconds", "inner", "outer"] {
        bytes.extend(message(6, text.as_bytes()));
    }
    bytes
}

#[test]
fn a_profile_is_read_in_any_order_of_its_parts() {
    let report = import(import_pprof, &profile()).unwrap();
    let rows = ["samples", "stacks", "frames"].map(|table| report.tables[table]);
    assert_eq!(rows, [1, 1, 2]);
}

#[test]
fn errors_in_profiles_name_their_position() {
    let cases: [(&[u8], &str); 4] = [
        (b"", "no type of values"),
        (&profile()[..profile().len() - 1], "breaks off"),
        (&message(2, &[0x0a, 1, 9, 0x12, 1, 7]), "no type of values"),
        (&[0x1f, 0x8b, 8, 0], "gzip"),
    ];
    for (bytes, expected) in cases {
        let text = import(import_pprof, bytes).unwrap_err().to_string();
        assert!(text.contains(expected) && text.contains("byte"), "{text}");
    }
    let mut foreign = profile();
    foreign[10] = 6; // the sample's location
    let text = import(import_pprof, &foreign).unwrap_err().to_string();
    assert!(text.contains("location 6"), "{text}");
}

#[test]
fn errors_in_speedscope_files_name_their_position() {
    let head = r#"{"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"evented","name":"p",
        "unit":"seconds","startValue":0,"endValue":2,"events":["#;
    let open = r#"{"type":"O","at":1,"frame":0}"#;
    let cases: [(&str, &str); 6] = [
        ("{", "line 1"),
        ("[]", "line 1"),
        (
            &format!("{head}{open},{}]}}]}}", open.replace('1', "0.5")),
            "event 1",
        ),
        (
            &format!("{head}{}]}}]}}", open.replace('O', "C")),
            "closes frame 0",
        ),
        (
            &format!("{head}{}]}}]}}", open.replace("e\":0", "e\":7")),
            "frame 7 is missing: there are 1",
        ),
        (
            &format!("{head}{}]}}]}}", open.replace('O', "X")),
            "type \"X\"",
        ),
    ];
    for (text, expected) in cases {
        let error = import(import_speedscope, text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let whole = format!("{head}{open}]}}]}}");
    let report = import(import_speedscope, whole.as_bytes()).unwrap();
    assert_eq!(report.tables["samples"], 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_bytes_break_an_importer(
        bytes in proptest::collection::vec(any::<u8>(), 0..120), at in 0..60_usize, byte: u8,
    ) {
        let mut changed = profile();
        let place = at % changed.len();
        changed[place] = byte;
        for bytes in [&bytes, &changed] {
            let _ = import(import_pprof, bytes);
            let _ = import(import_speedscope, bytes);
        }
    }
}
