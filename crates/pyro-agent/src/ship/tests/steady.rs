//! Nothing fails.

use super::joined::{joined, whole};
use super::world::World;

#[test]
fn whole_lines_arrive_with_each_round() {
    let world = World::default();
    let mut shipper = world.shipper();
    world.append("gc-1.log", b"one\ntw");
    assert!(shipper.round(false).is_done());
    assert_eq!(whole(&world, "gc-1.log"), b"one\n");
    world.append("gc-1.log", b"o\n");
    world.wait(5);
    shipper.round(false);
    assert_eq!(whole(&world, "gc-1.log"), b"one\ntwo\n");
    let puts = world.0.borrow().puts;
    shipper.round(false);
    assert_eq!(world.0.borrow().puts, puts, "nothing new, nothing put");
    world.append("gc-1.log", b"three");
    shipper.round(false);
    assert!(!joined(&world)["gc-1.log"].1.ended);
    shipper.round(true);
    assert_eq!(whole(&world, "gc-1.log"), b"one\ntwo\nthree");
    assert!(joined(&world)["gc-1.log"].1.ended);
    let report = shipper.report();
    assert_eq!((report.chunks_count, report.payload_bytes), (3, 13));
    assert_eq!(
        (
            report.waiting_bytes,
            report.dropped_bytes,
            report.files_count
        ),
        (0, 0, 1)
    );
}

#[test]
fn a_stream_that_ended_whole_says_so() {
    let world = World::default();
    let mut shipper = world.shipper();
    world.append("gc-1.log", b"one\n");
    shipper.round(false);
    shipper.round(true);
    assert_eq!(whole(&world, "gc-1.log"), b"one\n");
    assert!(joined(&world)["gc-1.log"].1.ended);
    let puts = world.0.borrow().puts;
    shipper.round(true);
    assert_eq!(world.0.borrow().puts, puts, "an end is told once");
    // Somebody went on all the same.
    world.append("gc-1.log", b"two\n");
    shipper.round(true);
    assert_eq!(whole(&world, "gc-1.log"), b"one\ntwo\n");
}

#[test]
fn a_file_that_is_replaced_is_put_as_it_is() {
    let world = World::default();
    let mut shipper = world.shipper();
    for text in ["{}", "{\"a\": 1}", "{\"a\": 10}"] {
        world.0.borrow_mut().files.remove("r.json");
        world.append("r.json", text.as_bytes());
        shipper.round(false);
        shipper.round(false);
        assert_eq!(joined(&world)["r.json"].0, text.as_bytes());
    }
    assert_eq!(world.0.borrow().puts, 3);
}

#[test]
fn a_file_that_is_begun_anew_is_another_stream() {
    let world = World::default();
    let mut shipper = world.shipper();
    world.append("x.log", b"first\n");
    shipper.round(false);
    world.0.borrow_mut().files.remove("x.log");
    world.append("other", b"");
    world.append("x.log", b"a second one\n");
    shipper.round(false);
    world.0.borrow_mut().files.get_mut("x.log").unwrap().bytes = b"cut\n".to_vec();
    shipper.round(false);
    assert_eq!(whole(&world, "x.log"), b"first\n");
    assert_eq!(whole(&world, "x.log@1"), b"a second one\n");
    assert_eq!(whole(&world, "x.log@2"), b"cut\n");
}

#[test]
fn the_disk_has_back_what_arrived_and_no_more() {
    let world = World::default();
    let mut shipper = world.shipper();
    let line = [b"x".repeat(999), b"\n".to_vec()].concat();
    let text = line.repeat(30);
    world.append("x.log", &text);
    shipper.round(false);
    assert_eq!(
        world.0.borrow().files["x.log"].freed_to,
        0,
        "not before it is remembered"
    );
    world.append("x.log", &line);
    shipper.round(false);
    let freed_to = world.0.borrow().files["x.log"].freed_to;
    assert_eq!(freed_to, 28_672);
    shipper.round(true);
    assert_eq!(whole(&world, "x.log"), [text, line].concat());
}

#[test]
fn a_lost_memory_does_not_ship_zeros() {
    let world = World::default();
    let mut shipper = world.shipper();
    world.append("x.log", &b"0123456789abcde\n".repeat(1000));
    shipper.round(false);
    shipper.round(true);
    world.0.borrow_mut().kept = None;
    world.wait(1);
    world.append("x.log", b"new\n");
    let mut second = world.shipper();
    assert_ne!(second.source().attempt, shipper.source().attempt);
    second.round(false);
    let inner = world.0.borrow();
    let store = &inner.store;
    let of_second = |key: &&String| key.contains(&second.source().attempt);
    assert!(store.keys().any(|key| of_second(&key)));
    for (key, object) in store {
        let payload = pyro_chunks::decode(object).unwrap().payload;
        assert!(!payload.contains(&0), "{key}");
    }
}

#[test]
fn a_record_older_than_the_disk_ships_no_zeros() {
    let world = World::default();
    let mut shipper = world.shipper();
    let mut text = Vec::new();
    let mut append = |round: u8| {
        let line = [vec![b'a' + round; 999], b"\n".to_vec()].concat();
        world.append("x.log", &line.repeat(10));
        text.extend(line.repeat(10));
    };
    append(0);
    shipper.round(false);
    let older = world.0.borrow().kept.clone();
    for round in 1..4 {
        append(round);
        shipper.round(false);
    }
    world.0.borrow_mut().kept = older;
    append(4);
    let mut second = world.shipper();
    second.round(false);
    append(5);
    second.round(true);
    let streams = joined(&world);
    // What arrived before stays, and what follows is a stream of its own, of whole lines.
    assert_eq!(streams["x.log"].0, text[..40_000]);
    let (bytes, tally) = &streams["x.log@1"];
    assert!(tally.dropped_bytes > 0 && *bytes == text[50_000..]);
}

#[test]
fn a_folder_is_shipped_under_one_name() {
    let world = World::default();
    world.shipper().round(false);
    let of = |app: &str| pyro_chunks::Source {
        app: app.to_owned(),
        executor: "1".to_owned(),
        attempt: "other".to_owned(),
        host: "h".to_owned(),
    };
    let options = crate::ship::Options {
        spool_bytes: 1,
        free: false,
        round_ns: 1,
        seed: 1,
    };
    let begin = |app: &str| {
        let world = || world.clone();
        crate::ship::Shipper::begin(world(), world(), world(), world(), of(app), options.clone())
    };
    assert_eq!(
        begin("app-1").map(|same| same.source().attempt.clone()),
        Ok("0".to_owned())
    );
    assert!(begin("app-2").is_err_and(|error| error.contains("shipped as app-1 1 of h")));
    world.0.borrow_mut().kept = Some("{}".to_owned());
    assert!(begin("app-1").is_err_and(|error| error.contains("cannot be read")));
}
