//! The program on a host: executors are found, recorded and shipped, and what a killed agent left is, too.

mod canaries;
mod executors;
mod folders;
mod left;
mod recorders;
mod renewal;
mod support;
