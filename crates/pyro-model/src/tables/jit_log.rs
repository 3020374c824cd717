// Generated from schema/tables.toml by `python tools/generate_schema.py`; do not edit.
use crate::column::*;
use crate::table::builders;

builders! {
    #[doc = "JIT compilations: of the JVM's log where there is one, else of a JFR recording."]
    JitBuilder = "jit" {
        #[doc = "Host of the JVM: by the plugin's record of its process, else by the folder that the file was shipped to, else that of the launch"]
        host: Dict, null = true;
        #[doc = "Process"]
        pid: I64, null = true;
        #[doc = "Start"]
        start_mono_ns: I64, null = true;
        #[doc = "Length; of the log: until the code was installed"]
        duration_ns: I64, null = true;
        #[doc = "c1, c2, jvmci"]
        compiler: Dict, null = true;
        #[doc = "Tier"]
        level: I32, null = true;
        #[doc = "Class.method"]
        method: Str, null = true;
        #[doc = "Size of the code; the log does not say"]
        code_bytes: I64, null = true;
        #[doc = "False: bailed out, no code was installed; null: the log ends before"]
        succeeded: Bool, null = true;
        #[doc = "The JVM's number of the compilation"]
        compile_id: I64, null = true;
        #[doc = "Compiled for a loop that was running (on-stack replacement)"]
        osr: Bool, null = true;
        #[doc = "Size of the method's bytecode"]
        bytecode_bytes: I64, null = true;
    }
    #[doc = "Compiled code that was given up, and traps that made the JVM go back to the interpreter."]
    DeoptimisationsBuilder = "deoptimisations" {
        #[doc = "Host of the JVM: by the plugin's record of its process, else by the folder that the file was shipped to, else that of the launch"]
        host: Dict, null = true;
        #[doc = "Process"]
        pid: I64, null = true;
        #[doc = "When"]
        t_mono_ns: I64, null = true;
        #[doc = "invalidated: the code was made not entrant; trap: a thread ran into an uncommon trap (JDK 18 and later log it)"]
        kind: Dict, null = false;
        #[doc = "Compilation that made the code"]
        compile_id: I64, null = true;
        #[doc = "Tier of the code; code of tiers 1 to 3 is mostly given up for that of the next"]
        level: I32, null = true;
        #[doc = "Code for a loop that was running"]
        osr: Bool, null = true;
        #[doc = "Class.method"]
        method: Str, null = true;
        #[doc = "The JVM's word; null where its version logs none"]
        reason: Dict, null = true;
        #[doc = "What the JVM did about the code; of traps only"]
        action: Dict, null = true;
    }
}
