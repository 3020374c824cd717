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
