//! `pyro-probe`: threads of given processes and host series, sampled.

mod annotate;
mod args;
mod bpf;
mod card;
mod events;
mod host;
mod kernel_stacks;
mod output;
mod parse;
mod perf;
mod processes;
mod record;
mod rows;
mod slot;
mod sys;
mod syscalls;
mod taskstats;
mod threads;
mod tiers;

use std::io::Write as _;
use std::process::ExitCode;

use args::{Answer, Command};

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)) {
        Ok(Command::Record(options)) => ended(record::record(&options)),
        Ok(Command::Guard { pid }) => ended(taskstats::guard(pid)),
        Ok(Command::Annotate { text, pid }) => match annotate::once(&text, pid) {
            Ok(found) => print(&found),
            Err(message) => {
                eprintln!("pyro-probe: {message}");
                ExitCode::from(2)
            }
        },
        Ok(Command::Tiers(_)) => print(&tiers::report()),
        Ok(Command::Card(_)) => match card::report() {
            Ok(found) => print(&found),
            Err(message) => ended(Err(std::io::Error::other(message))),
        },
        Ok(Command::Canary(_)) => print(&card::canary()),
        Err(Answer::Text(text)) => print(&text),
        Err(Answer::Wrong(message)) => {
            eprintln!("pyro-probe: {message}\n{}", args::usage());
            ExitCode::from(2)
        }
    }
}

fn ended(done: std::io::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pyro-probe: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whoever reads may have read enough: that is no failure of ours.
fn print(what: &impl std::fmt::Display) -> ExitCode {
    match writeln!(std::io::stdout().lock(), "{what}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ended(Err(error)),
        _ => ExitCode::SUCCESS,
    }
}
