//! `windlass workflow test`: walks workflows with stub results, and compares them with what tests expect.

use std::path::PathBuf;

use serde_json::json;
use windlass_runtime::workflow_tests::{FoundTest, TestResult, WantedTests, find_tests, run_tests};

use super::super::feed::{envelope, words};
use super::super::fit;
use super::super::invocation::{Invocation, print};
use super::super::rehearsal;
use super::super::report::Report;
use super::super::sanitize::{plain, plain_line};
use super::Of;
use crate::exit::Exit;

pub(super) const EXAMPLES: &str = "\
A test file, .windlass/workflows/fix.test.yaml, with one test per document:
  test: reviewer-rejects
  workflow: fix            # a name, or a path from the folder of this file
  input: the parser        # optional, like `inputs: { level: full }`
  nodes:                   # results; a list has one for each start of a node
    gate: { exit_code: 1 }
    review: [{ value: { ok: false } }, { value: { ok: true } }]
  expect: { status: completed, ran: [work@2], not_ran: [ship], turns: 5 }

Results of agents and called workflows have text, value and status (completed
or failed), of commands exit_code and stdout, of questions answer, of events
text, of task loops tasks. A node without a result succeeds. Conditions, loops,
retries and joins are decided as in a run.

Examples:
  windlass workflow test                       run all tests of the project
  windlass workflow test fix.test.yaml         run the tests of a file
  windlass workflow test --filter reject       choose tests by their names
  windlass workflow test --list                list the tests and run none
  windlass run --workflow fix x --stubs-init   print results to start from";

/// The arguments of `windlass workflow test`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Test files, or folders with them [default: the tests below .windlass/workflows]
    #[arg(value_name = "FILE|DIR", value_hint = clap::ValueHint::AnyPath)]
    places: Vec<PathBuf>,

    /// Only run the tests with TEXT in their names
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// List the tests and run none
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    of: Of,
}

/// Runs the tests.
pub(super) fn perform(invocation: &Invocation, args: &Args) -> Result<Exit, Report> {
    let wanted = WantedTests {
        cwd: &invocation.cwd,
        plugins: &args.of.plugins,
        places: &args.places,
        filter: args.filter.as_deref(),
    };
    let tests = find_tests(&wanted)?;
    if args.list {
        return list(invocation, &tests, args.of.json);
    }
    let results = run_tests(&invocation.home, &wanted, &tests)?;
    let failed = results.iter().filter(|result| !result.unmet.is_empty()).count();
    let mut lines: Vec<String> = match args.of.json {
        true => results.iter().map(object).collect(),
        false => results.iter().flat_map(describe).collect(),
    };
    lines.push(match args.of.json {
        true => {
            let data = json!({"tests": results.len(), "failed": failed, "ok": failed == 0});
            envelope("workflow.tested", words::now(), None, data)
        }
        false => tally(results.len(), failed),
    });
    print(&lines)?;
    Ok(if failed == 0 { Exit::Completed } else { Exit::Agent })
}

fn list(invocation: &Invocation, tests: &[FoundTest], json: bool) -> Result<Exit, Report> {
    if json {
        let object = |test: &FoundTest| {
            let data = json!({"test": test.name(), "workflow": test.workflow(), "file": test.file});
            envelope("workflow.test", words::now(), None, data)
        };
        return print(&tests.iter().map(object).collect::<Vec<_>>());
    }
    let row = |test: &FoundTest| [test.name(), test.workflow(), &test.file].map(plain_line);
    print(&fit::table(&tests.iter().map(row).collect::<Vec<_>>(), 2, invocation.screen.limit()))
}

fn object(result: &TestResult) -> String {
    let data = json!({
        "test": result.name,
        "workflow": result.workflow,
        "file": result.file,
        "ok": result.unmet.is_empty(),
        "unmet": result.unmet,
        "rehearsal": rehearsal::object(&result.rehearsal),
    });
    envelope("workflow.test", words::now(), None, data)
}

/// Formats a result: one line, and for a failed test also what differs and the walk.
fn describe(result: &TestResult) -> Vec<String> {
    let title = plain_line(&format!("{} ({})", result.name, result.file));
    if result.unmet.is_empty() {
        return vec![format!("ok      {title}")];
    }
    let mut lines = vec![format!("failed  {title}")];
    let unmet = result.unmet.iter().flat_map(|text| {
        let text = plain(text);
        text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>()
    });
    lines.extend(unmet);
    let turns = words::count(result.rehearsal.turns.into(), "turn");
    let ends = rehearsal::end_words(&result.rehearsal.outcome);
    lines.push(format!("  the walk, which ends as {} after {turns}:", plain_line(&ends)));
    lines.extend(rehearsal::step_lines(&result.rehearsal.acts).into_iter().map(|line| format!("  {line}")));
    lines
}

fn tally(tests: usize, failed: usize) -> String {
    let all = words::count(tests as u64, "test");
    match failed {
        0 => format!("{all}: all ok"),
        failed => format!("{all}: {} ok, {failed} failed", tests - failed),
    }
}
