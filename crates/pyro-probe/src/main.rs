//! `pyro-probe`: threads of given processes and host series, sampled.

mod annotate;
mod args;
mod bpf;
mod card;
mod energy;
mod events;
mod host;
mod kernel_stacks;
mod kernel_threads;
mod output;
mod outputs;
mod parse;
mod perf;
mod processes;
mod reads;
mod record;
mod report;
mod rows;
mod schedule;
mod series;
mod setting;
mod slot;
mod states;
mod symbols;
mod sys;
mod syscalls;
mod taskstats;
mod threads;
mod tier;
mod tiers;

use std::process::ExitCode;

use args::Command;

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)) {
        Ok(Command::Record(options)) => match record::record(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("pyro-probe: {error}");
                ExitCode::FAILURE
            }
        },
        Ok(Command::Annotate { text, pid }) => match annotate::once(&text, pid) {
            Ok(told) => {
                println!("{told}");
                ExitCode::SUCCESS
            }
            Err(message) => {
                eprintln!("pyro-probe: {message}");
                ExitCode::from(2)
            }
        },
        Ok(Command::Tiers) => {
            println!("{}", tiers::report());
            ExitCode::SUCCESS
        }
        Ok(Command::Card) => {
            println!("{}", card::report());
            ExitCode::SUCCESS
        }
        Ok(Command::Canary) => {
            println!("{}", card::canary());
            ExitCode::SUCCESS
        }
        Ok(Command::Version) => {
            println!("pyro-probe {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Ok(Command::Help) => {
            println!("{}", args::USAGE);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("pyro-probe: {message}\n{}", args::USAGE);
            ExitCode::from(2)
        }
    }
}
