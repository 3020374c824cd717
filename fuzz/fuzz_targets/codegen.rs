//! Any bytes as records of generated sources: no panic, and lines lie within their source. The
//! same bytes as the text of a stage between comments of operators and expressions.
#![no_main]

mod scratch;

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::codegen::ingest_codegen;
use pyro_stacks::codegen::read;

const HEAD: &str = "return new GeneratedIteratorForCodegenStage1(references);\nclass A {\n\
                    protected void processNext() {\n";

fuzz_target!(|bytes: &[u8]| {
    let out = scratch::folder();
    let path = out.join("codegen-driver-driver-1.ndjson");
    std::fs::write(&path, bytes).expect("a temporary file");
    let path = [path.to_string_lossy().into_owned()];
    ingest_codegen(&path, &[], &out.to_string_lossy()).expect("only the disk can fail");

    let comment = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let comments = BTreeMap::from([
        comment(
            "t",
            "/**\n * Codegened pipeline for stage (id=1)\n * *(1) Filter (x)\n */",
        ),
        comment("p", "// PRODUCE: Project [y]"),
        comment("c", "// CONSUME: Filter (x)"),
        comment("e", "// (input[0, bigint, false] + 1)"),
    ]);
    let body = format!("{HEAD}{}", String::from_utf8_lossy(bytes));
    let read = read(&body, &comments);
    assert_eq!(read.lines_count, body.split('\n').count());
    assert_eq!(read.source.split('\n').count(), read.lines_count);
    assert!(
        read.lines
            .iter()
            .all(|line| (1..=read.lines_count).contains(&line.line))
    );
});
