//! Any bytes as the kernel's types, and as an object of programs: no panic.
#![no_main]

use aya_obj::Object;
use aya_obj::btf::Btf;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Btf::parse(bytes, Default::default());
    let _ = Object::parse(bytes);
});
