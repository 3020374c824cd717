//! `ship`: one raw folder, of whoever writes there.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::args::ShipOptions;
use crate::ship::{Clock, SystemClock};
use crate::stop::Stop;
use crate::stores::RELAY;
use crate::verbs::detach::detached;
use crate::verbs::recorder::{Of, Program, Recorder, last_written_wall_ns};
use crate::verbs::reporter::{Beside, last_told};
use crate::verbs::restarts::Restarts;
use crate::verbs::session::Session;
use crate::verbs::writer::Writer;

/// When nobody writes any more, a store that is away is waited for so long.
const PATIENCE: Duration = Duration::from_secs(600);

/// A writer that has ended is noticed within this time.
const GLANCE: Duration = Duration::from_millis(200);

/// A writer that is about to end, perhaps with us, leaves this name and waits until it is gone: all has arrived then.
const HURRY: &str = ".hurry";

/// One that takes the way to the store with it leaves this name, and waits until it is gone, or the agent: as for a writer
/// that has ended, all that there is has arrived then.
const END: &str = ".end";

/// Whoever ends us with our writer, such as a service that stops, may reach us first: its end is waited for so long.
const WITH_THE_WRITER: Duration = Duration::from_secs(5);

/// Ships a folder until its writer has ended, it is removed, or SIGTERM comes.
///
/// # Errors
/// If it cannot begin, or something could not be shipped.
pub fn ship(options: &ShipOptions) -> Result<(), String> {
    if options.detach && !detached()? {
        return Ok(());
    }
    let stop = Stop::listen().map_err(|error| error.to_string())?;
    let of = (options.app.as_str(), options.executor.as_str());
    let writer = options.until_pid.map(Writer::new);
    let mut session = Session::begin(
        &options.raw_dir,
        of,
        &options.shipping,
        options.free,
        writer.as_ref(),
    )?;
    let is_relayed = options.shipping.to.starts_with(RELAY);
    let lives = writer.as_ref().is_some_and(Writer::is_there);
    let mut recorder = Recording::begin(options, lives);
    let (hurry, end) = (options.raw_dir.join(HURRY), options.raw_dir.join(END));
    let mut ended_since = None;
    let reason = loop {
        let reason = match ended(writer.as_ref(), &session) {
            None if end.exists() => Some("its writer ended"),
            reason => reason,
        };
        if reason.is_some() && ended_since.is_none() {
            ended_since = Some(Instant::now());
            recorder.stop();
        } else if reason.is_none() {
            recorder.keep(options);
        }
        let hurries = hurry.exists();
        let round = session.round(reason.is_some(), &recorder.told());
        if hurries && round.is_done() {
            let _ = fs::remove_file(&hurry);
        }
        let is_urgent = || !hurries && hurry.exists() || ended_since.is_none() && end.exists();
        // Nobody else can put anything.
        let is_cut_off = is_relayed && has_gone(writer.as_ref());
        let given_up = ended_since.is_some_and(|since| is_cut_off || since.elapsed() >= PATIENCE);
        match reason {
            Some(reason) if round.is_done() || given_up => break reason,
            _ if asked_to_stop(&stop, options.shipping.every, || {
                is_urgent() || ended_since.is_none() && has_gone(writer.as_ref())
            }) =>
            {
                if ended_since.is_none() && options.remove && ends_too(writer.as_ref()) {
                    continue;
                }
                break "asked to stop";
            }
            _ => {}
        }
    };
    recorder.stop();
    let round = session.finish(ended_since.is_some(), &recorder.told(), reason);
    let _ = fs::remove_file(&end);
    if !round.is_done() {
        return Err(format!(
            "{}; what is left is in {} as long as that is there",
            session.left(round),
            options.raw_dir.display()
        ));
    }
    if options.remove && ended_since.is_some() && session.is_there() {
        session.remove();
    }
    session.complete()
}

/// Waits for the next round, or until it is due at once.
fn asked_to_stop(stop: &Stop, every: Duration, is_due: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while let Some(left) = every.checked_sub(begun.elapsed()) {
        if stop.wait(left.min(GLANCE)) {
            return true;
        }
        if is_due() {
            return false;
        }
    }
    false
}

fn has_gone(writer: Option<&Writer>) -> bool {
    writer.is_some_and(|writer| !writer.is_there())
}

/// Whether the writer ends as well, within a few seconds: then nothing is to stay of the folder.
fn ends_too(writer: Option<&Writer>) -> bool {
    let begun = Instant::now();
    while writer.is_some_and(Writer::is_there) {
        if begun.elapsed() >= WITH_THE_WRITER {
            return false;
        }
        sleep(GLANCE);
    }
    writer.is_some()
}

/// The recorder beside the writer, if one was asked for.
struct Recording {
    program: Option<Program>,
    recorder: Option<Recorder>,
    restarts: Restarts<SystemClock>,
    /// An earlier agent had this folder recorded.
    is_after: bool,
}

impl Recording {
    /// Starts it, in the place of that of an earlier agent if there was one. `lives`: the writer.
    fn begin(options: &ShipOptions, lives: bool) -> Self {
        let clock = SystemClock::default();
        let now = clock.wall_ns();
        let seed = now as u64 ^ u64::from(std::process::id());
        let (raw, host) = (&options.raw_dir, &options.shipping.host);
        let told = last_told(raw, host);
        let is_after = told.is_object();
        let restarts = if is_after {
            let missed_since = lives.then(|| last_written_wall_ns(raw, host).unwrap_or(now));
            Restarts::after(clock, seed, told, missed_since)
        } else {
            Restarts::new(clock, seed)
        };
        let mut recording = Self {
            program: options.probe.as_deref().map(Program::new),
            recorder: None,
            restarts,
            is_after,
        };
        if lives || !is_after {
            recording.start(options);
        }
        recording
    }

