//! Any bytes as a file of context slots, cut while it is read: no panic.
#![no_main]

mod scratch;

use std::fs::OpenOptions;

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, missing_docs)]
#[path = "../../crates/pyro-probe/src/slot/mod.rs"]
mod slot;

/// What the probe's folder watch says where the system gives no watches: there always are news.
mod sys {
    #[derive(Debug)]
    pub struct Changes;

    impl Changes {
        pub fn of(_: &std::path::Path) -> Self {
            Self
        }

        pub fn any(&self) -> bool {
            true
        }
    }
}

fuzz_target!(|input: (u16, Vec<u8>)| {
    let (cut, bytes) = input;
    let folder = scratch::folder();
    let pid = std::process::id() as i32;
    let path = folder.join(format!("{}{pid}", slot::PREFIX));
    // The header's own fields are right, or nothing behind them would ever be read.
    let mut whole = b"PYROCTX\x01".to_vec();
    whole.extend(bytes.iter().skip(8));
    for (at, value) in [(8, 128), (12, 64), (20, pid), (24, pid)] {
        if whole.len() >= at + 4 {
            whole[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
    }
    std::fs::write(&path, &whole).expect("a temporary file");
    let mut slots = slot::Slots::new(folder);
    slots.refresh();
    let tids: Vec<i32> = whole
        .chunks_exact(4)
        .map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    for (number, &tid) in tids.iter().enumerate() {
        if number == tids.len() / 2 {
            let file = OpenOptions::new()
                .write(true)
                .open(&path)
                .expect("a temporary file");
            file.set_len(cut.into()).expect("a temporary file");
        }
        slots.context(pid, tid);
        slots.context(tid, tid);
    }
    slots.refresh();
});
