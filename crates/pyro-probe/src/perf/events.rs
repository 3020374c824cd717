//! The counters of threads: which are tried, in which groups, and what came of it.

use std::io;

use serde_json::{Value, json};

use crate::perf::format::Config;
use crate::perf::kernel::{Attr, Kernel, Target, refusal};
use crate::perf::sysfs::Sysfs;

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CACHE: u32 = 3;

/// A counter as it is opened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// Name, as `perf list` has it: docs/reference/counters.md.
    pub name: &'static str,
    /// What to count.
    pub attr: Attr,
    /// What a count is worth: `.scale` of events whose unit is a count.
    pub factor: f64,
}

/// Events that are on the hardware together, so that their ratios are of the same moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The first is the leader.
    pub events: Vec<Event>,
    /// Read in every pass in which the thread ran; the others in slow passes.
    pub fast: bool,
}

/// `PERF_COUNT_SW_*`.
const OF_THE_KERNEL: [(&str, u64); 4] = [
    ("task-clock", 1),
    ("context-switches", 3),
    ("cpu-migrations", 4),
    ("page-faults", 2),
];
/// Of them, those that only happen in the kernel.
const OF_THE_SCHEDULER: [u64; 2] = [3, 4];

/// A cache of `PERF_TYPE_HW_CACHE`, reads of it, hits and misses or misses only.
const fn cache(id: u64, misses: bool) -> (u32, u64) {
    (CACHE, id | (misses as u64) << 16)
}

type Generic = (&'static str, (u32, u64));

/// `PERF_COUNT_HW_*` and caches. The first group is always on the hardware, the others take turns.
const OF_THE_CORE: [&[Generic]; 6] = [
    &[("cycles", (HARDWARE, 0)), ("instructions", (HARDWARE, 1))],
    &[
        ("branches", (HARDWARE, 4)),
        ("branch-misses", (HARDWARE, 5)),
    ],
    &[
        ("LLC-loads", cache(2, false)),
        ("LLC-load-misses", cache(2, true)),
    ],
    &[
        ("L1-dcache-loads", cache(0, false)),
        ("L1-dcache-load-misses", cache(0, true)),
    ],
    &[
        ("stalled-cycles-frontend", (HARDWARE, 7)),
        ("stalled-cycles-backend", (HARDWARE, 8)),
    ],
    &[
        ("node-loads", cache(6, false)),
        ("node-load-misses", cache(6, true)),
    ],
];

/// Slots of the pipeline by what became of them, where the PMU names such events: Intel since Ice
/// Lake, Intel before, Arm.
const TOPDOWN: [&[&str]; 3] = [
    &[
        "slots",
        "topdown-retiring",
        "topdown-bad-spec",
        "topdown-fe-bound",
        "topdown-be-bound",
    ],
    &[
        "topdown-total-slots",
        "topdown-slots-issued",
        "topdown-slots-retired",
        "topdown-fetch-bubbles",
        "topdown-recovery-bubbles",
    ],
    &["stall_frontend", "stall_backend"],
];

fn event(name: &'static str, kind: u32, config: Config) -> Event {
    let attr = Attr {
        kind,
        config,
        ..Attr::default()
    };
    Event {
        name,
        attr,
        factor: 1.0,
    }
}

/// All groups that may be opened here, those of the kernel first.
pub fn catalogue(sysfs: &Sysfs) -> Vec<Group> {
    let mut groups = vec![Group {
        events: OF_THE_KERNEL
            .map(|(name, number)| event(name, SOFTWARE, [number, 0, 0]))
            .to_vec(),
        fast: false,
    }];
    for (index, names) in OF_THE_CORE.iter().enumerate() {
        let fixed = index == 0;
        let mut events: Vec<Event> = names
            .iter()
            .map(|&(name, (kind, number))| event(name, kind, [number, 0, 0]))
            .collect();
        events[0].attr.pinned = fixed;
        groups.push(Group {
            events,
            fast: fixed,
        });
    }
    let core = sysfs
        .core_device()
        .and_then(|core| Some((sysfs.kind(&core)?, core)));
    if let Some((kind, core)) = core {
        groups.extend(TOPDOWN.iter().filter_map(|names| {
            let events: Option<Vec<Event>> = names
                .iter()
                .map(|&name| {
                    let named = sysfs.event(&core, name)?;
                    let factor = named.scale.unwrap_or(1.0);
                    Some(Event {
                        factor,
                        ..event(name, kind, named.config)
                    })
                })
                .collect();
            Some(Group {
                events: events?,
                fast: false,
            })
        }));
    }
    groups
}

/// Which counters threads get. Any costs them at every switch: 1.6 µs more where a switch took 2.1 µs
/// (`benchmarks/switches.py`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfThreads {
    /// None: threads run as if nobody looked.
    None,
    /// Those of the hardware with the kernel's own, or none where the hardware shows none: what the kernel's own say
    /// is in the threads' records, too.
    WithHardware,
    /// All that can be had.
    All,
}

