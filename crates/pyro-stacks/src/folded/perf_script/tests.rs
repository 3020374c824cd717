use super::*;

const SCRIPT: &str = "\
# captured on: today

java 10/11 [001] 1.000001: 250 cycles:
\t7f10 memcpy+0x1 (/lib/libc.so.6)
\t7f11 void a.B.run()+0x2 (/tmp/perf-10.map)

java 10/12 [000] 1.000002: 150 cycles:
\t7f10 memcpy+0x9 (/lib/libc.so.6)
  copy.c:12
\t7f11 void a.B.run()+0x3 (/tmp/perf-10.map)

java 10/12 [000] 1.000003: 7 page-faults:
\t7f10 memcpy+0x9 (/lib/libc.so.6)

            sh     9 [000] 1.000004: 100 cycles: ffffffff8104f45a do_it+0x1 ([kernel.kallsyms])
            sh     9 [000] 1.000005: 100 cycles: ffffffff8104f45a do_it+0x2 ([kernel.kallsyms])
";

fn fold_text(text: &str, event: Option<&str>, count: bool) -> Result<String, String> {
    let mut script = PerfScript::new(text.as_bytes());
    let mut folded = Folded::default();
    fold(&mut script, event, count, NameStyle::default(), &mut folded)
        .map_err(|problem| problem.to_string())?;
    assert_eq!(script.bytes(), text.len() as u64);
    let mut out = Vec::new();
    folded.write(&mut out).unwrap();
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn samples_are_folded_by_event() {
    let counted = "java;a.B.run;memcpy 2\nsh;do_it 2\n";
    assert_eq!(fold_text(SCRIPT, None, true).unwrap(), counted);
    let weighed = "java;a.B.run;memcpy 400\nsh;do_it 200\n";
    assert_eq!(fold_text(SCRIPT, Some("cycles"), false).unwrap(), weighed);
    assert_eq!(
        fold_text(SCRIPT, Some("page-faults"), false).unwrap(),
        "java;memcpy 7\n"
    );
    assert_eq!(fold_text(SCRIPT, Some("none"), true).unwrap(), "");
}

#[test]
fn trimmed_lines_and_missing_fields() {
    let text = "java 19983 cycles:\nffffffff8103d0ca f ([kernel.kallsyms])\n7f11 g (/bin/x)\n\njava cycles:\n1 h (x)\n";
    assert_eq!(
        fold_text(text, None, false).unwrap(),
        "java;g;f 1\njava;h 1\n"
    );
}

#[test]
fn facts_of_a_sample() {
    let mut script = PerfScript::new(SCRIPT.as_bytes());
    assert!(script.read_sample().unwrap());
    let sample = script.sample();
    assert_eq!((sample.pid, sample.tid), (Some(10), Some(11)));
    assert_eq!(
        (sample.t_ns, sample.period),
        (Some(1_000_001_000), Some(250))
    );
    assert_eq!(sample.stack, [0, 1]);
    while script.read_sample().unwrap() {}
    assert_eq!((script.samples, script.other_lines), (5, 1));
    assert_eq!(script.events, [b"cycles".to_vec(), b"page-faults".to_vec()]);
}

#[test]
fn what_begins_no_sample_is_named() {
    let text = fold_text("java 1 1.0: e:\n\t1 f (x)\n\n{\"json\": 1}\n", None, false).unwrap_err();
    assert!(text.starts_with("line 4 (byte 25): "), "{text}");
    assert!(text.contains("does not begin a sample"), "{text}");
}
