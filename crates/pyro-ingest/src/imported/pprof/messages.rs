//! Messages of pprof's `profile.proto`, with the fields that are read.
//!
//! Source: <https://github.com/google/pprof/blob/main/proto/profile.proto>. Texts are numbers of the
//! profile's string table.

use prost::Message;

/// What values of samples are.
#[derive(Clone, PartialEq, Message)]
pub struct ValueType {
    /// Name.
    #[prost(int64, tag = "1")]
    pub name: i64,
    /// Unit.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// A sample.
#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// Locations, leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub locations: Vec<u64>,
    /// One value for each type.
    #[prost(int64, repeated, tag = "2")]
    pub values: Vec<i64>,
    /// Labels.
    #[prost(message, repeated, tag = "3")]
    pub labels: Vec<Label>,
}

/// A label of a sample: a text, or else a number.
#[derive(Clone, PartialEq, Message)]
pub struct Label {
    /// Name.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// Text.
    #[prost(int64, tag = "2")]
    pub text: i64,
    /// Number.
    #[prost(int64, tag = "3")]
    pub number: i64,
}

/// A file that was mapped.
#[derive(Clone, PartialEq, Message)]
pub struct Mapping {
    /// Id.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Path.
    #[prost(int64, tag = "5")]
    pub file: i64,
}

/// A place in the program.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// Id.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Mapping.
    #[prost(uint64, tag = "2")]
    pub mapping: u64,
    /// Address.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// Functions there; the last is the caller of those that were inlined.
    #[prost(message, repeated, tag = "4")]
    pub lines: Vec<Line>,
}

/// A line of a function.
#[derive(Clone, PartialEq, Message)]
pub struct Line {
    /// Function.
    #[prost(uint64, tag = "1")]
    pub function: u64,
    /// Line; 0 where it is not known.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A function.
#[derive(Clone, PartialEq, Message)]
pub struct Function {
    /// Id.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Name.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Source file.
    #[prost(int64, tag = "4")]
    pub file: i64,
}
