//! Compares durable workflow steps with LangGraph and its SQLite saver, in turn.
//!
//! Both are programs that take the same arguments and print one line of the same JSON. Ours is the
//! example `steps` of the store (engine and store, committing as the owner of a run does). Theirs is
//! `bench/langgraph.py`. If LangGraph is not available, the table says why instead of its figures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::folder;
use super::langgraph::LangGraph;
use crate::cargo::{self, Profile, cargo, could_not_start};
use crate::say;

const ROUNDS: usize = 5;

pub(crate) fn run(_: &Path) -> Result<(), String> {
    let bench = Bench { ours: example()?, peer: LangGraph::get(), folder: folder("steps")? };
    if let Err(why) = &bench.peer {
        say::note(&format!("no comparison with LangGraph: {why}"));
    }
    println!("{:<58} {:>10}  goal", "steps: engine and store", "measured");
    bench.fixed()?;
    bench.growing()?;
    bench.items()?;
    bench.linear("parallel", "--branches", 100, "branches in one run", "branch")?;
    bench.linear("runs", "--count", 200, "runs of five steps at once", "run")
}

fn line(what: &str, measured: impl std::fmt::Display, goal: &str) {
    println!("{what:<58} {measured:>10}  {goal}");
}

/// Builds the example of the store and returns its path.
fn example() -> Result<PathBuf, String> {
    let words = ["build", "--quiet", "--release", "--package", "windlass-store", "--example", "steps"];
    match cargo::succeeds(&mut cargo(&words))? {
        true => Ok(cargo::built(Profile::Release)?.join("examples/steps")),
        false => Err("the example `steps` of the store does not build".to_owned()),
    }
}

/// The program that takes the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Store,
    LangGraph,
}

/// The figures of one program for one scenario, in seconds and bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Took {
    cpu: f64,
    database: f64,
    /// The CPU time of a late step divided by that of an early step, in scenarios that measure it.
    last_by_first: Option<f64>,
}

impl Took {
    fn read(line: &str) -> Result<Took, String> {
        let needed = |key| number(line, key).ok_or_else(|| format!("no `{key}` in `{}`", line.trim()));
        let (first, last) = (number(line, "first_cpu_s"), number(line, "last_cpu_s"));
        let last_by_first = first.zip(last).map(|(first, last)| last / first);
        Ok(Took { cpu: needed("cpu_s")?, database: needed("database_bytes")?, last_by_first })
    }
}

/// Returns the number at a key of a flat JSON object. xtask has no dependencies, so no JSON parser either.
fn number(line: &str, key: &str) -> Option<f64> {
    let (_, rest) = line.split_once(&format!("\"{key}\":"))?;
    rest.split([',', '}']).next()?.trim().parse().ok()
}

/// One scenario for one of the two programs.
struct Turn<'a> {
    who: Who,
    words: &'a [&'a str],
    rounds: usize,
}

struct Bench {
    ours: PathBuf,
    peer: Result<LangGraph, String>,
    folder: PathBuf,
}

impl Bench {
    fn fixed(&self) -> Result<(), String> {
        const COUNT: f64 = 1000.0;
        let words = ["steps", "--count", "1000", "--state", "4096"];
        let floor = ["floor", "--count", "1000", "--state", "4096"];
        let unsynced = [words.as_slice(), &["--durability", "normal"]].concat();
        let [floor, store, unsynced, peer, peer_unsynced] = self.in_turn([
            Turn { who: Who::Store, words: &floor, rounds: ROUNDS },
            Turn { who: Who::Store, words: &words, rounds: ROUNDS },
            Turn { who: Who::Store, words: &unsynced, rounds: ROUNDS },
            Turn { who: Who::LangGraph, words: &words, rounds: ROUNDS },
            Turn { who: Who::LangGraph, words: &unsynced, rounds: ROUNDS },
        ])?;
        println!("1,000 steps of a one-node loop, state of 4 KB, CPU µs per step");
        let each = |took: Took| format!("{:.0}", took.cpu / COUNT * 1e6);
        println!("  each step survives a killed process");
        told("    Windlass", unsynced, each, "<= 150");
        self.peer_told("    LangGraph", peer_unsynced, each, "");
        self.ratio("    LangGraph / Windlass", unsynced, peer_unsynced, ">= 8");
        println!("  each step is synced and survives a power cut");
        told("    baseline: append to a file and sync", floor, each, "");
        told("    Windlass", store, each, "<= 150");
        self.peer_told("    LangGraph", peer, each, "");
        self.ratio("    LangGraph / Windlass", store, peer, ">= 8");
        Ok(())
    }

