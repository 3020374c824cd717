use super::*;
use crate::Rules;

fn said(waits: &Waits, java: &str) -> Option<u16> {
    waits.frames_say(java.split_whitespace().map(|frame| waits.frame(frame)))
}

/// Every rule's example is decided by it and by none before it.
#[test]
fn every_rule_decides_its_example() {
    let waits = Rules::embedded().waits();
    for (number, rule) in waits.rules.iter().enumerate() {
        let example = &rule.example;
        let moment = Moment {
            state: &example.state,
            io_wait: example.io_wait,
            syscall: &example.syscall,
            kernel: &example.kernel,
            frames: said(waits, &example.java),
            role: &example.role,
            task: example.task,
            paused: example.paused,
        };
        assert_eq!(
            waits.rule(&moment),
            Some(number),
            "example of rule {number}, {}: {example:?}",
            waits.classes[rule.class]
        );
    }
}

/// A class that no rule can give, or no frame, is a mistake in the file.
#[test]
fn every_class_has_a_rule() {
    let waits = Rules::embedded().waits();
    for (number, name) in waits.classes.iter().enumerate() {
        let ruled = waits.rules.iter().any(|rule| rule.class == number);
        assert_eq!(ruled, name != UNCLASSIFIED, "{name}");
    }
    for (class, _) in &waits.frames {
        assert!(waits.rules.iter().any(|rule| rule.class == *class));
    }
}

/// A monitor of Java has the name of one of the JVM's own in it.
#[test]
fn who_waits_on_a_java_monitor_is_not_idle() {
    let waits = Rules::embedded().waits();
    let class = |java: &str| waits.class_of_frames(said(waits, java)).to_owned();
    let park = "libc.so.6!___pthread_cond_wait libjvm.so!os::PlatformEvent::park";
    assert_eq!(
        class(&format!(
            "{park} libjvm.so!ObjectMonitor::wait java.lang.Object.wait org.apache.spark.util.KeyLock.acquireLock"
        )),
        "lock"
    );
    for own in ["Monitor::wait", "PlatformMonitor::wait", "VMThread::run"] {
        assert_eq!(
            class(&format!("libc.so.6!pthread_cond_wait libjvm.so!{own}")),
            "idle"
        );
    }
}

/// Where nothing but frames is known of a task, rules say what the frames say.
#[test]
fn frames_alone_give_the_class_that_a_profile_gives() {
    let waits = Rules::embedded().waits();
    for group in 0..waits.frames.len() as u16 {
        let moment = Moment {
            state: "sleeping",
            role: "task",
            task: true,
            frames: Some(group),
            ..Moment::default()
        };
        assert_eq!(waits.class(&moment), waits.class_of_frames(Some(group)));
    }
}

#[test]
fn the_first_rule_that_holds_decides() {
    let waits = Rules::embedded().waits();
    let task = Moment {
        state: "sleeping",
        role: "task",
        task: true,
        ..Moment::default()
    };
    let monitor = said(waits, "libjvm.so!ObjectMonitor::enter Burn.work");
    let file = said(waits, "java.io.FileInputStream.readBytes a.B.c");
    let cases = [
        // A pause takes who waits on a futex, not who is inside a read.
        (
            "gc_or_safepoint",
            Moment {
                paused: true,
                frames: monitor,
                kernel: "do_futex;futex_wait",
                ..task
            },
        ),
        (
            "block_io",
            Moment {
                paused: true,
                state: "disk",
                frames: file,
                kernel: "vfs_read;filemap_read;folio_wait_bit_common;io_schedule",
                ..task
            },
        ),
        // A read that the control group holds back.
        (
            "block_io",
            Moment {
                state: "disk",
                io_wait: Some(true),
                frames: file,
                ..task
            },
        ),
        // What the kernel waits for goes before what the frames say.
        (
            "reclaim",
            Moment {
                state: "disk",
                io_wait: Some(true),
                frames: file,
                kernel: "vfs_read;page_cache_ra_unbounded;try_to_free_pages;io_schedule_timeout",
                ..task
            },
        ),
        (
            "lock",
            Moment {
                frames: monitor,
                ..task
            },
        ),
        // A futex by itself may be anything: it is not guessed.
        (
            "unclassified",
            Moment {
                syscall: "futex",
                kernel: "do_futex;futex_wait",
                ..task
            },
        ),
        (
            "unclassified",
            Moment {
                state: "stopped",
                ..task
            },
        ),
    ];
    for (class, moment) in cases {
        assert_eq!(waits.class(&moment), class, "{moment:?}");
    }
}

#[test]
fn mistakes_in_the_file_are_named() {
    let rule = |text: &str| {
        format!(
            "version = 1\nclass = [{{name = 'unclassified', doc = ''}}]\nframes = []\nrule = [{text}]"
        )
    };
    let mistake = |text: &str| Waits::parse(&rule(text)).err().unwrap_or_default();
    let example = "source = '', example = { state = 'sleeping' }";
    assert_eq!(
        mistake(&format!("{{class = 'unclassified', {example}}}")),
        ""
    );
    assert!(mistake(&format!("{{class = 'nope', {example}}}")).contains("nope"));
    assert!(mistake("{class = 'unclassified', source = ''}").contains("example"));
    assert!(
        mistake(&format!(
            "{{class = 'unclassified', kernle = 'x', {example}}}"
        ))
        .contains("kernle")
    );
    assert!(
        mistake(&format!(
            "{{class = 'unclassified', kernel = '(', {example}}}"
        ))
        .contains("unclosed group")
    );
    assert!(
        mistake(&format!(
            "{{class = 'unclassified', frames = ['nope'], {example}}}"
        ))
        .contains("nope")
    );
}
