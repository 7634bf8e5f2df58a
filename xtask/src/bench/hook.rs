//! Measures one hook call from start to exit, compared with `/bin/true` and a Node script.

use std::path::Path;
use std::process::{Command, Stdio};

use super::engine::Engine;
use super::sample::{Contestant, compare};
use crate::{cargo, say};

const ROUNDS: usize = 300;

pub(crate) fn run(bin: &Path) -> Result<(), String> {
    let engine = Engine::start()?;
    let script = cargo::root().join("bench/hook.js");
    let fed = |program: &Path, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).env("WINDLASS_SOCKET", engine.socket()).env("WINDLASS_SESSION", Engine::COOKIE);
        command.stdin(Stdio::from(engine.payload()?));
        Ok(command)
    };
    let mut contestants = vec![
        Contestant { name: "/bin/true", command: Box::new(|| fed(Path::new("/bin/true"), &[])), every: 1 },
        Contestant {
            name: "windlass hook",
            command: Box::new(|| fed(bin, &["hook", "PreToolUse", "--closed"])),
            every: 1,
        },
    ];
    match (cargo::is_on_path("node"), script.to_str()) {
        (true, Some(script)) => contestants.push(Contestant {
            name: "node bench/hook.js",
            command: Box::new(move || fed(Path::new("node"), &[script, "PreToolUse"])),
            every: 10,
        }),
        _ => say::note("node is not installed, so there is no comparison with it"),
    }
    compare(&contestants, ROUNDS)
}
