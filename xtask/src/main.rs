//! Runs the chores of the project: `cargo xtask test|install|sweep|bench|ci`.
//!
//! This file only reads the command line. Each chore is a separate file.

mod agents;
mod bench;
mod callgrind;
mod cargo;
mod ci;
mod install;
mod say;
mod sweep;
mod tally;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask <chore>

  test [--quick] [FILTER]  install the tests' dependencies, build and run the tests, print the totals
                           --quick: install nothing, use the dev profile, no agent CLIs, no callgrind
  install                  only install the tests' dependencies
  sweep [--full]           kill the process at every crash point and print a table
  bench [NAME ...]         run the named benches, or all, and print ratios (`bench list`: their names)
  ci                       check the format, run clippy with warnings denied, then `test`
";

/// The result of a chore. `Err` is a chore that could not finish, with the reason.
type Outcome = Result<Verdict, String>;

/// The verdict of a chore that finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    Bad,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test", rest @ ..] => test::Options::read(rest).and_then(|options| test::run(&options)),
        ["install"] => {
            say::timed("installing the tests' dependencies", test::install_all);
            Ok(Verdict::Good)
        }
        ["sweep"] => sweep::run(sweep::Depth::Short),
        ["sweep", "--full"] => sweep::run(sweep::Depth::Full),
        ["bench", names @ ..] => bench::run(names),
        ["ci"] => ci::run(),
        ["--help" | "-h" | "help"] => {
            print!("{HELP}");
            Ok(Verdict::Good)
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        Err(why) => {
            say::wrong(&why);
            ExitCode::FAILURE
        }
    }
}
