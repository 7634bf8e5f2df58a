//! Measures how fast the binary prints its version and its help.

use std::path::Path;
use std::process::{Command, Stdio};

use super::sample::{Contestant, compare};

const ROUNDS: usize = 300;

pub(crate) fn run(bin: &Path) -> Result<(), String> {
    let plain = |program: &Path, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null());
        Ok(command)
    };
    let contestants = [
        Contestant { name: "/bin/true", command: Box::new(|| plain(Path::new("/bin/true"), &[])), every: 1 },
        Contestant { name: "windlass --version", command: Box::new(|| plain(bin, &["--version"])), every: 1 },
        Contestant { name: "windlass --help", command: Box::new(|| plain(bin, &["--help"])), every: 1 },
    ];
    compare(&contestants, ROUNDS)
}
