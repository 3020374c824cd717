//! The command line.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, value_parser};

use crate::perf::OfThreads;
use crate::tiers::grant::Tier;

#[derive(Parser)]
#[command(name = "pyro-probe", version, about)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, PartialEq, Subcommand)]
pub enum Command {
    /// Follow processes: threads and host series, sampled
    ///
    /// Follows a process, its descendants and the processes named by FOLDER/plugin-*-<pid>.ndjson, and
    /// writes FOLDER/probe-<host>-threads.arrows, probe-<host>-series.arrows and
    /// probe-<host>.report.json until all of them have ended, SIGTERM comes, the keeper has ended, or
    /// FOLDER is removed.
    Record(Options),
    /// Read the annotation of a process once
    Annotate {
        /// Process to read
        #[arg(long, value_name = "PID", value_parser = pid())]
        pid: i32,
        /// What to read: postgres, or word@ADDRESS[:TYPE][=NAMES]
        #[arg(long = "annotate", value_name = "WORD")]
        text: String,
    },
    /// Wait for a probe's end, and put back what it had changed if it was killed
    #[command(hide = true)]
    Guard {
        /// The probe
        #[arg(long, value_name = "PID", value_parser = pid())]
        pid: i32,
    },
    /// Report what can be measured on this machine
    Tiers(Json),
    /// Measure memory bandwidth and latency and the steadiness of this machine, for about ten seconds
    Card(Json),
    /// Measure arithmetic, latency and copying, for a few tenths of a second
    Canary(Json),
}

/// How to print.
#[derive(Debug, PartialEq, Args)]
pub struct Json {
    /// Print JSON, which is the only format
    #[arg(long, overrides_with = "json")]
    json: bool,
}

/// What to record.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct Options {
    /// Process to follow with its descendants
    #[arg(long, value_name = "PID", value_parser = pid())]
    pub root_pid: i32,
    /// Folder for the files
    #[arg(long, value_name = "FOLDER")]
    pub raw_dir: PathBuf,
    /// Name of this host in rows and file names
    #[arg(long, value_name = "NAME", value_parser = host)]
    pub host: String,
    /// Passes per second, from 0.1 to 1000
    #[arg(long, default_value = "20", value_parser = rate)]
    pub hz: f64,
    /// Share of a CPU that passes may cost, such as 2%: they become rarer for it, down to one a second
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub budget: Option<f64>,
    /// Tier at which threads are read at best; the best that can be had by default
    #[arg(long, default_value = "auto", value_parser = tier())]
    pub tier: Asked,
    /// Record no threads
    #[arg(long)]
    no_threads: bool,
    /// Open no perf counters
    #[arg(long)]
    no_counters: bool,
    /// Counters of threads, which cost them at every switch: none, with hardware counters where there are any, or all
    #[arg(long, default_value = "none", value_parser = of_threads())]
    pub thread_counters: OfThreads,
    /// Descriptors kept open at most; more threads are read by open, read, close
    #[arg(long, value_name = "COUNT", default_value_t = 8192)]
    pub max_open: usize,
    /// Further process to follow; may be given several times
    #[arg(long = "also-pid", value_name = "PID", value_parser = pid())]
    pub also_pids: Vec<i32>,
    /// Number in the names of the files, from 2 on: of another probe that goes on in FOLDER
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pub part: u32,
    /// Process for which the probe records: it ends when that has
    #[arg(long, value_name = "PID", value_parser = pid())]
    pub keeper_pid: Option<i32>,
    /// What to read of processes' own memory: postgres, or word@ADDRESS[:TYPE][=NAMES]
    #[arg(long = "annotate", value_name = "WORD")]
    pub annotation: Option<String>,
}

impl Options {
    /// Whether threads are recorded.
    pub fn with_threads(&self) -> bool {
        !self.no_threads
    }

    /// Whether perf counters are opened.
    pub fn with_counters(&self) -> bool {
        !self.no_counters
    }
}

/// The tier that was asked for; `None`: the best that can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked(pub Option<Tier>);

fn pid() -> clap::builder::RangedI64ValueParser<i32> {
    value_parser!(i32).range(1..)
}

