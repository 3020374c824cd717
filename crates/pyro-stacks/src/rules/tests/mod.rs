use super::*;
use crate::frame::FrameKind;

mod categories;
mod operators;

/// Leaf first; `library!symbol` and `kernel!symbol` are native, others Java.
fn classify(stack: &str) -> (String, Option<String>, Option<i32>, String) {
    let rules = Rules::embedded();
    let facts: Vec<Facts> = stack
        .split_whitespace()
        .map(|text| {
            let (place, method, kind) = match text.split_once('!') {
                Some(("kernel", symbol)) => ("", symbol, FrameKind::Kernel),
                Some((library, symbol)) => (library, symbol, FrameKind::Cpp),
                None => {
                    let (class, method) = text.rsplit_once('.').unwrap_or(("", text));
                    (class, method, FrameKind::C2)
                }
            };
            rules.facts(&Frame {
                place,
                method,
                kind,
            })
        })
        .collect();
    let verdict = rules.classify(&facts);
    let operator = rules.operator(&verdict).map(str::to_owned);
    let wait = rules.wait_class(&verdict).to_owned();
    (
        rules.category("task", &verdict).to_owned(),
        operator,
        verdict.codegen_stage_id,
        wait,
    )
}

const GENERATED: &str =
    "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage2";

/// Any frames in any order: classified, and the same again; a frame that says nothing changes
/// nothing.
#[test]
fn any_stack_is_classified() {
    let text = include_str!("operators.rs");
    let frames: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c == '"')
        .filter(|word| !word.is_empty())
        .collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    for _ in 0..60 {
        let depth = next(12);
        let mut stack: Vec<&str> = (0..depth).map(|_| frames[next(frames.len())]).collect();
        let first = classify(&stack.join(" "));
        assert_eq!(classify(&stack.join(" ")), first);
        stack.insert(next(depth + 1), "java.lang.Object.hashCode");
        assert_eq!(classify(&stack.join(" ")).1, first.1, "{stack:?}");
    }
}

#[test]
fn codegen_stages_are_numbered() {
    let (_, operator, stage, _) = classify(&format!(
        "{GENERATED}7.agg_doConsume_0$ x.Y.z {GENERATED}.processNext"
    ));
    assert_eq!(
        (operator.as_deref(), stage),
        (Some("HashAggregate"), Some(27))
    );
    assert_eq!(classify("a.B.c").2, None);
}

#[test]
fn sleeping_stacks_have_wait_classes() {
    let cases = [
        ("lock", "libjvm.so!ObjectMonitor::enter Burn.work"),
        (
            "timed_sleep",
            "libc.so.6!clock_nanosleep java.lang.Thread.sleep Job.run",
        ),
        (
            "idle",
            "libc.so.6!pthread_cond_wait libjvm.so!Unsafe_Park jdk.internal.misc.Unsafe.park java.util.concurrent.locks.LockSupport.park java.util.concurrent.LinkedBlockingQueue.take java.util.concurrent.ThreadPoolExecutor.getTask",
        ),
        (
            "shuffle_fetch",
            "jdk.internal.misc.Unsafe.park java.util.concurrent.locks.LockSupport.park java.util.concurrent.LinkedBlockingQueue.take org.apache.spark.storage.ShuffleBlockFetcherIterator.next",
        ),
        (
            "memory_pool",
            "java.lang.Object.wait org.apache.spark.memory.ExecutionMemoryPool.acquireMemory",
        ),
        (
            "helper",
            "java.net.SocketInputStream.socketRead0 org.apache.spark.api.python.BasePythonRunner$ReaderIterator.read",
        ),
        (
            "helper",
            "jdk.internal.misc.Unsafe.park java.util.concurrent.CompletableFuture.get org.apache.parquet.hadoop.ParquetFileReader.readVectored",
        ),
        (
            "block_io",
            "java.io.FileInputStream.readBytes org.apache.hadoop.fs.RawLocalFileSystem$LocalFSFileInputStream.read",
        ),
        ("unclassified", "a.B.c"),
    ];
    for (class, stack) in cases {
        assert_eq!(classify(stack).3, class, "{stack}");
    }
}