    /// Starts it once more when it has ended.
    fn keep(&mut self, options: &ShipOptions) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        self.restarts.look(recorder.ended().as_deref());
        if self.restarts.is_due() {
            self.start(options);
        }
    }

    fn start(&mut self, options: &ShipOptions) {
        let (Some(program), Some(pid)) = (&self.program, options.until_pid) else {
            return;
        };
        let (host, raw) = (&options.shipping.host, &options.raw_dir);
        let mut recorder = Recorder::start(program, Of::Process(pid), &options.pace, host, raw);
        self.restarts.again(recorder.ended().is_none());
        self.recorder = Some(recorder);
    }

    fn told(&mut self) -> Beside {
        let recorder = match &mut self.recorder {
            Some(recorder) => self.restarts.told(recorder.state()),
            None if self.is_after => self.restarts.told(Recorder::gone()),
            None => Value::Null,
        };
        Beside {
            recorder,
            ..Beside::default()
        }
    }

    fn stop(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.stop();
        }
    }
}

fn ended(writer: Option<&Writer>, session: &Session) -> Option<&'static str> {
    match writer {
        _ if !session.is_there() => Some("folder removed"),
        Some(writer) if !writer.is_there() => Some("its writer ended"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::{Child, Command};
    use std::thread::JoinHandle;

    use pyro_chunks::join::join_folder;

    use super::*;
    use crate::args::{Pace, Shipping};

    /// A raw folder, a store, and an agent between them.
    struct Place {
        folder: tempfile::TempDir,
        writer: Child,
        shipping: Option<JoinHandle<Result<(), String>>>,
    }

    impl Place {
        /// Begins, and waits for the first round.
        fn new(every: Duration) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut place = Self {
                folder,
                writer: Command::new("sleep").arg("600").spawn().unwrap(),
                shipping: None,
            };
            let (raw, store) = (place.at("raw"), place.at("store"));
            for folder in [&raw, &store] {
                fs::create_dir(folder).unwrap();
            }
            let options = ShipOptions {
                shipping: Shipping {
                    to: store.to_str().unwrap().to_owned(),
                    host: "h".to_owned(),
                    every,
                    spool_mib: 1,
                },
                raw_dir: raw,
                app: "a".to_owned(),
                executor: "1".to_owned(),
                until_pid: Some(place.writer.id() as i32),
                free: false,
                probe: None,
                pace: Pace {
                    hz: 20,
                    budget: 1,
                    thread_counters: "none".to_owned(),
                },
                remove: false,
                detach: false,
            };
            place.shipping = Some(std::thread::spawn(move || ship(&options)));
            place.wait_until("the first round", |place| place.report().is_object());
            place
        }

        fn at(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
            let begun = Instant::now();
            while !is_so(self) {
                assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
                sleep(Duration::from_millis(20));
            }
        }

        fn is_let_go(&self) -> bool {
            !self.at("raw").join(HURRY).exists()
        }

        fn report(&self) -> Value {
            let text = fs::read_to_string(self.at("raw/agent-h.report.json")).unwrap_or_default();
            serde_json::from_str(&text).unwrap_or_default()
        }

        /// What has arrived of a file.
        fn arrived(&self, name: &str) -> Option<String> {
            let joined = join_folder(&self.at("store"), &self.at("out")).unwrap();
            let mut streams = joined.streams.into_iter();
            let stream = streams.find(|stream| stream.file.as_deref() == Some(name))?;
            fs::read_to_string(self.at("out").join(stream.path)).ok()
        }

        /// Ends the writer, and gives what the agent says then.
        fn end(mut self) -> Result<(), String> {
            self.writer.kill().unwrap();
            self.writer.wait().unwrap();
            self.wait_until("the agent ends", |place| {
                let shipping = place.shipping.as_ref();
                shipping.is_none_or(JoinHandle::is_finished)
            });
            self.shipping.take().unwrap().join().unwrap()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = self.writer.kill();
            let _ = self.writer.wait();
        }
    }

    #[test]
    fn all_of_a_writer_in_a_hurry_has_arrived_once_it_is_let_go() {
        // No other round is due.
        let place = Place::new(Duration::from_secs(3600));
        fs::write(place.at("raw/gc-1.log"), "one\n").unwrap();
        fs::write(place.at("raw").join(HURRY), "").unwrap();
        place.wait_until("the writer is let go", Place::is_let_go);
        assert_eq!(place.arrived("gc-1.log").as_deref(), Some("one\n"));
        assert_eq!(place.end(), Ok(()));
    }

    #[test]
    fn a_writer_in_a_hurry_waits_for_a_store_that_is_away() {
        let place = Place::new(Duration::from_millis(100));
        fs::rename(place.at("store"), place.at("away")).unwrap();
        fs::write(place.at("raw/gc-1.log"), "one\n").unwrap();
        fs::write(place.at("raw").join(HURRY), "").unwrap();
        place.wait_until("the store is missed", |place| {
            place.report()["shipping"]["away_since_wall_ns"].is_i64()
        });
        // It would be let go at the end of that round.
        sleep(GLANCE);
        assert!(!place.is_let_go());
        fs::rename(place.at("away"), place.at("store")).unwrap();
        place.wait_until("the writer is let go", Place::is_let_go);
        assert_eq!(place.arrived("gc-1.log").as_deref(), Some("one\n"));
        assert_eq!(place.end(), Ok(()));
    }
}
