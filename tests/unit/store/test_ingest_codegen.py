"""Sources of generated classes become tables beside the run's other streams."""

from __future__ import annotations

import json
from pathlib import Path

from pyrometer.store import Run, ingest_run

BODY = [
    "public Object generate(Object[] references) {",
    "return new GeneratedIteratorForCodegenStage1(references);",
    "}",
    "/*tree*/",
    "final class GeneratedIteratorForCodegenStage1 {",
    "protected void processNext() throws java.io.IOException {",
    "/*produce*/",
    "while (range_nextIndex_0 < range_batchEnd_0) {",
    "long range_value_0 = range_nextIndex_0 + 1L;",
    "/*consume*/",
    "/*expression*/",
    "boolean filter_value_1 = range_value_0 > 3L;",
    "if (!filter_value_1) continue;",
    "}",
    "}",
    "}",
]
COMMENTS = {
    "tree": "/**\n * Codegened pipeline for stage (id=1)\n"
    " * *(1) Filter (id#0L > 3)\n * +- *(1) Range (0, 9)\n */",
    "produce": "// PRODUCE: Range (0, 9)",
    "consume": "// CONSUME: Filter (id#0L > 3)",
    "expression": "// (input[0, bigint, false] > 3)",
}


def test_lines_of_a_generated_stage_reach_the_tables(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "codegen"
    folder.mkdir(parents=True)
    source = {"k": "source", "n": 0, "body": "\n".join(BODY), "comments": COMMENTS}
    bye = {"k": "bye", "mono_ns": 2, "written": 1, "dropped": 0, "own_cpu_ns": 5}
    file = folder / "codegen-executor-2-71.ndjson"
    file.write_text(f"{json.dumps(source)}\n{{broken\n{json.dumps(bye)}\n")
    report = ingest_run(tmp_path)
    assert report.tables["codegen_sources"] == 1
    assert [d.code for d in report.doubts] == ["plugin_line_unreadable"]
    with Run.open(tmp_path) as run:
        rows = run.tables.query(
            "SELECT pid, line, operator, node_index, expression FROM codegen_lines"
            " JOIN codegen_sources USING (source_id) WHERE line IN (8, 9, 12, 13) ORDER BY line"
        )
    expression = "(input[0, bigint, false] > 3)"
    assert [tuple(row) for row in rows] == [
        (71, 8, "Range", 1, None),
        (71, 9, "Range", 1, None),
        (71, 12, "Filter", 0, expression),
        (71, 13, "Filter", 0, None),
    ]
