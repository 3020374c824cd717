//! A store that takes an object and does not answer, or that panics.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::world::World;
use crate::ship::{Apart, Options, Shipper, Store};
use pyro_chunks::{Source, decode};

#[derive(Default)]
struct Inner {
    answers: bool,
    objects: BTreeMap<String, Vec<u8>>,
    puts: usize,
}

#[derive(Clone, Default)]
struct Hung(Arc<(Mutex<Inner>, Condvar)>);

impl Hung {
    fn answer(&self) {
        self.0.0.lock().unwrap().answers = true;
        self.0.1.notify_all();
    }
}

impl Store for Hung {
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String> {
        let inner = self.0.0.lock().unwrap();
        let mut inner = self.0.1.wait_while(inner, |inner| !inner.answers).unwrap();
        inner.objects.insert(key.to_owned(), object.to_vec());
        inner.puts += 1;
        Ok(())
    }
}

/// A shipper of the world's files with a store in a thread of its own.
fn shipper(
    world: &World,
    patience: Duration,
    open: impl Fn() -> Result<Box<dyn Store + Send>, String> + 'static,
) -> Shipper<World, Apart, World, World> {
    let name = || "x".to_owned();
    let source = Source {
        app: name(),
        executor: name(),
        attempt: name(),
        host: name(),
    };
    let options = Options {
        spool_bytes: 1000,
        free: true,
        round_ns: 5_000_000_000,
        seed: 1,
    };
    let store = Apart::begin(open, patience).unwrap();
    let (files, keep, clock) = (world.clone(), world.clone(), world.clone());
    Shipper::begin(files, store, keep, clock, source, options).unwrap()
}

#[test]
fn while_a_store_hangs_files_are_looked_at_and_what_is_too_much_is_dropped() {
    let (world, hung) = (World::default(), Hung::default());
    let store = hung.clone();
    let patience = Duration::from_millis(20);
    let mut shipper = shipper(&world, patience, move || Ok(Box::new(store.clone())));
    let line = b"a line of a log\n";
    for _ in 0..100 {
        world.append("gc-1.log", &line.repeat(10));
        assert!(shipper.round(false).waiting);
        world.wait(5);
    }
    let report = shipper.report();
    assert!(report.dropped_bytes > 14_000 && report.waiting_bytes <= 1160);
    assert!(report.away_since_wall_ns.is_some() && report.chunks_count == 0);
    assert!(
        report
            .last_failure
            .unwrap()
            .contains("no answer within 0.02 s")
    );
    assert_eq!(hung.0.0.lock().unwrap().puts, 0);

    hung.answer();
    while shipper.round(true).waiting {
        world.wait(60);
    }
    let inner = hung.0.0.lock().unwrap();
    assert_eq!(inner.puts, inner.objects.len(), "none is put twice");
    let chunks = inner.objects.values().map(|object| decode(object).unwrap());
    let arrived: Vec<u8> = chunks.flat_map(|chunk| chunk.payload).collect();
    let dropped = shipper.report().dropped_bytes as usize;
    assert_eq!(arrived, line.repeat(1000 - dropped / line.len()));
}

/// Panics at each put until it is sound.
struct Dying(Hung);

impl Store for Dying {
    fn put(&mut self, key: &str, object: &[u8]) -> Result<(), String> {
        let is_sound = self.0.0.0.lock().unwrap().answers;
        assert!(is_sound, "no room for {key}");
        self.0.put(key, object)
    }
}

#[test]
fn a_store_that_panics_is_reported_as_dead_and_opened_again() {
    let (world, hung) = (World::default(), Hung::default());
    let store = hung.clone();
    let patience = Duration::from_secs(600);
    let mut shipper = shipper(&world, patience, move || Ok(Box::new(Dying(store.clone()))));
    world.append("gc-1.log", b"a line\n");
    for failed_puts_count in 1..3 {
        assert!(shipper.round(false).waiting);
        let report = shipper.report();
        let failure = report.last_failure.unwrap();
        assert!(
            failure.starts_with("the thread of the store died: no room for x/"),
            "{failure}"
        );
        assert_eq!(report.failed_puts_count, failed_puts_count);
        assert_eq!((report.waiting_bytes, report.lost_bytes), (7, 0));
        assert!(report.away_since_wall_ns.is_some());
        world.wait(60);
    }
    hung.answer();
    assert!(!shipper.round(true).waiting);
    let inner = hung.0.0.lock().unwrap();
    let chunks = inner.objects.values().map(|object| decode(object).unwrap());
    let arrived: Vec<u8> = chunks.flat_map(|chunk| chunk.payload).collect();
    assert_eq!(arrived, b"a line\n");
}
