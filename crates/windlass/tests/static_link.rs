//! The binary is linked static: no loader, no shared library. A hook starts as fast as `/bin/true`
//! only so, and a stray `RUSTFLAGS` would undo it silently.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

use std::fs;

const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
const DT_NEEDED: u64 = 1;

/// The program headers of a 64-bit ELF file: type, offset and size of each.
fn segments(elf: &[u8]) -> Option<Vec<(u64, usize, usize)>> {
    if !elf.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let start = usize::try_from(number(elf, 0x20, 8)?).ok()?;
    let size = usize::try_from(number(elf, 0x36, 2)?).ok()?;
    let count = usize::try_from(number(elf, 0x38, 2)?).ok()?;
    let header = |nth: usize| {
        let at = start + nth * size;
        let offset = usize::try_from(number(elf, at + 0x08, 8)?).ok()?;
        let length = usize::try_from(number(elf, at + 0x20, 8)?).ok()?;
        Some((number(elf, at, 4)?, offset, length))
    };
    (0..count).map(header).collect()
}

/// A number as the machine that built the file, and runs this test, writes it.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at + size)?;
    let byte = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
    Some(if cfg!(target_endian = "little") {
        field.iter().rev().fold(0, byte)
    } else {
        field.iter().fold(0, byte)
    })
}

/// The tags of a dynamic segment.
fn tags(elf: &[u8], offset: usize, length: usize) -> Vec<u64> {
    (offset..offset + length).step_by(16).filter_map(|at| number(elf, at, 8)).collect()
}

/// Returns the kinds of other files that a program needs to start.
fn leans_on(elf: &[u8]) -> Option<Vec<&'static str>> {
    let mut found = Vec::new();
    for (kind, offset, length) in segments(elf)? {
        if kind == PT_INTERP {
            found.push("a loader");
        }
        if kind == PT_DYNAMIC && tags(elf, offset, length).contains(&DT_NEEDED) {
            found.push("a shared library");
        }
    }
    Some(found)
}

#[test]
fn the_binary_needs_no_loader_and_no_library() {
    let path = windlass_testkit::windlass_bin();
    let elf = fs::read(&path).unwrap();
    assert_eq!(leans_on(&elf), Some(vec![]), "{}", path.display());
}

#[test]
fn a_dynamic_program_would_be_seen() {
    let Some(path) = windlass_testkit::programs::on_path("sh") else { return };
    let elf = fs::read(path).unwrap();
    // A system may well have a static shell; this one's loader is looked for by its name.
    if elf.windows(3).any(|bytes| bytes == b"ld-") {
        assert_eq!(leans_on(&elf), Some(vec!["a loader", "a shared library"]));
    }
}