    fn growing(&self) -> Result<(), String> {
        const DELTAS: f64 = 2000.0 * 1024.0;
        let words = ["grow", "--count", "2000", "--delta", "1024"];
        let deltas = [words.as_slice(), &["--channel", "delta"]].concat();
        // The list takes two gigabytes and most of a minute, so it runs once.
        let [store, list, delta] = self.in_turn([
            Turn { who: Who::Store, words: &words, rounds: ROUNDS },
            Turn { who: Who::LangGraph, words: &words, rounds: 1 },
            Turn { who: Who::LangGraph, words: &deltas, rounds: 3 },
        ])?;
        let flat = |took: Took| took.last_by_first.map_or("?".to_owned(), |times| format!("{times:.2}"));
        println!("2,000 steps, state grows by 1 KB per step: CPU of a late step / an early step");
        told("  Windlass", store, flat, "<= 1.2");
        self.peer_told("  LangGraph", list, flat, "");
        self.peer_told("  LangGraph, its DeltaChannel (beta)", delta, flat, "");
        let size = |took: Took| format!("{:.1}", took.database / DELTAS);
        println!("the same: size of the database / size of the added state");
        told("  Windlass", store, size, "<= 3");
        self.peer_told("  LangGraph", list, size, "");
        self.peer_told("  LangGraph, its DeltaChannel (beta)", delta, size, "");
        self.ratio("CPU of LangGraph / Windlass", store, list, "");
        self.ratio("CPU of LangGraph with its DeltaChannel / Windlass", store, delta, "");
        Ok(())
    }

    /// Runs an `each` over 100 and over 1,000 items, eight at a time. The cost of an item should be the same.
    fn items(&self) -> Result<(), String> {
        let turn = |words| Turn { who: Who::Store, words, rounds: ROUNDS };
        let unsynced = ["--durability", "normal"];
        let (few, many) = (["each", "--count", "100"], ["each", "--count", "1000"]);
        let [few_unsynced, many_unsynced] = [few, many].map(|words| [&words[..], &unsynced].concat());
        let [few, many, few_unsynced, many_unsynced] =
            self.in_turn([turn(&few), turn(&many), turn(&few_unsynced), turn(&many_unsynced)])?;
        println!("`each` over 1,000 items, eight at a time, each printing 1 KB, compared with 100 items");
        told("  CPU µs per item", many, |took| format!("{:.0}", took.cpu / 1000.0 * 1e6), "");
        told("  bytes of the database per item", many, |took| format!("{:.0}", took.database / 1000.0), "");
        let ratio = |many: f64, few: f64| format!("{:.2}", many / few / 10.0);
        if let (Some(few), Some(many)) = (few, many) {
            line("  CPU per item / the same for 100", ratio(many.cpu, few.cpu), "<= 1.1");
            line("  bytes per item / the same for 100", ratio(many.database, few.database), "<= 1.1");
        }
        // The disk varies more than an item costs.
        if let (Some(few), Some(many)) = (few_unsynced, many_unsynced) {
            line("  CPU per item / the same for 100, without syncs", ratio(many.cpu, few.cpu), "<= 1.1");
        }
        Ok(())
    }

    /// Runs `many` at once, then a quarter of them. The cost of each should be the same.
    fn linear(&self, scenario: &str, option: &str, many: u32, what: &str, one: &str) -> Result<(), String> {
        let (few, all) = ((many / 4).to_string(), many.to_string());
        let (few, all) = ([scenario, option, few.as_str()], [scenario, option, all.as_str()]);
        let turn = |who, words| Turn { who, words, rounds: ROUNDS };
        let [store_few, store, peer_few, peer] = self.in_turn([
            turn(Who::Store, &few),
            turn(Who::Store, &all),
            turn(Who::LangGraph, &few),
            turn(Who::LangGraph, &all),
        ])?;
        println!("{many} {what}, CPU µs per {one}");
        let each = |took: Took| format!("{:.0}", took.cpu / f64::from(many) * 1e6);
        told("  Windlass", store, each, "");
        self.peer_told("  LangGraph", peer, each, "");
        self.ratio("  LangGraph / Windlass", store, peer, "");
        let quarter = many / 4;
        let by = |few: Option<Took>| move |took: Took| few.map_or("?".to_owned(), |few| beside(took, few));
        told(
            &format!("  a {one} of {many} / a {one} of {quarter}, Windlass"),
            store,
            by(store_few),
            "about 1",
        );
        self.peer_told(
            &format!("  a {one} of {many} / a {one} of {quarter}, LangGraph"),
            peer,
            by(peer_few),
            "",
        );
        Ok(())
    }

