//! Beside a process that puts chunks into a store which the agent cannot write.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use pyro_chunks::join::{Joined, join_folder};
use serde_json::Value;

fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().with_file_name("pyro-agent")
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        sleep(Duration::from_millis(5));
    }
}

/// A writer, its raw folder, and what it does for the agent: it puts chunks into a store, but for some that it refuses
/// first.
struct Place {
    folder: tempfile::TempDir,
    writer: Child,
    refusals: Arc<AtomicUsize>,
}

impl Place {
    fn new(refusals: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["raw/.relay", "store"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let refusals = Arc::new(AtomicUsize::new(refusals));
        let (relay, store) = (
            folder.path().join("raw/.relay"),
            folder.path().join("store"),
        );
        let left = refusals.clone();
        // Ends with the folder.
        thread::spawn(move || {
            while let Ok(entries) = fs::read_dir(&relay) {
                for entry in entries.flatten() {
                    answer(&entry.path(), &store, &left);
                }
                sleep(Duration::from_millis(1));
            }
        });
        Self {
            folder,
            writer: Command::new("sleep").arg("600").spawn().unwrap(),
            refusals,
        }
    }

    fn raw(&self, name: &str) -> PathBuf {
        self.folder.path().join("raw").join(name)
    }

    fn agent(&self) -> Child {
        let raw = self.raw("");
        Command::new(program())
            .args(["ship", "--app", "app", "--executor", "1", "--host", "h"])
            .args(["--every", "0.1", "--remove", "--free", "--spool-mib", "1"])
            .args(["--until-pid", &self.writer.id().to_string()])
            .arg(format!("--to=relay://{}", self.raw(".relay").display()))
            .arg(format!("--raw-dir={}", raw.display()))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn report(&self) -> Value {
        let text = fs::read_to_string(self.raw("agent-h.report.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn joined(&self) -> (Joined, PathBuf) {
        let out = self.folder.path().join("out");
        (
            join_folder(&self.folder.path().join("store"), &out).unwrap(),
            out,
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.writer.kill();
        let _ = self.writer.wait();
    }
}

fn answer(left: &Path, store: &Path, refusals: &AtomicUsize) {
    let (Some("chunk"), Ok(all)) = (left.extension().and_then(|it| it.to_str()), fs::read(left))
    else {
        return;
    };
    let fewer = |left: usize| left.checked_sub(1);
    if refusals
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer)
        .is_ok()
    {
        fs::write(left.with_extension("failed"), "the quota is used up").unwrap();
    } else {
        let end = all.iter().position(|&byte| byte == b'\n').unwrap();
        let target = store.join(std::str::from_utf8(&all[..end]).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        assert!(!target.exists(), "twice: {}", target.display());
        fs::write(target, &all[end + 1..]).unwrap();
    }
    let _ = fs::remove_file(left);
}

fn said(mut agent: Child) -> (Option<i32>, String) {
    let mut text = String::new();
    agent
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    (agent.wait().unwrap().code(), text)
}

fn lines(from: usize, to: usize) -> String {
    (from..to).map(|line| format!("line {line}\n")).collect()
}

#[test]
fn a_writer_that_says_that_it_ends_has_all_of_its_streams_ended_while_it_is_there() {
    let place = Place::new(3);
    for file in 0..9 {
        fs::write(place.raw(&format!("gc-{file}.log")), lines(0, 100 + file)).unwrap();
    }
    let agent = place.agent();
    wait_until("it ships", || place.report().is_object());
    fs::write(place.raw(".end"), "").unwrap();
    assert_eq!(said(agent), (Some(0), String::new()));
    assert!(!place.raw("").exists(), "nothing is left");
    let (joined, out) = place.joined();
    assert_eq!(joined.streams.len(), 9 + 1, "and the report");
    for stream in &joined.streams {
        assert!(
            stream.tally.ended && stream.tally.missing_count == 0,
            "{stream:?}"
        );
    }
    for file in 0..9 {
        let name = format!("gc-{file}.log");
        let stream = joined
            .streams
            .iter()
            .find(|it| it.file.as_ref() == Some(&name))
            .unwrap();
        let text = fs::read_to_string(out.join(&stream.path)).unwrap();
        assert_eq!(text, lines(0, 100 + file));
    }
}

#[test]
fn of_a_writer_that_was_killed_nothing_more_can_be_put_and_that_is_said_at_once() {
    let mut place = Place::new(usize::MAX);
    fs::write(place.raw("gc-1.log"), lines(0, 100)).unwrap();
    let agent = place.agent();
    wait_until("it is refused", || {
        place.report()["shipping"]["last_failure"].is_string()
    });
    place.writer.kill().unwrap();
    place.writer.wait().unwrap();
    let (code, text) = said(agent);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("bytes did not reach the store (") && text.contains("what is left is in"),
        "{text}"
    );
    assert_eq!(
        fs::read_to_string(place.raw("gc-1.log")).unwrap(),
        lines(0, 100)
    );
    let failure = &place.report()["shipping"]["last_failure"];
    assert_eq!(
        failure,
        "the process that puts chunks into the store has ended"
    );
}

#[test]
fn what_waits_is_bounded_and_what_is_dropped_is_counted_as_for_any_store() {
    let place = Place::new(usize::MAX);
    let agent = place.agent();
    wait_until("it ships", || place.report().is_object());
    let dropped = || {
        place.report()["shipping"]["dropped_bytes"]
            .as_u64()
            .unwrap_or(0)
    };
    let mut log = File::create(place.raw("gc-1.log")).unwrap();
    let mut text = String::new();
    wait_until("it drops", || {
        let more = lines(text.len(), text.len() + 5_000);
        log.write_all(more.as_bytes()).unwrap();
        text += &more;
        sleep(Duration::from_millis(20));
        dropped() > 0
    });
    let told = place.report();
    // What is taken at once may be more than is left of the bound.
    let waiting = told["shipping"]["waiting_bytes"].as_u64().unwrap();
    assert!(waiting <= 2 << 20, "{told}");
    assert_eq!(told["shipping"]["last_failure"], "the quota is used up");
    place.refusals.store(0, Ordering::SeqCst);
    fs::write(place.raw(".end"), "").unwrap();
    let (code, said) = said(agent);
    assert_eq!(code, Some(1));
    assert!(said.contains("bytes were dropped"), "{said}");
    let (joined, out) = place.joined();
    let stream = joined
        .streams
        .iter()
        .find(|it| it.file.as_deref() == Some("gc-1.log"))
        .unwrap();
    let arrived = fs::read_to_string(out.join(&stream.path)).unwrap();
    let (before, behind) = arrived.split_at(stream.tally.gap_at_byte.unwrap() as usize);
    assert!(text.starts_with(before) && text.ends_with(behind) && stream.tally.ended);
    assert_eq!(
        arrived.len() as u64 + stream.tally.dropped_bytes,
        text.len() as u64
    );
}
