// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
use crate::column::*;
use crate::table::builders;

builders! {
    #[doc = "Stop-the-world pauses of the collector."]
    GcPausesBuilder = "gc_pauses" {
        #[doc = "Host of the JVM: by the plugin's record of its process, else by the folder that the file was shipped to, else that of the launch"]
        host: Dict, null = true;
        #[doc = "Process, from the file name"]
        pid: I64, null = true;
        #[doc = "GC(n)"]
        gc_id: I64, null = true;
        #[doc = "Start, where the log has a monotonic stamp"]
        start_mono_ns: I64, null = true;
        #[doc = "Start since JVM start"]
        start_uptime_ns: I64, null = true;
        #[doc = "Start, where the log has wall time"]
        start_wall_ns: I64, null = true;
        #[doc = "Length as logged"]
        duration_ns: I64, null = false;
        #[doc = "G1, Parallel, Serial, ZGC, Shenandoah"]
        collector: Dict, null = false;
        #[doc = "young, mixed, full, remark, cleanup, init mark, ...: the collector's words in lower case"]
        kind: Dict, null = false;
        #[doc = "As logged"]
        cause: Dict, null = true;
        #[doc = "Used before"]
        heap_before_bytes: I64, null = true;
        #[doc = "Used after"]
        heap_after_bytes: I64, null = true;
        #[doc = "Committed after"]
        heap_total_bytes: I64, null = true;
        #[doc = "Young generation before: eden and survivors"]
        young_before_bytes: I64, null = true;
        #[doc = "Young generation after: what survived and stayed young"]
        young_after_bytes: I64, null = true;
        #[doc = "Old generation before"]
        old_before_bytes: I64, null = true;
        #[doc = "Old generation after; after a young pause the growth is what was promoted"]
        old_after_bytes: I64, null = true;
        #[doc = "G1: objects of half a region and more, before"]
        humongous_before_bytes: I64, null = true;
        #[doc = "The same after"]
        humongous_after_bytes: I64, null = true;
        #[doc = "What sizes of generations are multiples of: a region of G1, else 1 KiB"]
        resolution_bytes: I64, null = true;
    }
    #[doc = "Bytes of survivors by the number of collections they survived, after each young pause. Parallel does not log them."]
    GcAgesBuilder = "gc_ages" {
        #[doc = "Host of the JVM: by the plugin's record of its process, else by the folder that the file was shipped to, else that of the launch"]
        host: Dict, null = true;
        #[doc = "Process"]
        pid: I64, null = true;
        #[doc = "GC(n)"]
        gc_id: I64, null = true;
        #[doc = "When the line was written"]
        t_mono_ns: I64, null = true;
        #[doc = "Collections survived"]
        age: I32, null = false;
        #[doc = "Bytes of that age"]
        bytes: I64, null = false;
    }
    #[doc = "Phases of the collector beside the running application."]
    GcConcurrentBuilder = "gc_concurrent" {
        #[doc = "Host of the JVM: by the plugin's record of its process, else by the folder that the file was shipped to, else that of the launch"]
        host: Dict, null = true;
        #[doc = "Process"]
        pid: I64, null = true;
        #[doc = "GC(n)"]
        gc_id: I64, null = true;
        #[doc = "Start, where the log has a monotonic stamp"]
        start_mono_ns: I64, null = true;
        #[doc = "Start since JVM start"]
        start_uptime_ns: I64, null = true;
        #[doc = "Length as logged"]
        duration_ns: I64, null = false;
        #[doc = "The collector's words in lower case: mark cycle, mark, cleanup for next mark, ..."]
        phase: Dict, null = false;
    }
}