fn host(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains('/') {
        true => Err("not a host name".to_owned()),
        false => Ok(text.to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let hz = text.parse().ok().filter(|hz| (0.1..=1000.0).contains(hz));
    hz.ok_or_else(|| "not a rate from 0.1 to 1000".to_owned())
}

/// A share from a percentage above 0 and up to 100.
fn percent(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|digits| digits.parse().ok());
    let ratio = number.map(|percent: f64| percent / 100.0);
    ratio
        .filter(|&ratio| ratio > 0.0 && ratio <= 1.0)
        .ok_or_else(|| "not a share of a CPU above 0% and up to 100%".to_owned())
}

fn of_threads() -> impl TypedValueParser<Value = OfThreads> {
    PossibleValuesParser::new(["none", "hardware", "all"]).map(|word| match word.as_str() {
        "all" => OfThreads::All,
        "hardware" => OfThreads::WithHardware,
        _ => OfThreads::None,
    })
}

fn tier() -> impl TypedValueParser<Value = Asked> {
    PossibleValuesParser::new(["auto", "T0", "T1", "T2", "T3"])
        .map(|word| Asked(Tier::from_name(&word)))
}

/// What the command line comes to where there is nothing to do.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// Print the text: help or the version was asked for.
    Text(String),
    /// What is wrong, in one line.
    Wrong(String),
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// What to print instead of doing anything.
pub fn parse(args: impl Iterator<Item = String>) -> Result<Command, Answer> {
    let args = std::iter::once("pyro-probe".to_owned()).chain(args);
    match CommandLine::try_parse_from(args) {
        Ok(line) => Ok(line.command),
        Err(error) => Err(match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Answer::Text(error.to_string().trim_end().to_owned())
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Answer::Wrong("a command is missing".to_owned())
            }
            _ => Answer::Wrong(complaint(&error)),
        }),
    }
}

/// An error in one line.
fn complaint(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::MissingRequiredArgument
        && let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
    {
        let names: Vec<_> = missing
            .iter()
            .filter_map(|option| option.split(' ').next())
            .collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        return format!("{} {verb} missing", names.join(", "));
    }
    let text = error.to_string();
    let paragraph = text.lines().take_while(|line| !line.trim().is_empty());
    let line: Vec<_> = paragraph.map(str::trim).collect();
    let line = line.join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

/// How the program is called.
pub fn usage() -> String {
    use clap::CommandFactory;
    CommandLine::command().render_help().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, Answer> {
        parse(line.split_ascii_whitespace().map(str::to_owned))
    }

    #[test]
    fn record_with_all_options() {
        let line = "record --root-pid 7 --raw-dir /r --host h --hz 50 --budget 1.5% --tier T2 --no-threads --max-open 0";
        let Ok(Command::Record(options)) = parsed(line) else {
            panic!("refused")
        };
        assert_eq!(
            (
                options.root_pid,
                options.hz,
                options.with_threads(),
                options.tier,
                options.max_open
            ),
            (7, 50.0, false, Asked(Some(Tier::T2)), 0)
        );
        assert_eq!(options.budget, Some(0.015));
        assert_eq!(
            (options.raw_dir.to_str(), options.host.as_str()),
            (Some("/r"), "h")
        );
        assert_eq!(options.part, 1);
        let again = parsed(&format!("{line} --part 2"));
        assert!(matches!(again, Ok(Command::Record(options)) if options.part == 2));
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
        assert_eq!(parsed("guard --pid 7"), Ok(Command::Guard { pid: 7 }));
    }

    #[test]
    fn defaults() {
        let Ok(Command::Record(options)) = parsed("record --root-pid 7 --raw-dir /r --host h")
        else {
            panic!("refused")
        };
        assert_eq!(
            (options.hz, options.tier, options.max_open),
            (20.0, Asked(None), 8192)
        );
        assert_eq!(options.budget, None);
        assert!(options.with_threads() && options.with_counters() && options.also_pids.is_empty());
    }

    #[test]
    fn help_and_version_are_no_errors() {
        for (line, word) in [
            ("--version", env!("CARGO_PKG_VERSION")),
            ("-V", "pyro-probe "),
            ("--help", "record"),
            ("-h", "canary"),
            ("help", "canary"),
            ("record --help", "--keeper-pid"),
        ] {
            let Err(Answer::Text(text)) = parsed(line) else {
                panic!("{line}");
            };
            assert!(text.contains(word), "{line}: {text}");
        }
        assert!(matches!(parsed("tiers --json"), Ok(Command::Tiers(_))));
        assert!(matches!(parsed("card"), Ok(Command::Card(_))));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, word) in [
            ("", "a command is missing"),
            ("record --raw-dir /r --host h", "--root-pid"),
            ("record --root-pid x --raw-dir /r --host h", "--root-pid"),
            ("record --root-pid 1 --raw-dir /r --host a/b", "host name"),
            ("record --root-pid 1 --raw-dir /r --host h --hz 0", "a rate"),
            (
                "record --root-pid 1 --raw-dir /r --host h --budget 2",
                "a share",
            ),
            (
                "record --root-pid 1 --raw-dir /r --host h --budget 0%",
                "a share",
            ),
            (
                "record --root-pid 1 --raw-dir /r --host h --budget nan%",
                "a share",
            ),
            ("record --root-pid", "a value is required"),
            ("record --depth 3", "--depth"),
            ("record --root-pid 1 --tier T4", "T3"),
            ("annotate --pid 7", "--annotate"),
            ("annotate --annotate postgres", "--pid"),
            ("annotate --pid x", "'x'"),
            ("tiers --yaml", "--yaml"),
            ("dance", "dance"),
        ] {
            let Err(Answer::Wrong(message)) = parsed(line) else {
                panic!("{line}: not refused");
            };
            assert!(message.contains(word), "{line}: {message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
