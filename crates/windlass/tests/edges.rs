//! The house: which crate may know which, and that every file says what it is for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A crate earns its place by the edges it forbids: these are all there are.
const EDGES: &[(&str, &str)] = &[
    ("windlass-forms", "windlass-core"),
    ("windlass-store", "windlass-core"),
    ("windlass-peers", "windlass-core"),
    ("windlass-pawl", "windlass-core"),
    ("windlass-runtime", "windlass-core"),
    ("windlass-runtime", "windlass-forms"),
    ("windlass-runtime", "windlass-store"),
    ("windlass-runtime", "windlass-peers"),
    ("windlass", "windlass-core"),
    ("windlass", "windlass-runtime"),
    ("windlass", "windlass-pawl"),
    // The scripted model and the recipes of the agent CLIs.
    ("windlass-testkit", "windlass-pawl"),
];

/// The crate that the tests of every crate may use, but no shipped code.
const TESTKIT: &str = "windlass-testkit";

/// Stands outside: nobody depends on it, and it may use nothing but the testkit.
const XTASK: &str = "xtask";

#[derive(Debug, PartialEq, Eq)]
struct Edge {
    from: String,
    to: String,
    only_tests: bool,
}

impl Edge {
    fn is_allowed(&self) -> bool {
        if self.to == TESTKIT {
            return self.only_tests || self.from == XTASK;
        }
        EDGES.contains(&(&self.from, &self.to))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap_or_default()
}

/// Every edge between two crates of the workspace.
fn edges(metadata: &Value) -> Vec<Edge> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let names: Vec<&str> = packages().filter_map(|package| package["name"].as_str()).collect();
    let all = packages().flat_map(|package| {
        let from = package["name"].as_str().unwrap_or_default();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        dependencies.map(move |dependency| Edge {
            from: from.to_owned(),
            to: dependency["name"].as_str().unwrap_or_default().to_owned(),
            only_tests: dependency["kind"] == "dev",
        })
    });
    all.filter(|edge| names.contains(&edge.to.as_str())).collect()
}

#[expect(clippy::disallowed_methods, reason = "cargo is asked about the workspace, no agent is started")]
fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]).current_dir(root());
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    serde_json::from_slice(&output).unwrap_or_default()
}

#[test]
fn no_crate_knows_another_than_the_design_says() {
    let metadata = metadata();
    let edges = edges(&metadata);
    assert!(!edges.is_empty(), "cargo metadata named no edge: {metadata}");
    let forbidden: Vec<&Edge> = edges.iter().filter(|edge| !edge.is_allowed()).collect();
    assert!(forbidden.is_empty(), "forbidden edges: {forbidden:#?}");
}

#[test]
fn a_wrong_edge_would_be_seen() {
    let metadata = serde_json::json!({"packages": [
        {"name": "windlass-core", "dependencies": [{"name": "windlass-store", "kind": null}]},
        {"name": "windlass-store", "dependencies": [
            {"name": "windlass-core", "kind": null},
            {"name": "windlass-testkit", "kind": "dev"},
            {"name": "windlass-testkit", "kind": null},
            {"name": "serde", "kind": null},
        ]},
        {"name": "windlass-testkit", "dependencies": []},
    ]});
    let edges = edges(&metadata);
    let forbidden: Vec<_> =
        edges.iter().filter(|edge| !edge.is_allowed()).map(|edge| (&*edge.from, &*edge.to)).collect();
    assert_eq!(forbidden, [("windlass-core", "windlass-store"), ("windlass-store", "windlass-testkit")]);
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    let mut files = sources(&root().join("xtask/src"));
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        files.extend(sources(&folder.unwrap().path().join("src")));
    }
    assert!(files.len() > 20, "only {files:?}");
    let silent: Vec<_> =
        files.iter().filter(|file| !fs::read_to_string(file).unwrap().starts_with("//!")).collect();
    assert!(silent.is_empty(), "without a header: {silent:#?}");
}

#[test]
fn no_face_compares_a_status_as_text() {
    let files = sources(&root().join("crates/windlass/src"));
    assert!(files.len() > 20, "only {files:?}");
    let compares = |line: &str| {
        ["status == \"", "status != \"", "status.as_str()"].iter().any(|text| line.contains(text))
    };
    let found: Vec<_> =
        files.iter().filter(|file| fs::read_to_string(file).unwrap().lines().any(compares)).collect();
    assert!(found.is_empty(), "use `RunStatus`: {found:#?}");
}

