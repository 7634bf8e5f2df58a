//! Compresses bodies on their way into the database and decompresses them on their way out.
//!
//! A commit writes whole pages, so a smaller body dirties fewer of them. `log.rs` stores the bytes. The
//! database file is not trusted: `unpack_lz4` checks the claimed size before it allocates memory.

use lz4_flex::block::{DecompressError, compress_prepend_size, decompress, uncompressed_size};
use rusqlite::Row;
use rusqlite::types::{FromSqlError, ValueRef};

/// Below this size, a body shares its page with others in any case.
const SMALL: usize = 256;
/// Above this size, whole pages are not much larger than the record, and unpacking thousands of records
/// would cost a resumed run more than reading them does.
const LARGE_RECORD: usize = 2 * 1024;
/// A larger state is stored uncompressed, and no packed body may claim a larger size.
const LARGE_STATE: usize = 64 * 1024 * 1024;

/// The value of column `packed` for a body that is an LZ4 block after its size.
const LZ4: i64 = 1;

/// A body as it is stored.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) bytes: Vec<u8>,
    /// The value of column `packed`.
    pub(crate) how: Option<i64>,
}

/// Packs the bodies of records.
pub(crate) fn pack_records(bodies: Vec<Vec<u8>>) -> Vec<Packed> {
    bodies.into_iter().map(|body| pack(body, LARGE_RECORD)).collect()
}

/// Packs the state in a snapshot.
pub(crate) fn pack_state(body: Vec<u8>) -> Packed {
    pack(body, LARGE_STATE)
}

/// Packs a body, unless that saves less than an eighth.
fn pack(body: Vec<u8>, large: usize) -> Packed {
    if !(SMALL..=large).contains(&body.len()) {
        return Packed { bytes: body, how: None };
    }
    let bytes = compress_prepend_size(&body);
    if bytes.len() > body.len() / 8 * 7 {
        return Packed { bytes: body, how: None };
    }
    Packed { bytes, how: Some(LZ4) }
}

/// An error in a stored body. The text continues a sentence such as "record 3 of run `x` …".
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("claims to be {size} bytes long")]
    TooLarge { size: usize },
    #[error("is {found} bytes long and not {size}")]
    Short { size: usize, found: usize },
    #[error("cannot be unpacked: {detail}")]
    Block { detail: String },
    #[error("is packed in a way this build does not know")]
    UnknownPacking,
    #[error("is not a body: {0}")]
    NoBody(FromSqlError),
}

/// Reads the columns `body` and `packed`, which are the second and third of every query.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Result<Vec<u8>, BodyError>> {
    let (body, how) = (row.get_ref(1)?, row.get_ref(2)?);
    Ok(body.as_blob().map_err(BodyError::NoBody).and_then(|bytes| unpack(bytes, how)))
}

fn unpack(bytes: &[u8], how: ValueRef<'_>) -> Result<Vec<u8>, BodyError> {
    match how {
        ValueRef::Null => Ok(bytes.to_vec()),
        ValueRef::Integer(LZ4) => unpack_lz4(bytes),
        _ => Err(BodyError::UnknownPacking),
    }
}

fn unpack_lz4(bytes: &[u8]) -> Result<Vec<u8>, BodyError> {
    let (size, block) = uncompressed_size(bytes).map_err(bad_block)?;
    if size > LARGE_STATE {
        return Err(BodyError::TooLarge { size });
    }
    let body = decompress(block, size).map_err(bad_block)?;
    if body.len() != size {
        return Err(BodyError::Short { size, found: body.len() });
    }
    Ok(body)
}

fn bad_block(error: DecompressError) -> BodyError {
    BodyError::Block { detail: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(packed: &Packed) -> Result<Vec<u8>, BodyError> {
        let how = packed.how.map_or(ValueRef::Null, ValueRef::Integer);
        unpack(&packed.bytes, how)
    }

    fn packed_text() -> Packed {
        pack_state(b"the same words, the same words again, and then something else. ".repeat(20))
    }

    #[test]
    fn a_body_comes_out_as_it_went_in() {
        for size in [0, 1, 255, 256, 257, 2048, 2049, 70_000] {
            let text: Vec<u8> = b"{\"type\":\"hook_asked\"},".iter().copied().cycle().take(size).collect();
            let (record, state) = (pack(text.clone(), LARGE_RECORD), pack_state(text.clone()));
            assert_eq!(record.how.is_some(), (256..=2048).contains(&size), "{size}");
            assert_eq!(state.how.is_some(), size >= 256, "{size}");
            assert_eq!((whole(&record), whole(&state)), (Ok(text.clone()), Ok(text)));
        }
    }

    #[test]
    fn what_would_not_get_smaller_is_stored_as_it_came() {
        let mut dice = 1_u32;
        let mut roll = || {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (dice >> 24) as u8
        };
        let noise: Vec<u8> = (0..4096).map(|_| roll()).collect();
        let packed = pack_state(noise.clone());
        assert_eq!((packed.bytes, packed.how), (noise, None));
    }

    #[test]
    fn a_size_that_is_too_large_is_refused_before_anything_is_made_that_large() {
        let mut packed = packed_text();
        packed.bytes[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(whole(&packed), Err(BodyError::TooLarge { size: u32::MAX as usize }));
    }

    #[test]
    fn a_wrong_size_is_damage_whether_too_large_or_too_small() {
        let packed = packed_text();
        let size = whole(&packed).unwrap().len();
        for wrong in [0, 1, size - 1, size + 1, LARGE_STATE] {
            let mut bytes = packed.bytes.clone();
            bytes[..4].copy_from_slice(&u32::try_from(wrong).unwrap().to_le_bytes());
            assert!(unpack_lz4(&bytes).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_cut_or_changed_byte_makes_unpacking_stop_the_process() {
        let packed = packed_text();
        for cut in 0..packed.bytes.len() {
            assert!(unpack_lz4(&packed.bytes[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..packed.bytes.len() {
            for bit in 0..8 {
                let mut bytes = packed.bytes.clone();
                bytes[at] ^= 1 << bit;
                let _ = unpack_lz4(&bytes);
            }
        }
    }

    #[test]
    fn an_unknown_packing_is_named_as_such() {
        assert_eq!(unpack(b"x", ValueRef::Integer(2)), Err(BodyError::UnknownPacking));
        assert_eq!(unpack(b"x", ValueRef::Text(b"lz4")), Err(BodyError::UnknownPacking));
    }
}
