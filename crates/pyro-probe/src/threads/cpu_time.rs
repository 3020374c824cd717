//! User and system time of a thread, from ticks and an exact sum.

/// What was said before: neither time may shrink.
#[derive(Debug, Default)]
pub struct CpuTime {
    user_ns: i64,
    system_ns: i64,
}

impl CpuTime {
    /// Splits exact CPU time as the ticks that found it in user code and in the kernel say: the
    /// rule of the kernel's own `cputime_adjust` (kernel/sched/cputime.c), as in `/proc/PID/stat`.
    pub fn split(&mut self, run_ns: i64, user_ticks_ns: i64, system_ticks_ns: i64) -> (i64, i64) {
        if self.user_ns + self.system_ns < run_ns {
            let ticks = i128::from(user_ticks_ns) + i128::from(system_ticks_ns);
            let system = match (user_ticks_ns, system_ticks_ns) {
                (_, 0) => 0,
                (0, _) => run_ns,
                _ => (i128::from(system_ticks_ns) * i128::from(run_ns) / ticks) as i64,
            };
            self.system_ns = system.clamp(self.system_ns, run_ns - self.user_ns);
            self.user_ns = run_ns - self.system_ns;
        }
        (self.user_ns, self.system_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_parts_add_up_and_never_shrink(
            steps in prop::collection::vec((0..50_000_000_i64, 0..50_000_000_i64, 0..50_000_000_i64), 1..50),
        ) {
            let (mut time, mut run, mut user, mut system) = (CpuTime::default(), 0, 0, 0);
            let mut before = (0, 0);
            for (more, more_user, more_system) in steps {
                (run, user, system) = (run + more, user + more_user, system + more_system);
                let now = time.split(run, user, system);
                prop_assert_eq!(now.0 + now.1, run);
                prop_assert!(now.0 >= before.0 && now.1 >= before.1);
                before = now;
            }
        }
    }

    #[test]
    fn ticks_in_one_mode_alone_give_it_all() {
        assert_eq!(CpuTime::default().split(7, 4, 0), (7, 0));
        assert_eq!(CpuTime::default().split(7, 0, 4), (0, 7));
        assert_eq!(CpuTime::default().split(8, 12, 4), (6, 2));
        assert_eq!(CpuTime::default().split(0, 4, 4), (0, 0));
    }
}
