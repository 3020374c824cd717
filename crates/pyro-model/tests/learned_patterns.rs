//! Patterns of the user's own. A process of its own: it has learnt them for good.

use pyro_model::{learn, redactor};

#[test]
fn names_and_texts_of_the_user_are_struck_from_then_on() {
    let redact = |text: &str| redactor().text(text).into_owned();
    let conf = "--conf my.plum=x1 {\"plum\": 5} a.b: c plum: y ?plum=z&a=1 (\"plum\", \"w\")";
    assert_eq!(redact(conf), conf);
    assert!(learn(Some("(?i)PLUM|^only$|(ta)(rt)"), Some("card [0-9]+")));
    let gone = "*********(redacted)";
    assert_eq!(
        redact(conf),
        format!(
            "--conf my.plum={gone} {{\"plum\": \"{gone}\"}} a.b: c plum: {gone} \
             ?plum={gone}&a=1 (\"plum\", \"{gone}\")"
        )
    );
    assert_eq!(
        redact("only=1 lonely=2 tart=3"),
        format!("only={gone} lonely=2 tart={gone}")
    );
    for before in [
        "java.io.IOException: ",
        "a=",
        "a: b=",
        "conf='a=",
        "a%3D",
        "a -> ",
    ] {
        assert_eq!(
            redact(&format!("{before}plum=x")),
            format!("{before}plum={gone}")
        );
    }
    assert_eq!(redact("--a -plum x"), format!("--a -plum {gone}"));
    assert_eq!(redact("-Da=-Dplum=x&y;z"), format!("-Da=-Dplum={gone}"));
    assert_eq!(
        redact(r#"s = "a: plum=\"x \\\"y\" b""#),
        format!(r#"s = "a: plum=\"{gone}\" b""#)
    );
    assert_eq!(redact("card 12 card x"), format!("{gone} card x"));
    let pattern = "spark.redaction.regex=(?i)PLUM|^only$|(ta)(rt)";
    assert_eq!(redact(pattern), pattern);
    assert!(
        learn(Some("(?i)PLUM|^only$|(ta)(rt)"), None),
        "known already"
    );
    assert!(!learn(Some("(?=x)"), None), "what only Java understands");
    assert!(!learn(None, Some("((")));
}
