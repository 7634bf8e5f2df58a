//! Measures how long `windlass workflow check` takes for a large document.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::folder;
use super::sample::{Contestant, compare};

const ROUNDS: usize = 20;

pub(crate) fn run(bin: &Path) -> Result<(), String> {
    let folder = folder("check")?;
    for nodes in [1_000, 10_000] {
        let path = folder.join(format!("{nodes}.yaml"));
        fs::write(&path, document(nodes)).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let check = |file: &'static str| {
        let mut command = Command::new(bin);
        command.args(["workflow", "check", file]).current_dir(&folder).stdin(Stdio::null());
        // Keeps the person's own settings and workflows out of the measurement.
        command.env("HOME", &folder).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        Ok(command)
    };
    let contestants = [
        Contestant { name: "1,000 nodes", command: Box::new(move || check("1000.yaml")), every: 1 },
        Contestant { name: "10,000 nodes (< 1,000 ms)", command: Box::new(|| check("10000.yaml")), every: 1 },
    ];
    compare(&contestants, ROUNDS)
}

/// Returns a document with this many nodes. Half of them run in sequence, and each uses the output of the
/// node before it. The other half run in parallel, and each uses the output of one node of the first half.
fn document(nodes: usize) -> String {
    let mut text = String::from("name: large\nnodes:\n  - id: n0\n    prompt: Begin.\n");
    // Writing to a string cannot fail.
    for number in 1..nodes / 2 {
        let before = number - 1;
        let _ = writeln!(
            text,
            "  - id: n{number}\n    prompt: \"{{{{ outputs.n{before}.text }}}} {{{{ input }}}}\""
        );
    }
    text.push_str("  - parallel: { limit: 1 }\n    branches:\n");
    for number in 0..nodes - nodes / 2 {
        let _ = writeln!(text, "      b{number}:\n        - prompt: \"{{{{ outputs.n{number}.text }}}}\"");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_as_many_prompts_as_were_asked_for() {
        assert_eq!(document(1_000).matches("prompt:").count(), 1_000);
    }
}
