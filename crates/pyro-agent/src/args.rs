//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, value_parser};

#[derive(Parser)]
#[command(name = "pyro-agent", version, about)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, PartialEq, Subcommand)]
pub enum Command {
    /// Find the executors of this host, record them, and ship what was recorded, until SIGTERM comes
    Host(HostOptions),
    /// Ship what is written into a raw folder, until nobody writes there any more or SIGTERM comes
    Ship(ShipOptions),
    /// Print the executors and drivers of this host
    Executors(ExecutorsOptions),
}

/// Where to, and how.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct Shipping {
    /// Store: file:///FOLDER, which must exist
    #[arg(long, value_name = "URL")]
    pub to: String,
    /// Name of this host in what is shipped
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub host: String,
    /// Seconds between rounds, from 0.1 to 10
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = every)]
    pub every: Duration,
    /// MiB that wait for the store at most; what comes above is dropped and counted
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = value_parser!(u64).range(1..=1 << 20))]
    pub spool_mib: u64,
}

/// How often the recorder reads, and what costs the recorded threads something.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct Pace {
    /// Passes of the recorder per second
    #[arg(long, default_value = "20", value_parser = value_parser!(u32).range(1..=1000))]
    pub hz: u32,
    /// Percent of a CPU that the recorder's passes may cost
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = value_parser!(u32).range(1..=100))]
    pub budget: u32,
    /// Counters of threads, which cost them at every switch: none, with hardware counters where there are any, or all
    #[arg(long, value_name = "WHICH", default_value = "none", value_parser = ["none", "hardware", "all"])]
    pub thread_counters: String,
}

/// What to ship.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ShipOptions {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub shipping: Shipping,
    /// Raw folder
    #[arg(long, value_name = "FOLDER")]
    pub raw_dir: PathBuf,
    /// Application id
    #[arg(long, value_name = "ID", value_parser = name)]
    pub app: String,
    /// Executor id, or driver
    #[arg(long, value_name = "ID", value_parser = name)]
    pub executor: String,
    /// Process that writes the folder: when it has ended, the rest is shipped, and that is the end
    #[arg(long, value_name = "PID", value_parser = value_parser!(i32).range(1..))]
    pub until_pid: Option<i32>,
    /// Give the disk back what has been shipped: only the store has it then
    #[arg(long)]
    pub free: bool,
    /// Have that process and its descendants recorded into the folder by this program
    #[arg(long, value_name = "FILE", requires = "until_pid")]
    pub probe: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub pace: Pace,
    /// Remove the folder once that process has ended and all has arrived
    #[arg(long, requires = "until_pid")]
    pub remove: bool,
    /// Go on in a session of its own, as nobody's child, and return at once
    #[arg(long)]
    pub detach: bool,
}

/// How to record a host.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct HostOptions {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub shipping: Shipping,
    /// Folder for what waits for the store
    #[arg(long, value_name = "FOLDER")]
    pub work_dir: PathBuf,
    /// Minutes after which streams are begun anew, so that a reader needs only those of its time, from 0.02 to 1440
    #[arg(long, value_name = "MINUTES", default_value = "60", value_parser = renew)]
    pub renew: Duration,
    /// Seconds between canaries, which are measured while no executor is here: from 1 to 86400, 0 for none
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = canary)]
    pub canary: Duration,
    /// The recorder, which measures canaries, too; pyro-probe beside this program by default
    #[arg(long, value_name = "FILE")]
    pub probe: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub pace: Pace,
    /// Where processes are
    #[arg(long, value_name = "FOLDER", default_value = "/proc", hide = true)]
    pub proc: PathBuf,
}

/// What to print.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ExecutorsOptions {
    /// Print JSON, which is the only format
    #[arg(long, overrides_with = "json")]
    pub json: bool,
    /// Where processes are
    #[arg(long, value_name = "FOLDER", default_value = "/proc")]
    pub proc: PathBuf,
}

fn name(text: &str) -> Result<String, String> {
    match text.is_empty() {
        true => Err("is empty".to_owned()),
        false => Ok(text.to_owned()),
    }
}

fn every(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds| (0.1..=10.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "not a time from 0.1 to 10 seconds".to_owned())
}

fn renew(text: &str) -> Result<Duration, String> {
    let minutes = text
        .parse()
        .ok()
        .filter(|minutes| (0.02..=1440.0).contains(minutes));
    minutes
        .map(|minutes: f64| Duration::from_secs_f64(minutes * 60.0))
        .ok_or_else(|| "not a time from 0.02 to 1440 minutes".to_owned())
}

