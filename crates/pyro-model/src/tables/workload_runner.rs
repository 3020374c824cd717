// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
use crate::column::*;
use crate::table::builders;

builders! {
    #[doc = "Executions of the workload inside the trial."]
    IterationsBuilder = "iterations" {
        #[doc = "From 0"]
        iteration: I32, null = false;
        #[doc = "Not measured"]
        warmup: Bool, null = false;
        #[doc = "Start"]
        start_mono_ns: I64, null = false;
        #[doc = "End; null if it never ended"]
        end_mono_ns: I64, null = true;
        #[doc = "Start"]
        start_wall_ns: I64, null = false;
        #[doc = "End"]
        end_wall_ns: I64, null = true;
        #[doc = "Rows of the result"]
        result_rows_count: I64, null = true;
        #[doc = "Order-insensitive checksum"]
        result_checksum: Str, null = true;
        #[doc = "success, failed, wrong_result or running"]
        status: Dict, null = false;
        #[doc = "Why it failed, or where the result differs"]
        error: Str, null = true;
    }
}
