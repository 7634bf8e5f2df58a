//! Chores of the project: `cargo xtask test|install|sweep|bench|ci`.
//!
//! Only reads the command line; each chore is a file of its own.

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

  test [--quick] [FILTER]  installs what the tests need, builds, runs all of them, counts
                           --quick: nothing installed, dev profile, no agent CLI, no callgrind
  install                  installs what the tests need, and no more
  sweep [--full]           kills the process at every crash point, prints a table
  bench [NAME ...]         measures, prints ratios (without a name: all; `list` names them)
  ci                       format, clippy with warnings denied, test
";

/// How a chore ended that got as far as ending.
type Outcome = Result<Verdict, String>;

/// Whether everything it looked at was good.
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
            say::timed("what the tests need", test::install_all);
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