#[test]
fn threads_have_roles() {
    let cases = [
        (
            "task",
            "Executor task launch worker for task 3.0 in stage 5.0 (TID 12)",
        ),
        ("task", "Executor task idle worker#61"),
        ("task", "Executor task l"),
        ("gc", "GC Thread#0"),
        ("gc", "G1 Conc#0"),
        ("gc", "ZDriverMinor"),
        ("jit", "C2 CompilerThread0"),
        ("jit", "C1 CompilerThre"),
        ("vm", "VM Thread"),
        ("driver", "dag-scheduler-event-loop"),
        ("helper", "shuffle-server-4-1"),
        ("helper", "read-ahead"),
        (
            "helper",
            "Writer Monitor for /usr/bin/python3 (writer thread: 7)",
        ),
        ("helper", "stderr reader for /usr/bin/python3"),
        ("driver", "Idle Worker Monitor for /usr/bin/python3"),
        ("driver", "ResultQueryStageExecution-3"),
        ("driver", "serve-DataFrame"),
        ("pyrometer", "pyrometer-writer"),
        ("other", "burner-1"),
        ("other", ""),
    ];
    for (role, name) in cases {
        assert_eq!(Rules::embedded().roles().of(name), role, "{name}");
    }
}

#[test]
fn other_roles_keep_their_category() {
    let rules = Rules::embedded();
    let verdict = rules.classify(&[rules.facts(&Frame {
        place: "org.xerial.snappy.Snappy",
        method: "uncompress",
        kind: FrameKind::C1,
    })]);
    assert_eq!(rules.category("task", &verdict), "decompression");
    assert_eq!(rules.category("other", &verdict), "decompression");
    assert_eq!(rules.category("gc", &verdict), "gc");
    assert_eq!(rules.category("helper", &verdict), "helper");
    let own = rules.classify(&[rules.facts(&Frame {
        place: "libasyncProfiler.so",
        method: "x",
        kind: FrameKind::Cpp,
    })]);
    assert_eq!(rules.category("gc", &own), "pyrometer");
}

#[test]
fn mistakes_in_the_files_are_named() {
    let operators =
        "operator = []\n[codegen]\nclass = 'x'\nfused = 'F'\npipeline = 'p'\nprefix = []";
    let categories =
        |rule: &str| format!("category = [{{name='other', doc=''}}]\nrole = {{}}\nrule = [{rule}]");
    let waits = "version = 1\nclass = [{name='unclassified', doc=''}]\nframes = []\nrule = []";
    let parse = |rule: &str| Rules::parse("rule = []", &categories(rule), operators, waits).err();
    assert_eq!(parse(""), None);
    assert!(
        parse("{category='nope', match=['x']}")
            .unwrap()
            .contains("nope")
    );
    assert!(
        parse("{category='other', match=['(']}")
            .unwrap()
            .contains("unclosed group")
    );
    assert!(
        Rules::parse("rule = 3", &categories(""), operators, waits)
            .err()
            .unwrap()
            .contains("roles.toml")
    );
    assert!(
        Rules::parse("rule = []", "x", operators, waits)
            .err()
            .unwrap()
            .contains("categories.toml")
    );
    assert!(
        Rules::parse("rule = []", &categories(""), operators, "")
            .err()
            .unwrap()
            .contains("wait_classes.toml")
    );
}

#[test]
fn a_thread_in_a_waiting_call_was_waiting() {
    let rules = Rules::embedded();
    let blocked = |leaf_first: &[(&str, &str)]| {
        let facts: Vec<Facts> = leaf_first
            .iter()
            .map(|&(place, method)| {
                rules.facts(&Frame {
                    place,
                    method,
                    kind: FrameKind::Native,
                })
            })
            .collect();
        rules.classify(&facts).blocked
    };
    let park = ("libjvm.so", "os::PlatformEvent::park");
    let wait = ("libc.so.6", "___pthread_cond_timedwait");
    assert!(blocked(&[
        ("libc.so.6", "__futex_abstimed_wait_common"),
        wait,
        park
    ]));
    assert!(blocked(&[("libc.so.6", "__GI_epoll_wait")]));
    assert!(blocked(&[("libc.so.6", "epoll_wait")]));
    assert!(!blocked(&[("libc.so.6", "__GI_read")]));
    // Beside the call itself, on the way there or back, it runs.
    assert!(!blocked(&[wait, park]));
    assert!(!blocked(&[]));
}
