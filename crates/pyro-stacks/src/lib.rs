//! Frames to meaning: what a stack was doing (category), which operator it worked for, what a
//! sleeping thread waited for, and what role a thread has.
//!
//! The rules are data, in `schema/roles.toml`, `schema/categories.toml`, `schema/operators.toml`
//! and `schema/wait_classes.toml`, embedded in the binary. Everything that depends on one frame alone
//! is worked out once per distinct frame ([`Rules::facts`]); a stack is then classified by
//! walking its frames' facts ([`Rules::classify`]), once per distinct stack. Cost is per
//! dictionary entry, never per sample.

pub mod codegen;
pub mod folded;
mod frame;
mod patterns;
mod roles;
mod rules;
pub mod svg;
mod thread_name;
mod waits;

pub use frame::{Frame, FrameKind, java_class_name};
pub use roles::Roles;
pub use rules::{Category, Facts, Rules, Verdict};
pub use thread_name::{TaskName, task_of_thread};
pub use waits::{Moment, Waits};

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    #[test]
    #[should_panic(expected = "overflow")]
    fn a_number_that_wraps_is_an_error_in_every_profile() {
        black_box(black_box(i64::MAX) + 1);
    }
}
