//! `ship`: one raw folder, of whoever writes there.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::args::ShipOptions;
use crate::stop::Stop;
use crate::verbs::session::Session;

/// When nobody writes any more, a store that is away is waited for so long.
const PATIENCE: Duration = Duration::from_secs(600);

/// Ships a folder until its writer has ended, it is removed, or SIGTERM comes.
///
/// # Errors
/// If it cannot begin, or something could not be shipped.
pub fn ship(options: &ShipOptions) -> Result<(), String> {
    let stop = Stop::listen().map_err(|error| error.to_string())?;
    let of = (options.app.as_str(), options.executor.as_str());
    let mut session = Session::begin(&options.raw_dir, of, &options.shipping, options.free)?;
    let writer = options.until_pid.map(Writer::new);
    let mut ended_since = None;
    let reason = loop {
        let reason = ended(writer.as_ref(), &session);
        if reason.is_some() {
            ended_since.get_or_insert_with(Instant::now);
        }
        let round = session.round(reason.is_some(), &Value::Null);
        let given_up = ended_since.is_some_and(|since| since.elapsed() >= PATIENCE);
        match reason {
            Some(reason) if !round.waiting || given_up => break reason,
            _ if stop.wait(options.shipping.every) => break "asked to stop",
            _ => {}
        }
    };
    let round = session.finish(ended_since.is_some(), &Value::Null, reason);
    match round.waiting {
        false => session.complete(),
        true => Err(format!(
            "{} bytes did not reach the store; they are in {} as long as that is there",
            session.waiting_bytes(),
            options.raw_dir.display()
        )),
    }
}

fn ended(writer: Option<&Writer>, session: &Session) -> Option<&'static str> {
    match writer {
        _ if !session.is_there() => Some("folder removed"),
        Some(writer) if !writer.is_there() => Some("its writer ended"),
        _ => None,
    }
}

/// A process, and not another that gets its number.
struct Writer {
    pid: i32,
    started: Option<String>,
}

impl Writer {
    fn new(pid: i32) -> Self {
        let started = started(pid);
        Self { pid, started }
    }

    fn is_there(&self) -> bool {
        self.started.is_some() && started(self.pid) == self.started
    }
}

/// When a process was started; `None` if it is gone, or a zombie, which writes no more.
fn started(pid: i32) -> Option<String> {
    let path = format!("/proc/{pid}/stat");
    let stat = std::fs::read(Path::new(&path)).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    (!is_zombie).then(|| fields.nth(18).map(str::to_owned))?
}
