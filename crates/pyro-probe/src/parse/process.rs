//! `/proc/PID/…` and `/proc/PID/task/TID/…`.

use super::counters::IoBytes;
use super::numbers::{Emit, name_value_lines, number};

/// `/proc/PID/task/TID/schedstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchedStat {
    /// CPU time since the thread's start (ns).
    pub run_ns: i64,
    /// Time on run queues since its start (ns).
    pub run_delay_ns: i64,
    /// Times it got a CPU.
    pub timeslices_count: i64,
}

/// Parses `schedstat`: three numbers.
pub fn schedstat(text: &str) -> Option<SchedStat> {
    let mut numbers = text.split_ascii_whitespace().map(number);
    Some(SchedStat {
        run_ns: numbers.next()??,
        run_delay_ns: numbers.next()??,
        timeslices_count: numbers.next()??,
    })
}

/// What we read of `/proc/PID/stat` or `/proc/PID/task/TID/stat`, in the kernel's units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat<'a> {
    /// Process or thread id.
    pub id: i64,
    /// Name, 15 bytes at most.
    pub comm: &'a str,
    /// State letter.
    pub state: &'a str,
    /// Parent process.
    pub parent_pid: i64,
    /// Session.
    pub session: i64,
    /// A thread of the kernel's own.
    pub of_the_kernel: bool,
    /// Minor faults.
    pub minor_faults_count: i64,
    /// Major faults.
    pub major_faults_count: i64,
    /// User time (ticks).
    pub user_ticks: i64,
    /// System time (ticks).
    pub system_ticks: i64,
    /// User time of children waited for (ticks).
    pub children_user_ticks: i64,
    /// System time of children waited for (ticks).
    pub children_system_ticks: i64,
    /// Threads.
    pub threads_count: i64,
    /// Start since boot (ticks).
    pub start_ticks: i64,
    /// Resident pages.
    pub rss_pages: i64,
    /// CPU it last ran on.
    pub cpu: i64,
}

/// Parses `stat`. The name stands in parentheses and may itself hold spaces and parentheses.
pub fn stat(text: &str) -> Option<Stat<'_>> {
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let id = number(text.get(..open)?.trim())?;
    let comm = text.get(open + 1..close)?;
    // Fields are numbered as in proc_pid_stat(5); the first one after the name is 3.
    let mut fields = [""; 53];
    for (slot, field) in fields[3..]
        .iter_mut()
        .zip(text.get(close + 1..)?.split_ascii_whitespace())
    {
        *slot = field;
    }
    /// Of `task_struct.flags` (linux/sched.h).
    const PF_KTHREAD: i64 = 0x0020_0000;
    let field = |index: usize| number(fields[index]);
    Some(Stat {
        id,
        comm,
        state: fields[3],
        parent_pid: field(4)?,
        session: field(6)?,
        of_the_kernel: field(9)? & PF_KTHREAD != 0,
        minor_faults_count: field(10)?,
        major_faults_count: field(12)?,
        user_ticks: field(14)?,
        system_ticks: field(15)?,
        children_user_ticks: field(16)?,
        children_system_ticks: field(17)?,
        threads_count: field(20)?,
        start_ticks: field(22)?,
        rss_pages: field(24)?,
        cpu: field(39)?,
    })
}

/// Where a thread entered the kernel, from `/proc/PID/task/TID/syscall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Number of the system call; `None` where it entered otherwise.
    pub number: Option<i64>,
    /// User stack pointer.
    pub user_sp: i64,
    /// User instruction pointer.
    pub user_pc: i64,
}

/// Parses `syscall`: number, arguments, stack and instruction pointer; `-1` and the pointers; or
/// `running`, which gives `None`.
pub fn syscall(text: &str) -> Option<Entry> {
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse::<i64>().ok()?;
    let mut from_end = words.rev();
    let mut pointer = || {
        let digits = from_end.next()?.strip_prefix("0x")?;
        u64::from_str_radix(digits, 16).ok().map(|at| at as i64)
    };
    let (user_pc, user_sp) = (pointer()?, pointer()?);
    Some(Entry {
        number: (number >= 0).then_some(number),
        user_sp,
        user_pc,
    })
}

/// Functions named by `/proc/PID/task/TID/stack`, leaf first: `[<0>] name+0x1/0x2 [module]` a line.
pub fn stack_symbols(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let frame = line.split_once("] ")?.1;
        let name = frame.split(['+', ' ']).next()?;
        (!name.is_empty()).then_some(name)
    })
}

/// Series of `/proc/PID/io`.
pub const IO: &[(&str, &str, i64)] = &[
    ("rchar", "rchar_bytes", 1),
    ("wchar", "wchar_bytes", 1),
    ("syscr", "read_calls_count", 1),
    ("syscw", "write_calls_count", 1),
    ("read_bytes", "read_bytes", 1),
    ("write_bytes", "written_bytes", 1),
    ("cancelled_write_bytes", "cancelled_write_bytes", 1),
];

/// Series of `/proc/PID/status`.
pub const STATUS: &[(&str, &str, i64)] = &[
    ("VmHWM", "rss_peak_bytes", 1024),
    ("RssAnon", "rss_anon_bytes", 1024),
    ("RssFile", "rss_file_bytes", 1024),
    ("RssShmem", "rss_shmem_bytes", 1024),
    ("VmSwap", "swap_bytes", 1024),
];

