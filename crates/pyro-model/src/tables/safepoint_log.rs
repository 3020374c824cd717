// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
use crate::column::*;
use crate::table::builders;

builders! {
    #[doc = "Safepoints: every stop of all Java threads, GC pauses among them."]
    SafepointsBuilder = "safepoints" {
        #[doc = "Host of the JVM: by the plugin's record of its process, else by the folder that the file was shipped to, else that of the launch"]
        host: Dict, null = true;
        #[doc = "Process"]
        pid: I64, null = true;
        #[doc = "When the line was written: the end"]
        end_mono_ns: I64, null = true;
        #[doc = "The same since JVM start"]
        end_uptime_ns: I64, null = true;
        #[doc = "VM operation"]
        operation: Dict, null = false;
        #[doc = "Time to reach the safepoint"]
        reaching_ns: I64, null = true;
        #[doc = "Time at the safepoint"]
        at_safepoint_ns: I64, null = true;
        #[doc = "Whole stop"]
        total_ns: I64, null = false;
    }
}
