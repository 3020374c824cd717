//! Any bytes as what the agent reads of a host and of a folder that others write into: command lines, control groups,
//! `status`, what the probe prints as a canary, and its own record of what was shipped. No panic, no sum that overflows,
//! and what is read is written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pyro_agent::canary::Measured;
use pyro_agent::executors::{Process, discover, place};
use pyro_agent::ship::{MAX_PIECE_BYTES, State};
use pyro_chunks::{At, Cut, Kind};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    place(&text);
    if let Ok(found) = Measured::parse(bytes) {
        let all = [&found.alu_ns, &found.latency_ns, &found.copy_bytes_per_s];
        assert!(all.iter().all(|values| !values.is_empty()));
        assert!(all.iter().all(|values| values.iter().all(|one| *one > 0.0)));
    }
    // The head of an executor's line, for the words behind it.
    let class = b"java\0org.apache.spark.executor.CoarseGrainedExecutorBackend\0--app-id\0a\0--executor-id\0";
    let lines = [bytes.to_vec(), [class, bytes].concat()];
    let processes = lines.map(|cmdline| Process {
        pid: 7,
        cmdline,
        cgroup: text.clone().into_owned(),
        status: text.clone().into_owned(),
        start_ticks: None,
    });
    for found in discover(&processes) {
        assert!(!found.executor.contains('\0'));
    }
    let Some(state) = State::parse(&text) else {
        return;
    };
    assert_eq!(State::parse(&state.text()).as_ref(), Some(&state));
    let waiting_bytes = state.waiting_bytes() + state.dropped_bytes() + state.lost_bytes;
    assert!(waiting_bytes < u64::MAX / 2);
    for (name, mut progress) in state.files {
        let cut = Cut {
            length: MAX_PIECE_BYTES,
            then: At::Start,
        };
        progress.take(cut, false, 0);
        progress.drop_cut(cut);
        progress.take(cut, true, 0);
        assert!(progress.shipped_to() <= progress.taken_to);
        while let Some(piece) = progress.queue.front().cloned() {
            let header = progress.header(&piece, &state.source, &name, Kind::Lines);
            assert!(header.length <= MAX_PIECE_BYTES as u64);
            progress.lose_front();
        }
        assert!(progress.skipped_bytes <= progress.taken_to);
    }
});
