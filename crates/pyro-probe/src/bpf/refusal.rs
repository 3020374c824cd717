//! Why there is no BPF here.

/// Why there is no BPF here, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was tried and what came of it.
    pub reason: String,
    /// What would help.
    pub remedy: &'static str,
}

/// What precedes the verifier's log in an error of the loader.
const VERIFIER: &str = ". Verifier output:";

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
    match reason.split_once(VERIFIER) {
        Some((call, log)) if !log.trim().is_empty() => Refusal {
            reason: format!("{call}; the kernel's verifier: {}", verdict(log)),
            remedy: "Use Linux 6.1 or later. Where it is: report its version, and this sentence.",
        },
        None if reason.starts_with("error relocating") => Refusal {
            reason: reason.lines().next().unwrap_or_default().to_owned(),
            remedy: "The program does not fit this kernel: report its version, and this sentence.",
        },
        parted => Refusal {
            reason: parted.map_or(reason.as_str(), |(call, _)| call).to_owned(),
            remedy: "Run as root, or: setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog+ep on pyro-probe.",
        },
    }
}

/// The line of a verifier's log that says what it does not take: the last before its statistics.
fn verdict(log: &str) -> &str {
    let statistics = ["verification time ", "stack depth ", "processed "];
    let lines = log.lines().map(str::trim);
    let mut said =
        lines.filter(|line| !line.is_empty() && !statistics.iter().any(|s| line.starts_with(s)));
    said.next_back().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "the BPF_PROG_LOAD syscall returned Permission denied (os error 13). Verifier output: \
        reg type unsupported for arg#0 function follow#91\n0: R1=ctx(off=0,imm=0) R10=fp0\n\
        7: (85) call bpf_task_storage_get#156\nR2 type=ptr_or_null_ expected=ptr_\n\
        verification time 287 usec\nstack depth 0\nprocessed 7 insns (limit 1000000)\n\n";

    #[test]
    fn what_the_verifier_does_not_take_is_named_and_is_no_question_of_rights() {
        let Refusal { reason, remedy } = refused(std::io::Error::other(LOG));
        assert_eq!(
            reason,
            "the BPF_PROG_LOAD syscall returned Permission denied (os error 13); the kernel's \
             verifier: R2 type=ptr_or_null_ expected=ptr_"
        );
        assert!(
            remedy.contains("Linux 6.1") && !remedy.contains("root"),
            "{remedy}"
        );
    }

    #[test]
    fn what_does_not_fit_the_kernel_is_no_question_of_rights() {
        let text =
            "error relocating section: original type int has size 4 but target type has size 1";
        let Refusal { reason, remedy } = refused(std::io::Error::other(text));
        assert_eq!(reason, text);
        assert!(remedy.contains("report"), "{remedy}");
    }

    #[test]
    fn what_may_not_be_loaded_needs_rights() {
        let text = "the BPF_PROG_LOAD syscall returned Operation not permitted (os error 1). Verifier output: ";
        for text in [text, "Operation not permitted (os error 1)"] {
            let Refusal { reason, remedy } = refused(std::io::Error::other(text));
            assert!(!reason.contains("erifier"), "{reason}");
            assert!(remedy.starts_with("Run as root"), "{remedy}");
        }
    }
}
