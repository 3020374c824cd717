//! A store that takes an object and does not answer.

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

#[test]
fn while_a_store_hangs_files_are_looked_at_and_what_is_too_much_is_dropped() {
    let (world, hung) = (World::default(), Hung::default());
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
    let store = Apart::begin(hung.clone(), Duration::from_millis(20)).unwrap();
    let (files, keep, clock) = (world.clone(), world.clone(), world.clone());
    let mut shipper = Shipper::begin(files, store, keep, clock, source, options).unwrap();
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