/// A time; none is zero.
fn canary(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .filter(|&seconds| seconds == 0.0 || (1.0..=86_400.0).contains(&seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "not a time from 1 to 86400 seconds, or 0".to_owned())
}

/// What the command line comes to where there is nothing to do.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// Print the text: help or the version was asked for.
    Text(String),
    /// What is wrong, in one line.
    Wrong(String),
}

/// Parses the command line, the program's name included.
///
/// # Errors
/// What to print instead of doing anything.
pub fn parse(words: impl Iterator<Item = OsString>) -> Result<Command, Answer> {
    match CommandLine::try_parse_from(words) {
        Ok(line) => Ok(line.command),
        Err(error) => Err(match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Answer::Text(error.to_string().trim_end().to_owned())
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Answer::Wrong("a command is missing".to_owned())
            }
            _ => {
                let text = error.to_string();
                let paragraph = text.lines().take_while(|line| !line.trim().is_empty());
                let line = paragraph.map(str::trim).collect::<Vec<_>>().join(" ");
                Answer::Wrong(line.strip_prefix("error: ").unwrap_or(&line).to_owned())
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, Answer> {
        let words = line.split_ascii_whitespace().map(OsString::from);
        parse(std::iter::once("pyro-agent".into()).chain(words))
    }

    const SHIP: &str = "ship --raw-dir /r --to file:///s --app a --executor 1 --host h";

    #[test]
    fn defaults_and_options() {
        let Ok(Command::Ship(options)) = parsed(SHIP) else {
            panic!("refused")
        };
        assert_eq!(options.shipping.every, Duration::from_secs(5));
        assert_eq!(
            (options.shipping.spool_mib, options.free, options.until_pid),
            (256, false, None)
        );
        assert!(!options.remove && !options.detach && options.probe.is_none());
        let line = format!("{SHIP} --every 0.5 --spool-mib 1 --until-pid 7 --free");
        let Ok(Command::Ship(options)) = parsed(&line) else {
            panic!("refused")
        };
        assert_eq!(options.shipping.every, Duration::from_millis(500));
        assert_eq!(
            (options.shipping.spool_mib, options.free, options.until_pid),
            (1, true, Some(7))
        );
        let line = "host --to file:///s --host h --work-dir /w --hz 5";
        let Ok(Command::Host(options)) = parsed(line) else {
            panic!("refused")
        };
        assert_eq!(
            (options.pace.hz, options.pace.budget, options.probe),
            (5, 1, None)
        );
        assert_eq!(options.pace.thread_counters, "none");
        assert_eq!(options.renew, Duration::from_secs(3600));
        assert_eq!(options.canary, Duration::from_secs(60));
        let Ok(Command::Host(options)) = parsed(&format!("{line} --canary 0")) else {
            panic!("refused")
        };
        assert!(options.canary.is_zero());
        assert!(matches!(
            parsed("executors --json"),
            Ok(Command::Executors(_))
        ));
        assert!(matches!(parsed("--help"), Err(Answer::Text(_))));
    }

    #[test]
    fn what_is_wrong_is_named_in_one_line() {
        for (line, word) in [
            ("", "a command is missing"),
            (
                "ship --raw-dir /r --to file:///s --app a --host h",
                "--executor",
            ),
            (&format!("{SHIP} --every 11"), "from 0.1 to 10"),
            (&format!("{SHIP} --every nan"), "from 0.1 to 10"),
            (&format!("{SHIP} --spool-mib 0"), "--spool-mib"),
            (&format!("{SHIP} --until-pid 0"), "--until-pid"),
            ("host --to file:///s --host h", "--work-dir"),
            (
                "host --to file:///s --host h --work-dir /w --budget 0",
                "--budget",
            ),
            (
                "host --to file:///s --host h --work-dir /w --renew 0",
                "from 0.02 to 1440",
            ),
            (
                "host --to file:///s --host h --work-dir /w --canary 0.5",
                "from 1 to 86400",
            ),
            (
                "host --to file:///s --host h --work-dir /w --canary nan",
                "from 1 to 86400",
            ),
            (&format!("{SHIP} --thread-counters some"), "hardware"),
            (&format!("{SHIP} --probe /p"), "--until-pid"),
            (&format!("{SHIP} --remove"), "--until-pid"),
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
