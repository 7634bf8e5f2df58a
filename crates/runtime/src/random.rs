//! Makes unique names: run ids that are quick to type, and tokens.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use windlass_core::id::RUN_ALPHABET;

/// Returns eight random characters: unique among a user's runs, and in practice by their first few.
pub(crate) fn run_id() -> String {
    let mut bits = random();
    let mut text = String::with_capacity(8);
    for _ in 0..8 {
        let place = usize::try_from(bits & 31).unwrap_or(0);
        text.push(char::from(*RUN_ALPHABET.get(place).unwrap_or(&b'0')));
        bits >>= 5;
    }
    text
}

/// Returns thirty-two hexadecimal characters.
pub(crate) fn token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Returns random bits. The standard library seeds each `RandomState` from the system's randomness.
fn random() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u128(std::time::UNIX_EPOCH.elapsed().map(|since| since.as_nanos()).unwrap_or(0));
    hasher.finish()
}
