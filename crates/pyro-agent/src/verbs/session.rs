//! One raw folder that is shipped: from where its last shipper ended to where its writers do.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pyro_chunks::Source;

use crate::args::Shipping;
use crate::own_use;
use crate::ship::{
    Apart, Clock, Disk, KeptFile, MAX_FILES, Options, Report, Round, Shipper, SystemClock,
    open_folder,
};
use crate::stores;
use crate::verbs::reporter::{Beside, Reporter};
use crate::verbs::writer::Writer;

/// A store that hangs is waited for so long, once: also when the end was asked for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What streams of the host are called where those of an executor have application and executor.
pub const OF_THE_HOST: (&str, &str) = ("host", "host");

/// A folder that is shipped.
pub struct Session {
    path: PathBuf,
    folder: File,
    shipper: Shipper<Disk, Apart, KeptFile, SystemClock>,
    reporter: Reporter,
}

impl Session {
    /// Takes a folder. `writer`: the process that writes there, where it is known.
    ///
    /// # Errors
    /// If it is not there, somebody else ships it, or the store is of no known kind.
    pub fn begin(
        path: &Path,
        (app, executor): (&str, &str),
        shipping: &Shipping,
        free: bool,
        writer: Option<&Writer>,
    ) -> Result<Self, String> {
        let at = |error: io::Error| format!("{}: {error}", path.display());
        let (to, relays) = (shipping.to.clone(), writer.cloned());
        let store = Apart::begin(move || stores::open(&to, relays.as_ref()), PATIENCE)?;
        let folder = open_folder(path).map_err(at)?;
        let clock = SystemClock::default();
        let now = clock.wall_ns();
        let source = Source {
            app: app.to_owned(),
            executor: executor.to_owned(),
            attempt: format!("{now:x}"),
            host: shipping.host.clone(),
        };
        let options = Options {
            spool_bytes: shipping.spool_mib << 20,
            free,
            round_ns: i64::try_from(shipping.every.as_nanos()).unwrap_or(i64::MAX),
            seed: now as u64 ^ u64::from(std::process::id()) << 32,
        };
        let files = Disk::open(path, MAX_FILES.min(own_use::allow_open_files())).map_err(at)?;
        let keep = KeptFile::take(path).map_err(at)?;
        let shipper = Shipper::begin(files, store, keep, clock, source, options)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let own = folder.try_clone().map_err(at)?;
        Ok(Self {
            path: path.to_owned(),
            folder,
            shipper,
            reporter: Reporter::new(own, &shipping.host),
        })
    }

    /// One round, and its report. `also` is what there is to tell beside shipping.
    pub fn round(&mut self, ended: bool, also: &Beside) -> Round {
        let round = self.shipper.round(ended);
        let source = self.shipper.source().clone();
        self.reporter
            .tell(&source, &self.shipper.report(), also, None);
        round
    }

    /// One round of a folder whose writers are gone, with their agent: there is nothing to report yet.
    pub fn rest(&mut self) -> Round {
        self.shipper.round(true)
    }

    /// From now on so many bytes wait at most.
    pub fn bound(&mut self, spool_bytes: u64) {
        self.shipper.bound(spool_bytes);
    }

    /// Bytes that wait for the store.
    pub fn waiting_bytes(&self) -> u64 {
        self.shipper.report().waiting_bytes
    }

    /// The last rounds: the report says why, and is shipped, too.
    pub fn finish(&mut self, ended: bool, also: &Beside, reason: &str) -> Round {
        self.shipper.hurry();
        self.shipper.round(ended);
        let source = self.shipper.source().clone();
        self.reporter
            .tell(&source, &self.shipper.report(), also, Some(reason));
        self.shipper.hurry();
        self.shipper.round(ended)
    }

    /// False once the folder was removed or replaced.
    pub fn is_there(&self) -> bool {
        let ours = self
            .folder
            .metadata()
            .map(|about| (about.dev(), about.ino()));
        let now = fs::symlink_metadata(&self.path).map(|about| (about.dev(), about.ino()));
        matches!((ours, now), (Ok(ours), Ok(now)) if ours == now)
    }

    /// The open folder.
    pub fn folder(&self) -> &File {
        &self.folder
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What has not arrived after a round that is not done.
    pub fn left(&self, round: Round) -> String {
        let report = self.shipper.report();
        let mut bytes = format!("{} bytes did not reach the store", report.waiting_bytes);
        if let (true, Some(failure)) = (round.waiting, report.last_failure) {
            bytes = format!("{bytes} ({failure})");
        }
        match report.last_problem {
            Some(problem) if round.unsaved => {
                format!("{bytes}, and the record of what did could not be saved ({problem})")
            }
            Some(problem) if round.unread => {
                format!("{bytes}, and not all could be read ({problem})")
            }
            _ => bytes,
        }
    }

    /// Removes the folder, of which all has arrived that is shipped, unless files were left out.
    pub fn remove(&self) {
        if self.shipper.report().files_left_out_count == 0 {
            let _ = fs::remove_dir_all(&self.path);
        }
    }

    /// Nothing waits any more: whether everything is in the store.
    ///
    /// # Errors
    /// How much will never be there.
    pub fn complete(&self) -> Result<(), String> {
        let Report {
            dropped_bytes,
            lost_bytes,
            files_left_out_count,
            ..
        } = self.shipper.report();
        match dropped_bytes + lost_bytes {
            0 if files_left_out_count == 0 => Ok(()),
            0 => Err(format!(
                "{files_left_out_count} files or folders were left out: they are in {} as long as \
                 that is there",
                self.path.display()
            )),
            _ => Err(format!(
                "{dropped_bytes} bytes were dropped (more than --spool-mib were waiting) and {lost_bytes} could not be \
                 read any more: a reader of the store is told of which files"
            )),
        }
    }
}
