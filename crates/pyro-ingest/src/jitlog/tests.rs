use super::*;
use proptest::prelude::*;

const LOG: &str = "\
[370270000000ns][100000000ns][67][debug][jit,compilation]    2       3       java.lang.String::hashCode (60 bytes)
[370270500000ns][100500000ns][66][debug][jit,compilation]    3       4       java.lang.String::coder (15 bytes)
[370270300000ns][100300000ns][67][info ][nmethod,install      ] Installing method (3) java.lang.String.hashCode()I
[370271000000ns][101000000ns][66][debug][jit,compilation      ]    4 %     4       T::main @ 43 (134 bytes)
[370272000000ns][102000000ns][66][debug][jit,compilation      ]    2       3       java.lang.String::hashCode (60 bytes)   made not entrant
[370273000000ns][103000000ns][70][debug][deoptimization       ] cid=   4 osr level=4 T.main([Ljava/lang/String;)V trap_bci=56 osr_bci=43 unstable_if reinterpret pc=0x1 relative_pc=0x2
";

fn ingest(bytes: &[u8]) -> IngestReport {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jit-7.log");
    std::fs::write(&path, bytes).unwrap();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let paths = [path.to_str().unwrap().to_owned()];
    ingest_jit(&paths, &[], out.to_str().unwrap()).unwrap()
}

fn codes(report: &IngestReport) -> Vec<&'static str> {
    report.doubts.iter().map(|doubt| doubt.code).collect()
}

#[test]
fn compilations_and_what_was_given_up_become_rows() {
    let report = ingest(LOG.as_bytes());
    // Installed, followed by another of its thread, and awaited at the end.
    assert_eq!(report.tables["jit"], 3);
    assert_eq!(report.tables["deoptimisations"], 2);
    assert_eq!(codes(&report), Vec::<&str>::new());
}

#[test]
fn a_cut_log_says_where() {
    let begin = LOG[..LOG.len() - 1].rfind('\n').unwrap() + 1;
    for cut in begin + 1..LOG.len() - 1 {
        let report = ingest(&LOG.as_bytes()[..cut]);
        assert_eq!(codes(&report), ["jit_log_truncated"], "cut at {cut}");
        assert_eq!(report.doubts[0].byte_offset, Some(begin as u64));
        assert_eq!(report.tables["deoptimisations"], 1);
    }
}

#[test]
fn garbage_and_a_full_cache_become_doubts() {
    let mut bytes = LOG.as_bytes().to_vec();
    bytes.extend_from_slice(b"\xff\xfe\n[1ns][2ns][3][warning][codecache] CodeCache is full. Compiler has been disabled.\n");
    let report = ingest(&bytes);
    assert_eq!(codes(&report), ["jit_log_unreadable", "code_cache_full"]);
    assert_eq!(report.doubts[0].line, Some(7));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_input_panics(edits in prop::collection::vec((0..LOG.len(), any::<u8>()), 0..12), cut in 0..LOG.len()) {
        let mut bytes = LOG.as_bytes().to_vec();
        for (at, byte) in edits {
            bytes[at] = byte;
        }
        bytes.rotate_left(cut / 3);
        ingest(&bytes);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,120}") {
        let _ = message::parse(&text);
        let _ = message::parse(&format!("12 %s!bn 4 {text}"));
        let _ = message::parse(&format!("cid= {text}"));
    }
}
