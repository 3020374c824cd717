// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
use crate::column::*;
use crate::table::builders;

builders! {
    #[doc = "Fact table of profiler samples. Columns are never absent; what a source cannot know is null."]
    SamplesBuilder = "samples" {
        #[doc = "Host; null where an imported profile does not say"]
        host: Dict, null = true;
        #[doc = "Process; null likewise"]
        pid: I64, null = true;
        #[doc = "OS thread; null where the source does not say"]
        tid: I64, null = true;
        #[doc = "Time of the sample, on the clock named beside it; null in imported profiles that are sums"]
        t_ns: I64, null = true;
        #[doc = "mono or wall; perf: perf's own, of an imported perf script; null without a time"]
        clock: Dict, null = true;
        #[doc = "async-profiler, probe, jfr, python (sampled inside Python processes: cpu weighs the time used since the sample before), or the format of an imported profile: folded, perf-script, pprof, speedscope"]
        source: Dict, null = false;
        #[doc = "cpu, wall, alloc, lock, live (in use at the end), nativemem (asked of the native allocator and not given back), state (of the probe: extended stacks); in an imported profile the name of its own, for example inuse_space"]
        event: Dict, null = false;
        #[doc = "In `unit`"]
        weight: I64, null = false;
        #[doc = "ns (cpu, wall, lock) or bytes (alloc); in an imported profile its own, for example count"]
        unit: Dict, null = false;
        #[doc = "running or sleeping (wall); as in thread_states (state); null for cpu"]
        state: Dict, null = true;
        #[doc = "Class of an off-CPU sample: schema/wait_classes.toml"]
        wait_class: Dict, null = true;
        #[doc = "What an on-CPU sample was doing: schema/categories.toml"]
        category: Dict, null = true;
        #[doc = "Role of the thread: schema/roles.toml"]
        role: Dict, null = false;
        #[doc = "Name of the thread"]
        thread_name: Dict, null = true;
        #[doc = "Task"]
        task_attempt_id: I64, null = true;
        #[doc = "Stage"]
        stage_id: I64, null = true;
        #[doc = "Stage attempt"]
        stage_attempt: I32, null = true;
        #[doc = "Job"]
        job_id: I64, null = true;
        #[doc = "SQL execution"]
        sql_id: I64, null = true;
        #[doc = "Plan node in the final plan"]
        node_id: I32, null = true;
        #[doc = "Plan version node_id is about"]
        plan_version: I32, null = true;
        #[doc = "Expression within the node"]
        expression_id: I32, null = true;
        #[doc = "Operator that the frames name"]
        operator: Dict, null = true;
        #[doc = "n of GeneratedIteratorForCodegenStage<n>"]
        codegen_stage_id: I32, null = true;
        #[doc = "Iteration"]
        iteration: I32, null = true;
        #[doc = "stacks.stack_id of the whole stack as the profiler gave it"]
        java_stack: I32, null = true;
        #[doc = "stacks.stack_id of a separate native stack"]
        native_stack: I32, null = true;
        #[doc = "stacks.stack_id of a separate kernel stack"]
        kernel_stack: I32, null = true;
        #[doc = "stacks.stack_id of java_stack with kernel_stack at its leaf, where a row has both"]
        whole_stack: I32, null = true;
        #[doc = "Sleep of a thread that a state belongs to"]
        episode_id: I64, null = true;
        #[doc = "Of states, how the Java stack was found: joined (a wall sample in the same sleep), joined_by_run_time (the thread hardly ran in between); or why there is none: on_cpu (see CPU samples), runnable, same_place (the class, not the stack, is that of its other sleeps at the same stack pointer), not_sampled (outside tasks), uninterruptible (no signal reaches it), ran_between, profiler_gap, no_sample"]
        join_status: Dict, null = true;
        #[doc = "Class allocated (alloc) or locked (lock)"]
        top_class: Dict, null = true;
    }
    #[doc = "Dictionary of distinct stacks. frame_ids run from root to leaf."]
    StacksBuilder = "stacks" {
        #[doc = "Id"]
        stack_id: I32, null = false;
        #[doc = "Frames, root first"]
        frame_ids: ListI32, null = false;
        #[doc = "The profiler cut the stack"]
        truncated: Bool, null = false;
    }
    #[doc = "Dictionary of distinct frames."]
    FramesBuilder = "frames" {
        #[doc = "Id"]
        frame_id: I32, null = false;
        #[doc = "Java class with dots, module of a Python frame, or null for native and kernel frames"]
        class_name: Dict, null = true;
        #[doc = "Method or symbol"]
        method: Str, null = false;
        #[doc = "Source line"]
        line: I32, null = true;
        #[doc = "interpreted, c1, c2 (jit compiled), inlined, native, kernel, cpp, python, unknown"]
        kind: Dict, null = false;
        #[doc = "Shared library of a native frame (libjvm.so, libsnappyjava.so), file of a Python frame; null for Java frames"]
        library: Dict, null = true;
    }
}
