//! Programs that run in the kernel. Their objects are compiled beforehand and committed (`bpf/`), and
//! fitted to the kernel as they are loaded: nothing is needed but its own type information.

mod cost;
mod events;
mod iterators;
mod kernel;
mod object;
mod refusal;
mod threads;

pub use events::Events;
pub use kernel::Kernel;
pub use refusal::Refusal;
pub use threads::ThreadIterator;
