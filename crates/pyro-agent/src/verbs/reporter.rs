//! The agent's account of itself, a file of the folder that it ships.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use pyro_chunks::{Source, part};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::own_use;
use crate::ship::{Clock, Report, SystemClock, replace};

/// Without news the report is written so often.
const AT_LEAST: Duration = Duration::from_secs(60);

/// Longer reports are none of ours.
const MAX_BYTES: u64 = 1 << 20;

/// What there is to tell beside shipping.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// Of the recorder.
    pub recorder: Value,
    /// Of canaries.
    pub canary: Value,
}

/// Writes the report when there is something to tell.
pub struct Reporter {
    folder: File,
    name: String,
    told: Option<(Instant, Value)>,
}

impl Reporter {
    /// Reports go into this folder.
    pub fn new(folder: File, host: &str) -> Self {
        Self {
            folder,
            name: file_name(host),
            told: None,
        }
    }

    /// Writes the report if what went wrong or `also` changed, a minute has passed, or it is the last.
    pub fn tell(
        &mut self,
        source: &Source,
        report: &Report,
        also: &Beside,
        end_reason: Option<&str>,
    ) {
        let news = json!([
            report.dropped_bytes,
            report.lost_bytes,
            report.files_left_out_count,
            report.last_failure,
            report.last_problem,
            report.away_since_wall_ns,
            also.recorder,
            also.canary,
        ]);
        let told = self.told.as_ref();
        let is_due =
            told.is_none_or(|(when, before)| when.elapsed() >= AT_LEAST || *before != news);
        if !is_due && end_reason.is_none() {
            return;
        }
        let content = json!({
            "schema": "pyrometer/agent-report/1",
            "state": if end_reason.is_some() { "finished" } else { "running" },
            "end_reason": end_reason,
            "agent_version": env!("CARGO_PKG_VERSION"),
            "agent_pid": std::process::id(),
            "app": source.app,
            "executor": source.executor,
            "attempt": source.attempt,
            "host": source.host,
            "wall_ns": SystemClock::default().wall_ns(),
            "own_cpu_ns": own_use::cpu_ns(),
            "own_peak_rss_bytes": own_use::peak_rss_bytes(),
            "shipping": report,
            "recorder": also.recorder,
            "canary": also.canary,
        });
        // One that cannot be written now is written with the next news.
        if replace(&self.folder, &self.name, &content.to_string()).is_ok() {
            self.told = Some((Instant::now(), news));
        }
    }
}

/// What the agent before us said last of its recorder; null if the folder has no report of one.
pub fn last_told(folder: &Path, host: &str) -> Value {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
        .open(folder.join(file_name(host)));
    let mut text = String::new();
    let read = opened.and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
    let report: Value = match read {
        Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => Value::Null,
    };
    report["recorder"].clone()
}

fn file_name(host: &str) -> String {
    format!("agent-{}.report.json", part(host))
}