/// Every Rust file below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path());
    paths
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs"))
        .collect()
}

/// Interfaces that only Linux has, as they appear in source code.
const ONLY_LINUX: &[&str] = &[
    "\"/proc",
    "\"/sys/",
    "inotify::",
    "epoll",
    "pidfd_",
    "signalfd",
    "memfd_create",
    "eventfd",
    "timerfd",
    "subreaper",
    "parent_process_death_signal",
    "prctl",
    "libc::syscall",
    "close_range",
    "cgroup.procs",
    "cgroup.kill",
    "Resource::Locks",
    "Resource::Rttime",
    "f_type",
    "RawDir",
    "renameat_with",
    "RenameFlags",
    "ficlone",
    "copy_file_range",
    "sendfile",
    "openat2",
    "OFlags::PATH",
    "OFlags::TMPFILE",
    "OFlags::NOATIME",
    "SocketFlags",
    "getrandom(",
    "peercred",
    "fdatasync(",
];

/// The lines of a file that ask for what only Linux has, its tests and comments left out.
fn only_linux(source: &str) -> Vec<&str> {
    let shipped = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = shipped.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.filter(|line| ONLY_LINUX.iter().any(|call| line.contains(call))).collect()
}

#[test]
fn what_only_linux_has_is_asked_for_in_one_module_of_each_crate() {
    let outside = |path: &Path| {
        let is_os = path.ends_with("src/os.rs") || path.components().any(|part| part.as_os_str() == "os");
        let is_test = path.to_string_lossy().contains("tests");
        !is_os && !is_test
    };
    let mut found = Vec::new();
    // `core` touches nothing: it reads what a command line says. `testkit` is for tests.
    for name in ["forms", "store", "peers", "pawl", "runtime", "windlass"] {
        for path in sources(&root().join("crates").join(name).join("src")) {
            let source = fs::read_to_string(&path).unwrap_or_default();
            let lines = if outside(&path) { only_linux(&source) } else { Vec::new() };
            found.extend(lines.into_iter().map(|line| format!("{}: {}", path.display(), line.trim())));
        }
    }
    assert!(found.is_empty(), "move these into `os`:\n{}", found.join("\n"));
}

#[test]
fn a_call_that_only_linux_has_is_seen_and_a_comment_or_a_test_is_not() {
    let source = r#"
#[cfg(test)]
mod tests;

use rustix::fs::{RawDir, Stat};
// "/proc" says it
fs::read("/proc/1/stat");

#[cfg(test)]
mod tests {
    memfd_create();
}
"#;
    assert_eq!(only_linux(source), ["use rustix::fs::{RawDir, Stat};", "fs::read(\"/proc/1/stat\");"]);
}

/// Names that many files share on purpose: each command has its `Args`.
const SHARED_NAMES: &[&str] = &["Args"];

/// The types that a source file declares, with whether others can see them. Types of test modules
/// and associated types do not count.
fn declared_types(source: &str) -> Vec<(String, bool)> {
    let mut types = Vec::new();
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let opens_tests = |next: &&str| next.starts_with("mod ") && next.ends_with('{');
        if line == "#[cfg(test)]" && lines.peek().is_some_and(opens_tests) {
            break;
        }
        let (visibility, rest) = match line.trim_start().strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => (true, rest.split_once(") ").map_or("", |split| split.1)),
            Some(rest) => (true, rest.trim_start()),
            None => (false, line),
        };
        let keyword = ["struct ", "enum ", "trait ", "union ", "type "];
        if let Some(name) = keyword.iter().find_map(|word| rest.strip_prefix(word)) {
            let name: String = name.chars().take_while(|c| c.is_alphanumeric()).collect();
            types.push((name, visibility));
        }
    }
    types
}

/// Decides whether a file is shipped, and is not a test or a tool for tests.
fn is_shipped(file: &Path) -> bool {
    let is_test = |part: &str| ["tests", "testkit", "crash_sweep", "examples"].contains(&part);
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    !file.iter().filter_map(|part| part.to_str()).any(is_test) && !stem.ends_with("tests")
}