/// What came of trying an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Name of the event.
    pub name: &'static str,
    /// Of the kernel's own, which need no PMU.
    pub software: bool,
    /// `None`: it counts. Else why not, and what to do.
    pub refused: Option<(String, &'static str)>,
    /// It counts in programs only, as the kernel may not be counted.
    pub user_only: bool,
}

impl Tried {
    /// For the report.
    pub fn to_json(&self) -> Value {
        json!({
            "event": self.name,
            "kind": if self.software { "software" } else { "hardware" },
            "counted": self.refused.is_none(),
            "user_only": self.user_only,
            "reason": self.refused.as_ref().map(|refused| &refused.0),
            "remedy": self.refused.as_ref().map(|refused| refused.1),
        })
    }
}

/// Why threads get no counters although some can be had, and what to do; `None`: they get what can be had.
pub fn spared(tried: &[Tried], of_threads: OfThreads) -> Option<(String, &'static str)> {
    let hardware = |one: &Tried| !one.software && one.refused.is_none();
    match of_threads {
        OfThreads::All => None,
        OfThreads::WithHardware if tried.iter().any(hardware) => None,
        OfThreads::WithHardware => Some((
            "no hardware counter can be had, and the kernel's own alone would slow every switch of a thread down".to_owned(),
            "Use a machine type that shows a PMU to its guests, or bare metal.",
        )),
        OfThreads::None => Some((
            "counters slow every switch of a thread down, and were not asked for".to_owned(),
            "Ask for them: --profile full.",
        )),
    }
}

/// Opens every event once, on this thread: the groups that can be had, and what came of each event.
pub fn try_out<K: Kernel>(kernel: &mut K, catalogue: Vec<Group>) -> (Vec<Group>, Vec<Tried>) {
    let (mut groups, mut tried) = (Vec::new(), Vec::new());
    let mut user_only = false;
    for group in catalogue {
        let mut leader: Option<K::Handle> = None;
        let (mut members, mut alone) = (Vec::new(), Vec::new());
        let mut events = Vec::new();
        for mut event in group.events {
            event.attr.user_only = user_only;
            let software = event.attr.kind == SOFTWARE;
            if user_only && software && OF_THE_SCHEDULER.contains(&event.attr.config[0]) {
                // They would open and stand at zero: what they count happens in the kernel.
                let (reason, remedy) = refusal(&io::Error::from_raw_os_error(libc::EACCES), false);
                let refused = Some((reason, remedy));
                tried.push(Tried {
                    name: event.name,
                    software,
                    refused,
                    user_only: false,
                });
                continue;
            }
            let mut opened = kernel.open(&event.attr, Target::Thread(0), leader.as_ref());
            let denied = |error: &io::Error| {
                matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
            };
            if !user_only && leader.is_none() && opened.as_ref().is_err_and(denied) {
                event.attr.user_only = true;
                opened = kernel.open(&event.attr, Target::Thread(0), None);
                user_only = opened.is_ok();
            }
            // A group of more than the PMU can count at once: by itself, then.
            let too_many = opened
                .as_ref()
                .is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL));
            if too_many && leader.is_some() {
                opened = kernel.open(&event.attr, Target::Thread(0), None);
                if opened.is_ok() {
                    alone.push(event);
                }
            } else if opened.is_ok() {
                events.push(event);
            }
            tried.push(Tried {
                name: event.name,
                software,
                refused: opened.as_ref().err().map(|error| refusal(error, !software)),
                user_only: opened.is_ok() && event.attr.user_only,
            });
            if let Ok(handle) = opened {
                match leader {
                    None => leader = Some(handle),
                    Some(_) => members.push(handle),
                }
            }
        }
        let fast = group.fast;
        groups.extend((!events.is_empty()).then_some(Group { events, fast }));
        groups.extend(alone.into_iter().map(|event| Group {
            events: vec![event],
            fast,
        }));
    }
    (groups, tried)
}
