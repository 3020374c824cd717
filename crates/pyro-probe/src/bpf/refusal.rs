//! Why there is no BPF here.

/// Why there is no BPF here, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was tried and what came of it.
    pub reason: String,
    /// What would help.
    pub remedy: &'static str,
}

/// An object that lacks what the probe looks for in it.
pub fn damaged() -> Refusal {
    Refusal {
        reason: "a program or a map is not in its object".to_owned(),
        remedy: "Build the probe again.",
    }
}

/// What the kernel said to loading or attaching a program.
pub fn refused(error: impl std::error::Error) -> Refusal {
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let why = error.to_string();
        if !reason.contains(&why) {
            reason = format!("{reason}: {why}");
        }
        cause = error.source();
    }
    // The verifier's log follows its verdict.
    let reason = reason.lines().next().unwrap_or_default().to_owned();
    Refusal {
        reason,
        remedy: "Run as root, or: setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog+ep on pyro-probe.",
    }
}