/// Names of types that occur twice, where at least one of them is public.
fn names_used_twice(sources: &[(String, String)]) -> Vec<String> {
    let mut seen: std::collections::BTreeMap<String, Vec<(&str, bool)>> = Default::default();
    for (file, source) in sources {
        for (name, is_public) in declared_types(source) {
            seen.entry(name).or_default().push((file, is_public));
        }
    }
    let is_doubtful = |(name, uses): &(&String, &Vec<(&str, bool)>)| {
        uses.len() > 1
            && uses.iter().any(|(_, is_public)| *is_public)
            && !SHARED_NAMES.contains(&name.as_str())
    };
    seen.iter().filter(is_doubtful).map(|(name, uses)| format!("{name}: {uses:?}")).collect()
}

#[test]
fn the_name_of_a_public_type_is_found_by_one_grep() {
    let files = sources(&root().join("crates"));
    let shipped: Vec<(String, String)> = files
        .iter()
        .map(|file| file.strip_prefix(root()).unwrap())
        .filter(|file| is_shipped(file))
        .map(|file| (file.display().to_string(), fs::read_to_string(root().join(file)).unwrap()))
        .collect();
    assert!(shipped.len() > 200, "only {} files", shipped.len());
    let twice = names_used_twice(&shipped);
    assert!(twice.is_empty(), "name whose it is: {twice:#?}");
}

#[test]
fn a_shared_name_would_be_seen() {
    let file = |name: &str, source: &str| (name.to_owned(), source.to_owned());
    let public = file("a.rs", "pub(crate) struct Turn {\n");
    assert_eq!(names_used_twice(&[public.clone(), file("b.rs", "    pub enum Turn {\n")]).len(), 1);
    assert_eq!(names_used_twice(&[public.clone(), file("b.rs", "struct Turn;\n")]).len(), 1);
    assert!(names_used_twice(&[public.clone(), file("b.rs", "    type Turn = u8;\n")]).is_empty());
    let test = "#[cfg(test)]\nmod tests {\n    pub struct Turn;\n";
    assert!(names_used_twice(&[public, file("b.rs", test)]).is_empty());
    let private = ["a.rs", "b.rs"].map(|name| file(name, "struct Turn;\n"));
    assert!(names_used_twice(&private).is_empty());
}

/// Openings of a doc comment that make the reader guess what the item is.
const RIDDLES: &[&str] =
    &["What ", "How ", "Which ", "Where ", "Whether ", "Why ", "Who ", "Whose ", "When "];

/// Returns the doc comments of a source file that open with a riddle, without those that are help texts.
fn riddles(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let opens = |at: usize| {
        at.checked_sub(1).and_then(|at| lines.get(at)).is_none_or(|line| !line.starts_with("///"))
    };
    // A doc comment of a flag is its help text, where "How to answer questions" is right.
    let is_help = |at: usize| {
        let after = lines.iter().skip(at).find(|line| !line.starts_with("///"));
        after.is_some_and(|line| line.starts_with("#[arg"))
    };
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(text) = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! ").filter(|_| at == 0))
        else {
            continue;
        };
        if opens(at) && RIDDLES.iter().any(|word| text.starts_with(word)) && !is_help(at) {
            found.push(format!("{}: {line}", at + 1));
        }
    }
    found
}

#[test]
fn doc_comments_say_what_an_item_is_or_does() {
    let mut found = Vec::new();
    for file in sources(&root().join("crates")).iter().filter(|file| is_shipped(file)) {
        let lines = riddles(&fs::read_to_string(file).unwrap());
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        found.extend(lines.iter().map(|line| format!("{name}:{line}")));
    }
    assert!(found.is_empty(), "begin with a verb or a noun: {found:#?}");
}

#[test]
fn a_riddle_would_be_seen() {
    assert_eq!(riddles("/// What a run keeps.\nstruct Book;").len(), 1);
    assert_eq!(riddles("//! How a node begins.\n").len(), 1);
    assert!(riddles("/// Returns the outcome,\n/// How it ended.\nfn outcome() {}").is_empty());
    assert!(riddles("/// How to answer questions\n#[arg(long)]\non_question: A,").is_empty());
}
