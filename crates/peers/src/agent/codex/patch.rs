//! Finds the files that a patch of Codex changes, for rules about files.

use serde_json::{Value, json};
use windlass_core::hook::SEVERAL_FILES;

/// The lines of a patch that name a file.
const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Returns the input of a patch with the files that it changes.
pub(super) fn input(input: Value) -> Value {
    let Some(text) = input.get("command").and_then(Value::as_str) else { return input };
    json!({ "file_path": files(text).join(SEVERAL_FILES.encode_utf8(&mut [0; 4])), "patch": text })
}

fn files(patch: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for line in patch.lines().map(str::trim) {
        let file = HEADERS.iter().find_map(|header| line.strip_prefix(header)).map(str::trim);
        found.extend(file.filter(|file| !found.contains(file)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_each_of_its_files_once() {
        let text = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b/c d.rs\n@@\n-x\n+*** y\n *** Delete File: a.rs\n*** Add File: e\n+z\n*** End Patch";
        assert_eq!(files(text), ["a.rs", "b/c d.rs", "e"]);
        let read = input(json!({ "command": "*** Begin Patch\n*** Add File: src/x\n+1\n*** End Patch" }));
        assert_eq!(read["file_path"], "src/x");
        assert_eq!(input(json!({ "command": text }))["file_path"], "a.rs\0b/c d.rs\0e");
        assert_eq!(input(json!({ "x": 1 })), json!({ "x": 1 }));
    }
}
