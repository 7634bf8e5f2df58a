#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_core::entity::Provider;
use windlass_fuzz::files;

fuzz_target!(|text: &str| {
    files(Provider::Codex, text);
});
