//! `pyro-agent`: finds the executors of a host, records them, and ships what was recorded.

use std::process::ExitCode;

use pyro_agent::args::{self, Answer, Command};
use pyro_agent::{said, verbs};

fn main() -> ExitCode {
    let done = match args::parse(std::env::args_os()) {
        Ok(Command::Ship(options)) => verbs::ship(&options),
        Ok(Command::Host(options)) => verbs::host(&options),
        Ok(Command::Executors(options)) => verbs::executors(&options),
        Err(Answer::Text(text)) => said::say(&text),
        Err(Answer::Wrong(message)) => {
            eprintln!("pyro-agent: {message}\nTry pyro-agent --help");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("pyro-agent: {message}");
            ExitCode::FAILURE
        }
    }
}
