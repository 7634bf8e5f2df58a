//! `cargo xtask bench`: runs the benches.
//!
//! Each bench compares with a baseline that it measures in the same run, and prints ratios. Benches
//! that start whole programs are here. Benches that need the inside of a crate are its examples
//! `bench_*`: this module finds them by file name and describes them by their first line.

mod build;
mod check;
pub(crate) mod engine;
mod hook;
mod langgraph;
mod sample;
mod start;
mod steps;

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::{self, Profile, cargo};
use crate::{Outcome, Verdict, callgrind, say};

struct Bench {
    name: String,
    about: String,
    how: How,
}

enum How {
    Here(Measure),
    /// Builds its own binary instead of using the one of this tree.
    Apart(fn() -> Result<(), String>),
    Example {
        package: String,
        example: String,
    },
}

/// A function that measures the binary and prints the result.
type Measure = fn(&Path) -> Result<(), String>;

const HERE: &[(&str, &str, Measure)] = &[
    ("hook", "`windlass hook` end to end, compared with /bin/true and a similar Node script", hook::run),
    ("start", "`windlass --version` and `--help`, compared with /bin/true", start::run),
    ("instructions", "`windlass hook` under callgrind", instructions),
    ("check", "`windlass workflow check` with 1,000 and 10,000 nodes", check::run),
    (
        "steps",
        "durable workflow steps through the store, compared with LangGraph and its SQLite saver",
        steps::run,
    ),
];

/// Runs the named benches, or all of them.
pub(crate) fn run(names: &[&str]) -> Outcome {
    let table = table();
    if names == ["list"] {
        table.iter().for_each(|bench| println!("{:14} {}", bench.name, bench.about));
        return Ok(Verdict::Good);
    }
    if let Some(unknown) = names.iter().find(|name| !table.iter().any(|bench| bench.name == **name)) {
        return Err(format!("there is no bench `{unknown}`; `cargo xtask bench list` lists the benches"));
    }
    for bench in table.iter().filter(|bench| names.is_empty() || names.contains(&bench.name.as_str())) {
        say::step(&format!("{}: {}", bench.name, bench.about));
        bench.run()?;
    }
    Ok(Verdict::Good)
}

impl Bench {
    fn run(&self) -> Result<(), String> {
        match &self.how {
            How::Here(measure) => measure(&cargo::windlass(Profile::Release)?),
            How::Apart(measure) => measure(),
            How::Example { package, example } => {
                let words = ["run", "--quiet", "--release", "--package", package, "--example", example];
                let mut run = cargo(&words);
                if package == "windlass" {
                    run.env("WINDLASS_BIN", cargo::windlass(Profile::Release)?);
                }
                match cargo::succeeds(&mut run)? {
                    true => Ok(()),
                    false => Err(format!("the bench `{}` failed", self.name)),
                }
            }
        }
    }
}

fn table() -> Vec<Bench> {
    let here = HERE.iter().map(|(name, about, measure)| Bench {
        name: (*name).to_owned(),
        about: (*about).to_owned(),
        how: How::Here(*measure),
    });
    let build = Bench {
        name: "build".to_owned(),
        about: "the README's first command in a fresh clone, until its output is on screen".to_owned(),
        how: How::Apart(build::run),
    };
    here.chain([build]).chain(examples(&cargo::root().join("crates"))).collect()
}

/// Finds every `crates/*/examples/bench_NAME.rs`.
fn examples(crates: &Path) -> Vec<Bench> {
    let folders = fs::read_dir(crates).into_iter().flatten().filter_map(Result::ok);
    let files = folders.flat_map(|folder| {
        let package = folder.file_name().to_string_lossy().into_owned();
        let files = fs::read_dir(folder.path().join("examples")).into_iter().flatten();
        files.filter_map(move |file| example(&package, &file.ok()?.path()))
    });
    let mut found: Vec<Bench> = files.collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn example(folder: &str, file: &Path) -> Option<Bench> {
    let example = file.file_name()?.to_str()?.strip_suffix(".rs")?.to_owned();
    let name = example.strip_prefix("bench_")?.to_owned();
    let text = fs::read_to_string(file).ok()?;
    let about = text.lines().next()?.trim_start_matches("//!").trim().to_owned();
    let package = if folder == "windlass" { folder.to_owned() } else { format!("windlass-{folder}") };
    Some(Bench { name, about, how: How::Example { package, example } })
}

/// Creates a folder for the files of a bench, on the disk of the build. A temporary directory may be in
/// memory, where a sync costs nothing.
fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = cargo::built(Profile::Release)?.join("bench").join(name);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn instructions(bin: &Path) -> Result<(), String> {
    if !cargo::is_on_path("valgrind") {
        say::note("valgrind is not installed, so this bench is skipped");
        return Ok(());
    }
    println!("{} instructions ({} allowed)", callgrind::count(bin)?, callgrind::LIMIT);
    Ok(())
}
