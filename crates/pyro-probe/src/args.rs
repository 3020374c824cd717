//! The command line.

use crate::record::Options;
use crate::tier::Tier;

/// How it is called.
pub const USAGE: &str = "\
usage: pyro-probe record --root-pid PID --raw-dir FOLDER --host NAME [--hz 20] [--tier auto]
                         [--no-threads] [--no-counters] [--max-open 8192] [--also-pid PID]… [--keeper-pid PID]
                         [--annotate WORD]
       pyro-probe annotate --pid PID --annotate WORD
       pyro-probe tiers --json
       pyro-probe card --json
       pyro-probe canary --json
       pyro-probe --version

record follows PID, its descendants and the processes named by FOLDER/plugin-*-<pid>.ndjson, and writes
FOLDER/probe-<host>-threads.arrows, probe-<host>-series.arrows and probe-<host>.report.json until all of
them have ended, SIGTERM comes, the keeper has ended, or FOLDER is removed. WORD, the application's own word
for what it does, is postgres or word@ADDRESS[:TYPE][=NAMES]; annotate reads it once.
tiers tells what can be measured here.
card measures memory bandwidth and latency and the steadiness of this machine, for about ten seconds;
canary arithmetic, latency and copying, for a few tenths of a second.";

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// Follow processes.
    Record(Options),
    /// Read the annotation of a process once.
    Annotate {
        /// What to read.
        text: String,
        /// Of which process.
        pid: i32,
    },
    /// Tell what can be measured.
    Tiers,
    /// Measure the host.
    Card,
    /// Measure shortly what the machine attains now.
    Canary,
    /// Print the version.
    Version,
    /// Print the usage.
    Help,
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// What is wrong, in one line.
pub fn parse(args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut args = args;
    match args.next().as_deref() {
        Some("record") => record(args).map(Command::Record),
        Some("annotate") => annotate(args),
        Some(verb @ ("tiers" | "card" | "canary")) => match args.find(|arg| arg != "--json") {
            None if verb == "card" => Ok(Command::Card),
            None if verb == "canary" => Ok(Command::Canary),
            None => Ok(Command::Tiers),
            Some(other) => Err(format!("{verb} does not know {other:?}")),
        },
        Some("--version" | "-V") => Ok(Command::Version),
        Some("--help" | "-h" | "help") => Ok(Command::Help),
        Some(other) => Err(format!("there is no command {other:?}")),
        None => Err("a command is missing".to_owned()),
    }
}

fn annotate(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut text, mut found) = (None, None);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--pid" => found = Some(pid(&flag, &value)?),
            "--annotate" => text = Some(value),
            _ => return Err(format!("annotate does not know {flag:?}")),
        }
    }
    Ok(Command::Annotate {
        text: text.ok_or("--annotate is missing")?,
        pid: found.ok_or("--pid is missing")?,
    })
}

fn pid(flag: &str, value: &str) -> Result<i32, String> {
    let found = value.parse().ok().filter(|&pid| pid > 0);
    found.ok_or_else(|| format!("{flag} {value}: not a pid"))
}

fn record(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let (mut root_pid, mut raw_dir, mut host) = (None, None, None);
    let (mut also_pids, mut keeper_pid, mut annotation) = (Vec::new(), None, None);
    let (mut hz, mut with_threads, mut max_open, mut tier) = (20.0, true, 8192, None);
    let mut with_counters = true;
    while let Some(flag) = args.next() {
        if flag == "--no-threads" {
            with_threads = false;
            continue;
        }
        if flag == "--no-counters" {
            with_counters = false;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let wrong = |what: &str| format!("{flag} {value}: not {what}");
        match flag.as_str() {
            "--root-pid" => root_pid = Some(pid(&flag, &value)?),
            "--also-pid" => also_pids.push(pid(&flag, &value)?),
            "--keeper-pid" => keeper_pid = Some(pid(&flag, &value)?),
            "--annotate" => annotation = Some(value),
            "--raw-dir" => raw_dir = Some(value.into()),
            "--host" if value.is_empty() || value.contains('/') => {
                return Err(wrong("a host name"));
            }
            "--host" => host = Some(value),
            "--hz" => {
                let usable = |hz: &f64| (0.1..=1000.0).contains(hz);
                hz = value
                    .parse()
                    .ok()
                    .filter(usable)
                    .ok_or_else(|| wrong("a rate from 0.1 to 1000"))?;
            }
            "--tier" if value == "auto" => tier = None,
            "--tier" => {
                tier = Some(Tier::of_word(&value).ok_or_else(|| wrong("auto, T0, T1, T2 or T3"))?);
            }
            "--max-open" => max_open = value.parse().map_err(|_| wrong("a number"))?,
            _ => return Err(format!("record does not know {flag:?}")),
        }
    }
    Ok(Options {
        root_pid: root_pid.ok_or("--root-pid is missing")?,
        also_pids,
        keeper_pid,
        annotation,
        raw_dir: raw_dir.ok_or("--raw-dir is missing")?,
        host: host.ok_or("--host is missing")?,
        hz,
        with_threads,
        with_counters,
        tier,
        max_open,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn record_with_all_options() {
        let line =
            "record --root-pid 7 --raw-dir /r --host h --hz 50 --tier T2 --no-threads --max-open 0";
        let Ok(Command::Record(options)) = parsed(line) else {
            panic!("refused")
        };
        assert_eq!(
            (
                options.root_pid,
                options.hz,
                options.with_threads,
                options.tier,
                options.max_open
            ),
            (7, 50.0, false, Some(Tier::T2), 0)
        );
        assert_eq!(
            (options.raw_dir.to_str(), options.host.as_str()),
            (Some("/r"), "h")
        );
    }

    #[test]
    fn several_processes_and_an_annotation() {
        let line = "record --root-pid 7 --raw-dir /r --host h --also-pid 8 --also-pid 9 --keeper-pid 1 --annotate postgres";
        let Ok(Command::Record(options)) = parsed(line) else {
            panic!("refused")
        };
        assert_eq!(
            (options.also_pids, options.keeper_pid),
            (vec![8, 9], Some(1))
        );
        assert_eq!(options.annotation.as_deref(), Some("postgres"));
        let text = "postgres".to_owned();
        let read = parsed("annotate --pid 7 --annotate postgres");
        assert_eq!(read, Ok(Command::Annotate { text, pid: 7 }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, word) in [
            ("", "\"\""),
            ("record --raw-dir /r --host h", "--root-pid"),
            ("record --root-pid x --raw-dir /r --host h", "not a pid"),
            ("record --root-pid 1 --raw-dir /r --host a/b", "host name"),
            ("record --root-pid 1 --raw-dir /r --host h --hz 0", "a rate"),
            ("record --root-pid", "needs a value"),
            ("record --depth 3", "--depth"),
            ("record --root-pid 1 --tier T4", "T3"),
            ("annotate --pid 7", "--annotate"),
            ("annotate --annotate postgres", "--pid"),
            ("annotate --pid x", "not a pid"),
            ("tiers --yaml", "--yaml"),
            ("dance", "dance"),
        ] {
            let message = parsed(line).unwrap_err();
            assert!(message.contains(word), "{line}: {message}");
        }
    }
}
