//! `executors`: prints who is here.

use serde_json::json;

use crate::args::ExecutorsOptions;
use crate::executors::{ProcTree, discover};
use crate::said::say;

/// Prints the executors and drivers of this host as JSON.
///
/// # Errors
/// If processes cannot be listed.
pub fn executors(options: &ExecutorsOptions) -> Result<(), String> {
    let tree = ProcTree::new(&options.proc);
    let at = |error| format!("{}: {error}", options.proc.display());
    let pids = tree.pids().map_err(at)?;
    let jvms: Vec<_> = pids.into_iter().filter_map(|pid| tree.jvm(pid)).collect();
    let found = json!({
        "schema": "pyrometer/executors/1",
        "executors": discover(&jvms),
    });
    say(&in_ascii(&found.to_string()))
}

/// The same JSON without characters that could mean something to a terminal: they are all in texts.
fn in_ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if matches!(character, ' '..='~') {
            text.push(character);
        } else {
            let units = character.encode_utf16(&mut [0; 2]).to_vec();
            text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::in_ascii;
    use serde_json::{Value, json};

    #[test]
    fn names_say_the_same_and_nothing_to_a_terminal() {
        let hostile = json!({"app": "a\u{9b}31m\u{202e}gpj.\u{7f}\n\"\\ é😀", "pid": 1});
        let text = in_ascii(&hostile.to_string());
        assert!(
            text.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), hostile);
    }
}
