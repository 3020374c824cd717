use std::fs;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use serde_json::json;

use super::*;

const BODY: &str = "public Object generate(Object[] references) {\n\
    return new GeneratedIteratorForCodegenStage2(references);\n}\n\n/*tree*/\n\
    final class GeneratedIteratorForCodegenStage2 {\n\
    protected void processNext() throws java.io.IOException {\n/*c*/\n\
    long range_value_0 = 1L;\n/*e*/\nlong filter_value_1 = range_value_0;\n}\n}";

fn source(body: &str) -> String {
    let comments = json!({
        "tree": "/**\n * Codegened pipeline for stage (id=2)\n * *(2) Range (0, 1)\n */",
        "c": "// PRODUCE: Range (0, 1)",
        "e": "// (a\nb)",
    });
    let record = json!({
        "k": "source", "n": 0, "mono_ns": 5, "body": body, "comments": comments,
        "max_method_bytes": 123, "max_constants": null, "inner_classes": 0,
    });
    format!("{record}\n")
}

const BYE: &str = "{\"k\":\"bye\",\"mono_ns\":9,\"written\":1,\"dropped\":0,\"own_cpu_ns\":7}\n";

struct Case(tempfile::TempDir);

impl Case {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn ingest(&self, files: &[(&str, String)]) -> IngestReport {
        let mut paths = Vec::new();
        for (name, content) in files {
            let path = self.0.path().join(name);
            fs::write(&path, content).unwrap();
            paths.push(path.to_str().unwrap().to_owned());
        }
        ingest_codegen(&paths, &[], self.0.path().to_str().unwrap()).unwrap()
    }

    fn table(&self, name: &str) -> RecordBatch {
        let file = File::open(self.0.path().join(format!("{name}.parquet"))).unwrap();
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file);
        let mut batches = reader.unwrap().build().unwrap();
        batches.next().unwrap().unwrap()
    }
}

fn codes(report: &IngestReport) -> Vec<&'static str> {
    report.doubts.iter().map(|doubt| doubt.code).collect()
}

#[test]
fn a_text_that_several_jvms_compiled_is_one_source() {
    let case = Case::new();
    let both = format!("{}{}{BYE}", source(BODY), source("class X {}"));
    let report = case.ingest(&[
        (
            "codegen-driver-driver-11.ndjson",
            format!("{}{BYE}", source(BODY)),
        ),
        ("codegen-executor-3-12.ndjson", both),
    ]);
    assert_eq!(report.doubts, []);
    assert_eq!(report.tables["codegen_sources"], 2);
    let sources = case.table("codegen_sources");
    assert_eq!(
        sources["pid"].as_primitive::<Int64Type>().values(),
        &[11, 12]
    );
    assert_eq!(
        sources["source_id"].as_primitive::<Int32Type>().values(),
        &[0, 1]
    );
    assert_eq!(
        sources["tree"].as_string::<i32>().value(0),
        "*(2) Range (0, 1)"
    );
    let text = sources["source"].as_string::<i32>().value(0);
    assert_eq!(text.split('\n').count(), BODY.split('\n').count());
    assert!(sources["codegen_stage_id"].is_null(1));

    let lines = case.table("codegen_lines");
    assert_eq!(report.tables["codegen_lines"], lines.num_rows() as u64);
    let numbers = lines["line"].as_primitive::<Int32Type>().values();
    assert_eq!(
        text.split('\n').nth(numbers[0] as usize - 1).unwrap(),
        "long range_value_0 = 1L;"
    );
    assert_eq!(lines["node_index"].as_primitive::<Int32Type>().value(0), 0);
}

#[test]
fn what_cannot_be_read_is_counted_with_its_place_and_the_rest_is_kept() {
    let case = Case::new();
    let good = source(BODY);
    let content = format!(
        "{good}nonsense\n{{\"k\":\"source\"}}\n{{\"k\":\"later\"}}\n\
         {{\"k\":\"drop\",\"kind\":\"source\",\"count\":4}}\n\
         {{\"k\":\"error\",\"where\":\"cache\",\"message\":\"no field\"}}\n{{\"k\":\"sou"
    );
    let report = case.ingest(&[("codegen-driver-driver-11.ndjson", content)]);
    assert_eq!(report.tables["codegen_sources"], 1);
    assert_eq!(
        codes(&report),
        [
            "plugin_line_unreadable",
            "plugin_record_unknown",
            "plugin_truncated",
            "plugin_records_dropped",
            "plugin_error"
        ]
    );
    let unreadable = &report.doubts[0];
    let place = (unreadable.line, unreadable.byte_offset, unreadable.count);
    assert_eq!(place, (Some(2), Some(good.len() as u64), 2));
}

#[test]
fn a_line_beyond_the_limit_is_passed_over() {
    let case = Case::new();
    let long = source(&"x".repeat(MAX_LINE_BYTES as usize));
    let content = format!("{long}{}{BYE}", source(BODY));
    let report = case.ingest(&[("codegen-driver-driver-11.ndjson", content)]);
    assert_eq!(report.tables["codegen_sources"], 1);
    assert_eq!(codes(&report), ["plugin_line_unreadable"]);
}
