// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
use crate::column::*;
use crate::table::builders;

builders! {
    #[doc = "Slot view: slots × wall of a window, every slot-second once. Rows form a tree by `path`."]
    LedgerSlotBuilder = "ledger_slot" {
        #[doc = "Application"]
        app_index: I32, null = false;
        #[doc = "iteration/<n>, measured or application"]
        window: Str, null = false;
        #[doc = "Row, / separated: task/on_cpu/decode"]
        path: Str, null = false;
        #[doc = "Path of the parent"]
        parent: Str, null = true;
        #[doc = "Time; null where it cannot be had"]
        value_ns: I64, null = true;
        #[doc = "Lower end of the interval"]
        low_ns: I64, null = true;
        #[doc = "Upper end of the interval"]
        high_ns: I64, null = true;
        #[doc = "Samples or attempts behind the value"]
        n: I64, null = true;
        #[doc = "exact, sampled, apportioned, by_complement, unavailable"]
        method: Dict, null = false;
        #[doc = "Where the value comes from, or why it is missing"]
        source: Str, null = true;
    }
    #[doc = "Core view: CPUs × wall of a host in a window, every core-second once."]
    LedgerCoreBuilder = "ledger_core" {
        #[doc = "Host"]
        host: Dict, null = false;
        #[doc = "iteration/<n>, measured or application"]
        window: Str, null = false;
        #[doc = "Row, / separated"]
        path: Str, null = false;
        #[doc = "Path of the parent"]
        parent: Str, null = true;
        #[doc = "Time; null where it cannot be had"]
        value_ns: I64, null = true;
        #[doc = "Lower end of the interval"]
        low_ns: I64, null = true;
        #[doc = "Upper end of the interval"]
        high_ns: I64, null = true;
        #[doc = "Readings or samples behind the value"]
        n: I64, null = true;
        #[doc = "exact, sampled, apportioned, by_complement, unavailable"]
        method: Dict, null = false;
        #[doc = "Where the value comes from, or why it is missing"]
        source: Str, null = true;
    }
}
