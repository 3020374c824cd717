// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
use crate::column::*;
use crate::table::builders;

builders! {
    #[doc = "JVMs of the application, from the plugin."]
    ProcessesBuilder = "processes" {
        #[doc = "Host name"]
        host: Dict, null = false;
        #[doc = "Process id"]
        pid: I64, null = false;
        #[doc = "driver or executor; local mode is driver"]
        role: Dict, null = false;
        #[doc = "Executor id"]
        executor_id: Dict, null = true;
        #[doc = "Application"]
        app_id: Str, null = true;
        #[doc = "Start of the record (plugin start)"]
        start_mono_ns: I64, null = false;
        #[doc = "Plugin shutdown; null if it never came"]
        end_mono_ns: I64, null = true;
        #[doc = "When the plugin ended all recording because nothing shipped what it kept (ship.kept.mib); before start_mono_ns where an earlier application of the JVM brought that about; null if it recorded to the end"]
        recorded_until_mono_ns: I64, null = true;
        #[doc = "JVM name and version"]
        jvm: Str, null = true;
        #[doc = "JSON object: every other fact of the process record"]
        facts: Str, null = true;
    }
    #[doc = "Pairs of readings that join a host's clocks."]
    ClockPairsBuilder = "clock_pairs" {
        #[doc = "Host"]
        host: Dict, null = false;
        #[doc = "plugin, probe or launcher"]
        source: Dict, null = false;
        #[doc = "CLOCK_MONOTONIC"]
        mono_ns: I64, null = false;
        #[doc = "Unix time"]
        wall_ns: I64, null = false;
    }
    #[doc = "Task spans seen from inside the executor. The span starts in onTaskStart, after the task's deserialisation: it is not the attempt."]
    SpansBuilder = "spans" {
        #[doc = "Host"]
        host: Dict, null = false;
        #[doc = "Executor process"]
        pid: I64, null = false;
        #[doc = "OS thread id"]
        tid: I64, null = false;
        #[doc = "Executor"]
        executor_id: Dict, null = true;
        #[doc = "onTaskStart"]
        start_mono_ns: I64, null = false;
        #[doc = "onTaskSucceeded or onTaskFailed; null if never seen"]
        end_mono_ns: I64, null = true;
        #[doc = "Stage"]
        stage_id: I64, null = false;
        #[doc = "Stage attempt"]
        stage_attempt: I32, null = false;
        #[doc = "Task ID (TID)"]
        task_attempt_id: I64, null = false;
        #[doc = "Partition"]
        partition: I64, null = false;
        #[doc = "Job of the stage, as the event log has it; null without one"]
        job_id: I64, null = true;
        #[doc = "SQL execution"]
        sql_id: I64, null = true;
        #[doc = "Iteration"]
        iteration: I32, null = true;
        #[doc = "success, failed or running"]
        status: Dict, null = false;
        #[doc = "Thread CPU time between start and end"]
        cpu_ns: I64, null = true;
        #[doc = "Bytes the thread allocated between start and end"]
        allocated_bytes: I64, null = true;
    }
    #[doc = "MXBean readings of one JVM. Cumulative where the JVM counts so."]
    JvmSeriesBuilder = "jvm_series" {
        #[doc = "Host"]
        host: Dict, null = false;
        #[doc = "Process"]
        pid: I64, null = false;
        #[doc = "Time of the reading"]
        t_mono_ns: I64, null = false;
        #[doc = "heap_used_bytes, heap_committed_bytes, heap_max_bytes, nonheap_used_bytes, direct_used_bytes, process_cpu_ns, jit_time_ns, threads_count, loaded_classes_count, gc_count/<collector>, gc_time_ns/<collector>, pool_used_bytes/<pool>, pool_max_bytes/<pool> (of the code cache), pyrometer_cpu_ns (CPU of the plugin itself)"]
        name: Dict, null = false;
        #[doc = "In the unit that the name says"]
        value: I64, null = false;
    }
    #[doc = "Source of the classes that Spark generated, each distinct text once over all JVMs."]
    CodegenSourcesBuilder = "codegen_sources" {
        #[doc = "Id"]
        source_id: I32, null = false;
        #[doc = "Host of the first JVM that had it"]
        host: Dict, null = true;
        #[doc = "First JVM that had it, from the file name"]
        pid: I64, null = false;
        #[doc = "Class as frames name it: org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage1, GeneratedClass$SpecificUnsafeProjection, ..."]
        class_name: Dict, null = false;
        #[doc = "n of GeneratedIteratorForCodegenStage<n>; null for other classes"]
        codegen_stage_id: I32, null = true;
        #[doc = "The plan below the cluster as the comment in its head has it, a line a node; *(n) marks the nodes of the cluster. Null without comments"]
        tree: Str, null = true;
        #[doc = "What was compiled, with the comments in place; a line here is a line of frames.line"]
        source: Str, null = false;
        #[doc = "Lines of the source"]
        lines_count: I32, null = false;
        #[doc = "Bytecode of its largest method; above 8000 HotSpot does not compile a method"]
        max_method_bytes: I64, null = true;
    }
    #[doc = "Lines of generated stages and what each is for. A line that cannot be attributed has no row."]
    CodegenLinesBuilder = "codegen_lines" {
        #[doc = "Source"]
        source_id: I32, null = false;
        #[doc = "Line, from 1"]
        line: I32, null = false;
        #[doc = "Generated method around the line"]
        method: Dict, null = true;
        #[doc = "Operator: first word of its text"]
        operator: Dict, null = false;
        #[doc = "The operator as the comment in the source has it"]
        node_text: Dict, null = false;
        #[doc = "Which of the nodes with *(n) in the source's tree, in pre-order from 0"]
        node_index: I32, null = true;
        #[doc = "Innermost expression that the line computes, as Spark's comment has it"]
        expression: Dict, null = true;
    }
}
