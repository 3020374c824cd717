//! Messages of every collector.

use super::*;

fn pause_of(text: &str) -> Pause<'_> {
    match parse(text) {
        Message::Pause(pause) => pause,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn pauses_of_every_collector() {
    const MIB: i64 = 1 << 20;
    let cases = [
        (
            "GC(12) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.456ms",
            "young",
            Some("G1 Evacuation Pause"),
            Some((24 * MIB, 4 * MIB, 256 * MIB)),
            3_456_000,
        ),
        (
            "GC(1) Pause Young (Mixed) (G1 Preventive Collection) 50M->49M(60M) 2.145ms",
            "mixed",
            Some("G1 Preventive Collection"),
            Some((50 * MIB, 49 * MIB, 60 * MIB)),
            2_145_000,
        ),
        (
            "GC(5) Pause Young (Concurrent Start) (G1 Humongous Allocation) 41M->41M(64M) 4.035ms",
            "young concurrent start",
            Some("G1 Humongous Allocation"),
            Some((41 * MIB, 41 * MIB, 64 * MIB)),
            4_035_000,
        ),
        (
            "GC(24) Pause Young (Prepare Mixed) (G1 Evacuation Pause) 46M->46M(60M) 3.658ms",
            "young prepare mixed",
            Some("G1 Evacuation Pause"),
            Some((46 * MIB, 46 * MIB, 60 * MIB)),
            3_658_000,
        ),
        (
            "GC(3) Pause Remark 34M->18M(47M) 0.346ms",
            "remark",
            None,
            Some((34 * MIB, 18 * MIB, 47 * MIB)),
            346_000,
        ),
        (
            "GC(92) Pause Young (System.gc()) 11M->11M(46M) 0.299ms",
            "young",
            Some("System.gc()"),
            Some((11 * MIB, 11 * MIB, 46 * MIB)),
            299_000,
        ),
        (
            "GC(93) Pause Full (System.gc()) 512K->1G(2G) 3.392ms",
            "full",
            Some("System.gc()"),
            Some((512 << 10, 1 << 30, 2 << 30)),
            3_392_000,
        ),
        (
            "GC(0) Pause Mark Start 0.011ms",
            "mark start",
            None,
            None,
            11_000,
        ),
        (
            "GC(0) Y: Pause Mark Start (Major) 0.012ms",
            "young mark start",
            None,
            None,
            12_000,
        ),
        (
            "GC(0) O: Pause Relocate Start 0.004ms",
            "old relocate start",
            None,
            None,
            4_000,
        ),
        (
            "GC(0) Pause Init Mark (unload classes) 0.022ms",
            "init mark (unload classes)",
            None,
            None,
            22_000,
        ),
        (
            "GC(7) Pause Final Update Refs 0.013ms",
            "final update refs",
            None,
            None,
            13_000,
        ),
        (
            "GC(7) Pause Degenerated GC (Mark) 30M->20M(64M) 5.001ms",
            "degenerated gc",
            Some("Mark"),
            Some((30 * MIB, 20 * MIB, 64 * MIB)),
            5_001_000,
        ),
    ];
    for (text, kind, cause, heap_bytes, duration_ns) in cases {
        let pause = pause_of(text);
        assert_eq!((pause.kind.as_str(), pause.cause), (kind, cause), "{text}");
        assert_eq!(
            (pause.heap_bytes, pause.duration_ns),
            (heap_bytes, duration_ns),
            "{text}"
        );
    }
}

#[test]
fn announced_pauses_are_not_counted_and_cut_ones_are_told() {
    assert_eq!(
        parse("GC(0) Pause Young (Normal) (G1 Evacuation Pause)"),
        Message::Other
    );
    assert_eq!(parse("GC(0) Pause Full (System.gc())"), Message::Other);
    assert_eq!(parse("GC(0) Pause Remark"), Message::Other);
    assert_eq!(
        parse("GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.4"),
        Message::Broken
    );
    assert_eq!(
        parse("GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(25"),
        Message::Broken
    );
    assert_eq!(
        parse("Safepoint \"G1Collect\", Time since last: 19 ns, Reaching sa"),
        Message::Broken
    );
}

#[test]
fn safepoints_new_and_old() {
    let line = "Safepoint \"ZMarkEndOld\", Time since last: 1519526 ns, Reaching safepoint: 92811 ns, \
                At safepoint: 12069 ns, Leaving safepoint: 13367 ns, Total: 118247 ns, Threads: 1 runnable, 10 total";
    let expected = Safepoint {
        operation: "ZMarkEndOld",
        reaching_ns: Some(92_811),
        at_ns: Some(12_069),
        total_ns: 118_247,
    };
    assert_eq!(parse(line), Message::Safepoint(expected));
    let line = "Total time for which application threads were stopped: 0.0003210 seconds, Stopping threads took: 0.0000250 seconds";
    assert_eq!(
        parse(line),
        Message::Stopped {
            total_ns: 321_000,
            reaching_ns: Some(25_000)
        }
    );
    assert_eq!(
        parse("Entering safepoint region: RevokeBias"),
        Message::Entering("RevokeBias")
    );
}

#[test]
fn generations_of_every_collector() {
    const KIB: i64 = 1 << 10;
    let cases = [
        ("GC(5) Eden regions: 51->0(52)", Space::EdenRegions, (51, 0)),
        ("GC(5) Old regions: 4->7", Space::OldRegions, (4, 7)),
        (
            "GC(5) DefNew: 28903K(29504K)->2489K(29504K) Eden: 26240K(26240K)->0K(26240K) From: 2663K(3264K)->2489K(3264K)",
            Space::Young,
            (28903 * KIB, 2489 * KIB),
        ),
        (
            "GC(5) Tenured: 7098K(65536K)->11323K(65536K)",
            Space::Old,
            (7098 * KIB, 11323 * KIB),
        ),
        (
            "GC(5) PSYoungGen: 28641K->4065K(24576K)",
            Space::Young,
            (28641 * KIB, 4065 * KIB),
        ),
        (
            "GC(5) ParOldGen: 6092K(65536K)->7454K(65536K)",
            Space::Old,
            (6092 * KIB, 7454 * KIB),
        ),
    ];
    for (text, space, sizes) in cases {
        let expected = Message::Space {
            gc_id: 5,
            space,
            sizes,
        };
        assert_eq!(parse(text), expected, "{text}");
    }
    for text in [
        "GC(5) Metaspace: 143K(384K)->143K(384K)",
        "GC(5) Old regions: 4",
        "GC(5) Old regions: -4->7",
    ] {
        assert_eq!(parse(text), Message::Other, "{text}");
    }
}

#[test]
fn ages_regions_and_concurrent_phases() {
    assert_eq!(
        parse("GC(5) - age   2:    1401072 bytes,    2549032 total"),
        Message::Age {
            gc_id: 5,
            age: 2,
            bytes: 1_401_072
        }
    );
    for text in ["Heap Region Size: 2M", "Heap region size: 2M"] {
        assert_eq!(parse(text), Message::RegionSize(2 << 20));
    }
    let cases = [
        (
            "GC(6) Concurrent Mark Cycle 20.5ms",
            "mark cycle",
            20_500_000,
        ),
        (
            "GC(6) Concurrent Mark (0.283s, 0.285s) 2.125ms",
            "mark",
            2_125_000,
        ),
        (
            "GC(6) Concurrent reset 23M->23M(64M) 0.211ms",
            "reset",
            211_000,
        ),
        ("GC(6) O: Concurrent Mark 7.000ms", "old mark", 7_000_000),
    ];
    for (text, phase, duration_ns) in cases {
        let expected = Message::Concurrent(Concurrent {
            gc_id: 6,
            phase: phase.to_owned(),
            duration_ns,
        });
        assert_eq!(parse(text), expected, "{text}");
    }
    assert_eq!(parse("GC(6) Concurrent Mark Cycle"), Message::Other);
}

#[test]
fn cycles_give_zgc_its_causes() {
    assert_eq!(
        parse("GC(3) Garbage Collection (Allocation Stall)"),
        Message::Cycle {
            gc_id: 3,
            cause: "Allocation Stall"
        }
    );
    assert_eq!(
        parse("GC(3) Garbage Collection (Allocation Stall) 64M(100%)->16M(25%)"),
        Message::Other
    );
    assert_eq!(
        parse("GC(5) Major Collection (System.gc())"),
        Message::Cycle {
            gc_id: 5,
            cause: "System.gc()"
        }
    );
}
