//! Counters of memory controllers.

use super::*;

#[test]
fn memory_of_two_nodes_is_read_and_written_apart() {
    let mut perf = start(MEMORY, XEON, 100);
    let mut rows = Vec::new();
    perf.turn(true, || 100, &mut keep(&mut rows));
    perf.turn(true, || 200, &mut keep(&mut rows));
    perf.end(|| 300, &mut keep(&mut rows));
    let by = |scope: &str, event: &str| -> Vec<(i64, i64)> {
        let fits = |row: &&Got| row.scope == scope && row.event == event && row.tid.is_none();
        rows.iter()
            .filter(fits)
            .map(|row| (row.t, row.value))
            .collect()
    };
    // Two channels of node 0: 10 and 20 lines at first, 110 and 70 later; 64 bytes each.
    assert_eq!(
        by("node/0", "memory_read_bytes"),
        [(100, 30 * 64), (200, 180 * 64), (300, 180 * 64)]
    );
    assert_eq!(by("node/1", "memory_read_bytes"), [(100, 0), (300, 0)]);
    assert_eq!(
        by("node/0", "memory_written_bytes"),
        [(100, 0), (200, 5 * 64), (300, 5 * 64)]
    );
    // 900 flits carry 6400 bytes.
    assert_eq!(
        by("uncore_upi_0/node/1", "link_sent_bytes"),
        [(100, 6400), (300, 6400)]
    );
    // 2^32 counts are a joule.
    assert_eq!(
        by("node/0", "energy_package_nj"),
        [(100, 1_000_000_000), (300, 1_000_000_000)]
    );
    let topdown = perf
        .tried
        .iter()
        .filter(|tried| tried.name.starts_with("topdown"))
        .count();
    assert_eq!(topdown, 4);
}

#[test]
fn zen_3_gives_both_ways_together_and_grace_the_other_socket_apart() {
    let perf = start("", EPYC, 100);
    let refused: Vec<(&str, &str, usize)> = perf
        .meters
        .iter()
        .map(|meter| (meter.measure, meter.scope.as_str(), meter.counters()))
        .collect();
    assert_eq!(
        refused,
        [
            ("memory_bytes", "package/0", 8),
            ("memory_bytes", "package/1", 8)
        ]
    );
    let perf = start("", GRACE, 100);
    let mut refused: Vec<(&str, &str)> = perf
        .meters
        .iter()
        .map(|meter| (meter.measure, meter.scope.as_str()))
        .collect();
    refused.sort_unstable();
    assert_eq!(
        refused,
        [
            ("memory_read_bytes", "node/0"),
            ("memory_written_bytes", "node/0"),
            ("remote_read_bytes", "node/0"),
            ("remote_written_bytes", "node/0"),
        ]
    );
    assert!(
        perf.tried
            .iter()
            .any(|tried| tried.name == "stall_backend" && tried.refused.is_none())
    );
}

/// Figures of a machine: measure, scope, counters, source.
fn figures(perf: &Perf<Recording>) -> Vec<(&str, &str, usize, &str)> {
    let mut found: Vec<_> = perf
        .meters
        .iter()
        .map(|one| {
            let (measure, scope) = (one.measure, one.scope.as_str());
            (measure, scope, one.counters(), one.source.as_str())
        })
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn channels_that_the_kernel_names_are_counted_once_whatever_the_model() {
    for (tree, source) in [
        (ICE_LAKE, "uncore_imc"),
        (SAPPHIRE_RAPIDS, "uncore_imc"),
        (ZEN_4, "amd_umc"),
    ] {
        let perf = start("", tree, 100);
        assert_eq!(
            figures(&perf),
            [
                ("memory_read_bytes", "node/0", 2, source),
                ("memory_read_bytes", "node/1", 2, source),
                ("memory_written_bytes", "node/0", 2, source),
                ("memory_written_bytes", "node/1", 2, source),
            ]
        );
    }
}

#[test]
fn the_kernel_says_what_a_count_of_sapphire_rapids_is_worth() {
    // Event 0x05, masks 0xcf and 0xf0, on the first channel of node 1.
    let readings = r#"{"event": [40, 52997], "target": "cpu 4", "readings": [[9, 9, 10], [9, 9, 110]]}
{"event": [40, 61445], "target": "cpu 4", "readings": [[9, 9, 0], [9, 9, 7]]}"#;
    let mut perf = start(readings, SAPPHIRE_RAPIDS, 100);
    let mut rows = Vec::new();
    perf.turn(true, || 100, &mut keep(&mut rows));
    perf.turn(true, || 200, &mut keep(&mut rows));
    let last = |event: &str| {
        let own = |row: &&Got| row.scope == "node/1" && row.event == event;
        rows.iter().filter(own).map(|row| row.value).max()
    };
    assert_eq!(last("memory_read_bytes"), Some(110 * 64));
    assert_eq!(last("memory_written_bytes"), Some(7 * 64));
}

#[test]
fn of_a_mesh_and_its_controllers_one_counts() {
    assert_eq!(
        figures(&start("", NEOVERSE, 100)),
        [
            ("memory_bytes", "node/0", 1, "arm_cmn"),
            ("memory_bytes", "node/1", 1, "arm_cmn"),
        ]
    );
    // Without the mesh's driver controllers count, of which none knows its node.
    let mesh = |line: &&str| !line.contains("arm_cmn");
    let bare: Vec<&str> = NEOVERSE.lines().filter(mesh).collect();
    assert_eq!(
        figures(&start("", &bare.join("\n"), 100)),
        [("memory_bytes", "host", 4, "arm_dmc620")]
    );
}

#[test]
fn zen_4_of_the_same_family_is_refused_and_not_counted_by_events_of_zen_3() {
    let (_folder, sysfs) = machine(EPYC);
    let open = |cpu| {
        let limit = Descriptors::new(100);
        Perf::open(
            Recording::new(""),
            &sysfs,
            Some(cpu),
            OfThreads::All,
            &limit,
        )
    };
    for model in [0x10, 0x1f, 0x61, 0x78, 0xa0] {
        let perf = open((0x19, model));
        let both = |meter: &Meter<Handle>| meter.measure == "memory_bytes";
        assert!(!perf.meters.iter().any(both), "{model:#x}");
        let told = |refused: &Refused| refused.0.starts_with("amd_df: events of family 0x19");
        assert!(perf.refused.iter().any(told), "{model:#x}");
    }
    for cpu in [(0x17, 0x31), (0x19, 0x0f), (0x19, 0x21), (0x19, 0x50)] {
        assert_eq!(open(cpu).meters[0].measure, "memory_bytes", "{cpu:?}");
    }
}

#[test]
fn family_and_model_are_those_of_amd_alone() {
    let text = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n\
        model name\t: AMD EPYC 9R14\n";
    assert_eq!(family_and_model(text), Some((0x19, 0x11)));
    let other = text.replace("AuthenticAMD", "GenuineIntel");
    assert_eq!(family_and_model(&other), None);
    assert_eq!(family_and_model(""), None);
}

#[test]
fn a_controller_that_may_not_be_read_is_reported_once() {
    let refused = r#"{"event": [13, 772], "errno": 13}
{"event": [13, 3076], "errno": 13}"#;
    let perf = start(refused, XEON, 100);
    let reasons: Vec<_> = perf
        .refused
        .iter()
        .filter(|refused| refused.0.contains("uncore_imc_0"))
        .collect();
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].1.contains("perf_event_paranoid"));
    assert!(
        perf.meters
            .iter()
            .any(|meter| meter.measure == "memory_read_bytes" && meter.counters() == 1)
    );
}