/// Parses `io`.
pub fn io(text: &str, emit: &mut Emit) {
    name_value_lines(text, IO, emit);
}

/// Parses `io` of a thread.
pub fn io_bytes(text: &str) -> IoBytes {
    let mut bytes = IoBytes::default();
    io(text, &mut |name, value| match name {
        "rchar_bytes" => bytes.rchar = Some(value),
        "wchar_bytes" => bytes.wchar = Some(value),
        "read_bytes" => bytes.read = Some(value),
        "written_bytes" => bytes.written = Some(value),
        _ => {}
    });
    bytes
}

/// Parses `status`.
pub fn status(text: &str, emit: &mut Emit) {
    name_value_lines(text, STATUS, emit);
}

/// Where a process stands in each control group hierarchy: (controllers, path), from `/proc/PID/cgroup`.
pub fn cgroups(text: &str) -> Vec<(&str, &str)> {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            parts.next()?;
            Some((parts.next()?, parts.next()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tests_support::collect;

    const STAT: &str = "13898 (a) b (c)) Z 13857 13854 7955 0 -1 4227148 326 7 1 8 12 17 5 6 20 0 3 0 153176 0 250 \
        18446744073709551615 0 0 0 0 0 0 0 16781312 2 1 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn stat_with_parentheses_in_the_name() {
        let stat = stat(STAT).unwrap();
        assert_eq!(
            (
                stat.id,
                stat.comm,
                stat.state,
                stat.parent_pid,
                stat.session
            ),
            (13898, "a) b (c)", "Z", 13857, 7955)
        );
        assert_eq!((stat.minor_faults_count, stat.major_faults_count), (326, 1));
        assert_eq!((stat.user_ticks, stat.system_ticks), (12, 17));
        assert_eq!(
            (stat.children_user_ticks, stat.children_system_ticks),
            (5, 6)
        );
        assert_eq!(
            (
                stat.threads_count,
                stat.start_ticks,
                stat.rss_pages,
                stat.cpu
            ),
            (3, 153176, 250, 1)
        );
    }

    #[test]
    fn a_cut_stat_is_refused_not_guessed() {
        for end in 0..STAT.len() - 60 {
            if let Some(parsed) = stat(&STAT[..end]) {
                assert_eq!(parsed.id, 13898, "cut at {end}");
                assert!(
                    end > STAT.find("17 1 0 0").unwrap(),
                    "cut at {end} lacks the CPU"
                );
            }
        }
        assert!(stat("1 )x( R 1").is_none());
    }

    #[test]
    fn schedstat_needs_three_numbers() {
        let expected = SchedStat {
            run_ns: 1421135,
            run_delay_ns: 227108,
            timeslices_count: 7,
        };
        assert_eq!(schedstat("1421135 227108 7\n"), Some(expected));
        assert_eq!(schedstat("1421135 227108"), None);
        assert_eq!(schedstat(""), None);
        assert_eq!(schedstat("a b c"), None);
    }

    #[test]
    fn entries_into_the_kernel() {
        let text = "202 0x7f1 0x189 0x0 0x0 0x0 0xffffffff 0x7ffc5e 0x7f22f\n";
        let entry = syscall(text).unwrap();
        assert_eq!(entry.number, Some(202));
        assert_eq!((entry.user_sp, entry.user_pc), (0x7f_fc5e, 0x7f22f));
        let fault = syscall("-1 0x7ffc5e 0x7f22f\n").unwrap();
        assert_eq!((fault.number, fault.user_pc), (None, 0x7f22f));
        for other in ["running\n", "", "202", "202 0x1", "202 1 2"] {
            assert_eq!(syscall(other), None, "{other}");
        }
    }

    #[test]
    fn frames_of_a_stack() {
        let text = "[<0>] futex_wait_queue+0x66/0x90\n[<0>] nfs_wait+0x1/0x2 [nfs]\n[<0>] do_syscall_64\nrubbish\n";
        let frames: Vec<_> = stack_symbols(text).collect();
        assert_eq!(frames, ["futex_wait_queue", "nfs_wait", "do_syscall_64"]);
    }

    #[test]
    fn io_and_status() {
        let text = "rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        let got = collect(|emit| io(text, emit));
        assert_eq!(got["rchar_bytes"], 10);
        assert_eq!(got["written_bytes"], 8192);
        let bytes = io_bytes(text);
        assert_eq!((bytes.rchar, bytes.wchar), (Some(10), Some(20)));
        assert_eq!((bytes.read, bytes.written), (Some(4096), Some(8192)));
        assert_eq!(io_bytes("").read, None);
        assert_eq!(got.len(), IO.len());
        let got = collect(|emit| status("Name:\tjava\nVmHWM:\t  2048 kB\nVmSwap:\t 4 kB\n", emit));
        assert_eq!(
            (got["rss_peak_bytes"], got["swap_bytes"], got.len()),
            (2 << 20, 4096, 2)
        );
    }

    #[test]
    fn cgroup_lines() {
        let text = "9:name=systemd:/\n4:memory:/a:b\n2:cpu,cpuacct:/x\n0::/user.slice\nrubbish";
        let expected = vec![
            ("name=systemd", "/"),
            ("memory", "/a:b"),
            ("cpu,cpuacct", "/x"),
            ("", "/user.slice"),
        ];
        assert_eq!(cgroups(text), expected);
    }
}
