//! Errors of tasks, which are long, and name secrets.

use super::*;

const GONE: &str = "*********(redacted)";

/// The error of a task that failed with a message.
fn error(message: &str) -> Value {
    let reason = json!({"Reason": "ExceptionFailure", "Description": message});
    let ingested = ingest_text(&lines(&[task_end(0, reason, json!([]))]));
    ingested.rows("tasks")[0]["error"].clone()
}

fn words(characters: usize) -> String {
    "a word ".chars().cycle().take(characters).collect()
}

#[test]
fn what_stands_before_a_long_secret_is_kept() {
    for before in [0, 100, 1900] {
        let (before, key) = (words(before), "k3y".repeat(1000));
        let told = error(&format!("{before} password={key}, and more"));
        assert_eq!(told, format!("{before} password={GONE}"));
    }
}

#[test]
fn what_may_be_half_a_secret_is_not_kept() {
    let (text, key) = (words(3000), "k3y".repeat(400));
    assert_eq!(error(&text), text[..2000]);
    // Its end, which tells it, stands behind what is read.
    let half = format!("jdbc:oracle:thin:me/{}@host", "SECRET".repeat(20));
    let before = words(1099);
    let told = error(&format!("password={key} {before}{half}"));
    let kept = format!("password={GONE} {before}").len() + 91 - 400;
    assert_eq!(told, format!("password={GONE} {before}")[..kept]);
    // Its end stands behind what is kept, and is read.
    let before = words(1946);
    let told = error(&format!("{before}{half}"));
    assert_eq!(told, format!("{before}jdbc:oracle:thin:me/{GONE}@host"));
}
