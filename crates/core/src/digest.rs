//! A short hash of bytes that is the same in every build, unlike the standard hasher's. Not
//! cryptographic.

/// Returns the FNV-1a hash.
pub fn fnv(bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add)
}
