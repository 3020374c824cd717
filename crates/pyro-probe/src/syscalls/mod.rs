//! Names of system calls: `<architecture>.txt` holds the numbers of the kernel's headers.

use std::borrow::Cow;
use std::sync::LazyLock;

#[cfg(target_arch = "aarch64")]
const TABLE: &str = include_str!("aarch64.txt");
#[cfg(target_arch = "x86_64")]
const TABLE: &str = include_str!("x86_64.txt");
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
const TABLE: &str = "";

/// Name of a system call, or its number where it has none here.
pub fn name(number: i64) -> Cow<'static, str> {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| names(TABLE));
    let named = usize::try_from(number).ok().and_then(|n| NAMES.get(n));
    match named {
        Some(name) if !name.is_empty() => Cow::Borrowed(name),
        _ => Cow::Owned(number.to_string()),
    }
}

/// Names by number; empty where a number has none.
fn names(table: &'static str) -> Vec<&'static str> {
    let mut names = Vec::new();
    for line in table.lines() {
        let Some((number, name)) = line.split_once(' ') else {
            continue;
        };
        if let Ok(number) = number.parse::<usize>() {
            names.resize(names.len().max(number + 1), "");
            names[number] = name;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_calls_have_their_names() {
        assert_eq!(name(libc::SYS_futex), "futex");
        assert_eq!(name(libc::SYS_pread64), "pread64");
        assert_eq!(name(libc::SYS_epoll_pwait), "epoll_pwait");
        assert_eq!(name(libc::SYS_clone3), "clone3");
        assert_eq!(name(9999), "9999");
        assert_eq!(name(-1), "-1");
    }

    #[test]
    fn both_tables_name_each_number_once() {
        for (table, futex) in [
            (include_str!("aarch64.txt"), 98),
            (include_str!("x86_64.txt"), 202),
        ] {
            let names = names(table);
            assert_eq!(names[futex], "futex");
            let named = names.iter().filter(|name| !name.is_empty());
            assert_eq!(named.count(), table.lines().count());
        }
    }
}
