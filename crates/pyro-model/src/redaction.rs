//! Strikes secrets out of texts, by the rules of `schema/redaction.toml`: those of the Python
//! redactor (`pyrometer.core.redaction`), to which tests hold this one equal.

mod learned;
mod redactor;
mod rules;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, RwLock};

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::DataType;

pub use redactor::Redactor;

static ONE: LazyLock<RwLock<Arc<Redactor>>> = LazyLock::new(|| {
    let made = Redactor::new().expect("patterns of schema/redaction.toml compile");
    RwLock::new(Arc::new(made))
});

/// The redactor of this process.
pub fn redactor() -> Arc<Redactor> {
    let one = ONE.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    Arc::clone(&one)
}

/// Teaches this process's redactor what else is secret, from here on and in whatever it reads: in
/// texts, and under names of settings. Spark means Java's patterns: what only Java understands
/// (look-around, references back) is passed over, as is what comes after 64 of them.
///
/// Returns whether both are known now.
pub fn learn(names: Option<&str>, texts: Option<&str>) -> bool {
    let mut known = true;
    for (pattern, of_names) in [(names, true), (texts, false)] {
        let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else {
            continue;
        };
        let mut one = ONE.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if one.knows(pattern, of_names) {
            continue;
        }
        match one.with(pattern, of_names) {
            Some(more) => *one = Arc::new(more),
            None => known = false,
        }
    }
    known
}

/// The batch without secrets in its columns of strings; `None` where it has none.
pub(crate) fn redacted(batch: &RecordBatch) -> Option<RecordBatch> {
    let mut columns = Vec::new();
    for (position, column) in batch.columns().iter().enumerate() {
        let made = match column.data_type() {
            DataType::Utf8 => strings(column.as_string::<i32>()),
            DataType::Dictionary(..) => dictionary(column),
            _ => None,
        };
        columns.extend(made.map(|made| (position, made)));
    }
    if columns.is_empty() {
        return None;
    }
    let mut all = batch.columns().to_vec();
    for (position, column) in columns {
        all[position] = column;
    }
    RecordBatch::try_new(batch.schema(), all).ok()
}

fn dictionary(column: &ArrayRef) -> Option<ArrayRef> {
    let words = column.as_dictionary_opt::<Int32Type>()?;
    let made = strings(words.values().as_string_opt::<i32>()?)?;
    Some(Arc::new(words.with_values(made)))
}

fn strings(column: &StringArray) -> Option<ArrayRef> {
    let redactor = redactor();
    let (first, last) = (
        column.value_offsets().first()?,
        column.value_offsets().last()?,
    );
    // All values at once: few columns hold any word that a secret could stand beside.
    let all = &column.value_data()[*first as usize..*last as usize];
    if !redactor.suspects(all) {
        return None;
    }
    let mut made = StringBuilder::with_capacity(column.len(), all.len());
    let mut changed = false;
    for value in column {
        let kept = value.map(|value| redactor.text(value));
        changed |= matches!(kept, Some(Cow::Owned(_)));
        made.append_option(kept);
    }
    changed.then(|| Arc::new(made.finish()) as ArrayRef)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_struck_is_hinted_at() {
        let text = "x://u:p@h sig=a jdbc:oracle:thin:a/b@c fs.sas: 'x' --api-key v (\"auth.header\", \"b\")";
        for part in text.split(' ') {
            assert!(redactor().suspects(part.as_bytes()) || !part.contains([':', '=']));
        }
        assert!(!redactor().suspects(b"Scan parquet [a#1,b#2] Batched: true, Location: /data/x"));
    }

    #[test]
    fn all_of_an_options_word_is_its_value() {
        let text = r#"-Dmy.password=ab&cd;ef "-Da.token=two words" -Dy=1"#;
        assert_eq!(
            redactor().text(text),
            r#"-Dmy.password=*********(redacted) "-Da.token=*********(redacted)" -Dy=1"#
        );
    }

    #[test]
    fn places_and_programs_say_what_is_secret() {
        let gone = "*********(redacted)";
        for text in [
            "curl -u bob:SECRET",
            "mysql -pSECRET",
            "my.pass=SECRET",
            "token%3DSECRET%26a",
            "<password>SECRET</password>",
            "?key=SECRET",
            "password: |\n  SECRET\nuser: bob",
            "IDENTIFIED BY 'SECRET'",
        ] {
            let told = text.replace("SECRET", "hunter2x");
            assert_eq!(redactor().text(&told), text.replace("SECRET", gone));
        }
        let dashed = redactor()
            .text("--password -hunter2x --host h")
            .into_owned();
        assert_eq!(dashed, format!("--password {gone} --host h"));
        let harmless = "sort -u a:b --user alice -p8080 pass=2 keys=[key#1] (key = 5) code=1";
        assert_eq!(redactor().text(harmless), harmless);
    }

    #[test]
    fn json_stays_json_and_lines_stay_lines() {
        let redact = |text| redactor().text(text).into_owned();
        assert_eq!(
            redact(r#"{"password":5,"a":"{\"token\":\"x\"}","b":"c"}"#),
            r#"{"password":"*********(redacted)","a":"{\"token\":\"*********(redacted)\"}","b":"c"}"#
        );
        let key = "a\n-----BEGIN PRIVATE KEY-----\nMII\nEvQ\n-----END PRIVATE KEY-----\nb";
        assert_eq!(redact(key), "a\n*********(redacted)\n\n\n\nb");
    }
}
