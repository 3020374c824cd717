// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
use crate::column::*;
use crate::table::builders;

builders! {
    #[doc = "Doubts that reading the raw files raised."]
    IngestDoubtsBuilder = "ingest_doubts" {
        #[doc = "schema/doubts.toml"]
        code: Dict, null = false;
        #[doc = "info, warning or error"]
        severity: Dict, null = false;
        #[doc = "What and where: file, line, byte offset"]
        message: Str, null = false;
        #[doc = "File, relative to the run directory where it lies in it"]
        file: Str, null = true;
        #[doc = "First line concerned, from 1"]
        line: I64, null = true;
        #[doc = "First byte concerned, in the uncompressed stream"]
        byte_offset: I64, null = true;
        #[doc = "How many records or lines"]
        count: I64, null = false;
    }
}