    /// Runs all turns, round by round. Returns the median of each turn, or `None` for a peer that is not
    /// available.
    fn in_turn<const N: usize>(&self, turns: [Turn<'_>; N]) -> Result<[Option<Took>; N], String> {
        let mut all: [Vec<Took>; N] = std::array::from_fn(|_| Vec::new());
        for round in 0..ROUNDS {
            for (turn, took) in turns.iter().zip(&mut all).filter(|(turn, _)| round < turn.rounds) {
                took.extend(self.once(turn)?);
            }
        }
        Ok(all.map(median))
    }

    fn once(&self, turn: &Turn<'_>) -> Result<Option<Took>, String> {
        let mut command = match (turn.who, &self.peer) {
            (Who::Store, _) => Command::new(&self.ours),
            (Who::LangGraph, Ok(peer)) => peer.command(),
            (Who::LangGraph, Err(_)) => return Ok(None),
        };
        command.arg(&self.folder).args(turn.words).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().map_err(|error| could_not_start(&command, &error))?;
        match output.status.success() {
            true => Took::read(&String::from_utf8_lossy(&output.stdout)).map(Some),
            false => {
                Err(format!("`{}` of {:?} ended with {}", turn.words.join(" "), turn.who, output.status))
            }
        }
    }

    /// Prints a figure of the peer, or why there is none.
    fn peer_told(&self, what: &str, took: Option<Took>, figure: impl Fn(Took) -> String, goal: &str) {
        match &self.peer {
            Ok(_) => told(what, took, figure, goal),
            Err(why) => line(what, "none", why),
        }
    }

    fn ratio(&self, what: &str, ours: Option<Took>, theirs: Option<Took>, goal: &str) {
        let figure =
            |theirs: Took| ours.map_or("?".to_owned(), |ours| format!("{:.1}", theirs.cpu / ours.cpu));
        self.peer_told(what, theirs, figure, goal);
    }
}

fn told(what: &str, took: Option<Took>, figure: impl Fn(Took) -> String, goal: &str) {
    line(what, took.map_or("?".to_owned(), figure), goal);
}

/// Returns the cost of one among all, divided by the cost of one among a quarter of them.
fn beside(all: Took, quarter: Took) -> String {
    format!("{:.2}", all.cpu / (4.0 * quarter.cpu))
}

/// Returns the median of each figure separately. The round with the median CPU time need not have the other
/// medians.
fn median(took: Vec<Took>) -> Option<Took> {
    let middle = |figure: fn(&Took) -> Option<f64>| {
        let mut figures: Vec<f64> = took.iter().filter_map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied()
    };
    Some(Took {
        cpu: middle(|took| Some(took.cpu))?,
        database: middle(|took| Some(took.database))?,
        last_by_first: middle(|took| took.last_by_first),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_stands_around_its_numbers() {
        let line = r#"{"scenario": "grow", "cpu_s": 2.5, "first_cpu_s":0.5,"last_cpu_s": 1e0, "database_bytes": 4096}"#;
        let took = Took { cpu: 2.5, database: 4096.0, last_by_first: Some(2.0) };
        assert_eq!(Took::read(line), Ok(took));
    }

    #[test]
    fn a_line_without_a_figure_says_which() {
        let said = Took::read("{\"cpu_s\": 1}\n");
        assert_eq!(said, Err("no `database_bytes` in `{\"cpu_s\": 1}`".to_owned()));
    }

    #[test]
    fn each_figure_has_a_median_of_its_own() {
        let took = |cpu, database| Took { cpu, database, last_by_first: None };
        let all = vec![took(3.0, 1.0), took(1.0, 2.0), took(2.0, 3.0)];
        assert_eq!(median(all), Some(took(2.0, 2.0)));
        assert_eq!(median(Vec::new()), None);
    }
}
