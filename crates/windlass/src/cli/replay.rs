//! `windlass replay`: repeats the decisions of a recorded run without an agent, with the same settings or
//! with other ones.

mod change;
mod turning_point;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windlass_core::effect::Effect;
use windlass_core::engine::{self, Difference, Divergence, Replayed};
use windlass_core::event::{Event, Record};
use windlass_core::id::{EffectId, RunId};
use windlass_runtime::handle::Handle;

use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::feed::{envelope, words};
use super::invocation::Invocation;
use super::output::OutputWriter;
use super::report::{Report, note};
use super::sanitize::plain_line;
use crate::exit::Exit;
use change::SettingChange;

const EXAMPLES: &str = "\
Examples:
  windlass replay k3f9  check that all decisions are the same
  windlass replay k3f9 --what-if max_iterations=3
  windlass replay k3f9 --what-if budget.cost=2 --what-if timeout=30m";

/// Repeat the decisions of a run without an agent, and compare them
///
/// Reads the recorded events of the run, and of every run that it started, and decides each one again. It
/// starts nothing and changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST, add = complete::runs(OfferedRuns::All))]
    run: Option<String>,

    /// Show where the run would have differed with another setting (may be repeated):
    /// max_iterations=N, budget.turns=N, budget.tokens=N, budget.cost=USD, timeout=TIME,
    /// stuck_after=N
    #[arg(long, value_name = "KEY=VALUE", value_parser = change::read)]
    what_if: Vec<SettingChange>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Runs `windlass replay`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let run = default_run::choose(&invocation, &handle, args.run.as_deref(), DefaultRun::Newest)?;
    let logs = with_those_it_started(&handle, &run)?;
    match args.what_if.as_slice() {
        [] => again(&logs, &run, args.json),
        changes => turning_point::tell(&logs, changes, args.json),
    }
}

/// A run and its records.
struct ReplayedLog {
    run: RunId,
    workflow: String,
    records: Vec<Record>,
    /// Another run of the list started it.
    is_started: bool,
}

/// Reads the logs of a run and of all runs below it; the run itself comes first.
fn with_those_it_started(handle: &Handle, run: &RunId) -> Result<Vec<ReplayedLog>, Report> {
    let (mut logs, mut seen) = (Vec::new(), BTreeSet::new());
    let mut left = vec![run.clone()];
    while let Some(next) = left.pop() {
        if !seen.insert(next.clone()) {
            continue;
        }
        let records: Vec<Record> = handle.records(&next, 1)?.into_iter().map(|(_, record)| record).collect();
        let workflow = match records.first().map(|record| &record.event) {
            Some(Event::RunStarted { spec }) => spec.workflow.clone(),
            _ => String::new(),
        };
        left.extend(started_in(&records).into_iter().rev());
        // A run that was planned just before a crash, and never started, has no log.
        if !records.is_empty() || next == *run {
            logs.push(ReplayedLog { is_started: next != *run, run: next, workflow, records });
        }
    }
    Ok(logs)
}

fn started_in(records: &[Record]) -> Vec<RunId> {
    let effects = records.iter().flat_map(|record| &record.effects);
    let started = effects.filter_map(|planned| match &planned.effect {
        Effect::StartRun { run, .. } => Some(run.clone()),
        _ => None,
    });
    started.collect()
}

/// Decides everything again and reports the differences.
fn again(logs: &[ReplayedLog], run: &RunId, json: bool) -> Result<Exit, Report> {
    let mut out = OutputWriter::stdout();
    let mut is_same = true;
    for log in logs {
        let Replayed { records, differences, .. } = engine::replay(log.run.clone(), &log.records);
        is_same &= differences.is_empty();
        let divergence = engine::follow(&log.run, None, (1..).zip(&log.records)).divergence;
        match json {
            true => out.line(&object(log, records, &differences, divergence.as_ref())),
            false => lines(log, records, &differences).iter().for_each(|line| out.line(line)),
        }
        if let Some(divergence) = divergence.filter(|_| !json) {
            out.line(&format!("  this windlass cannot resume it: {divergence}"));
        }
    }
    if is_same {
        return out.end(Exit::Completed);
    }
    let done = out.end(Exit::Unexpected);
    note(&format!("this is a bug: please report it with the output of `windlass logs {run} --json`"));
    done
}

fn lines(log: &ReplayedLog, records: usize, differences: &[Difference]) -> Vec<String> {
    let records = words::count(many(records), "record");
    let found = match differences.len() {
        0 => "every decision is the same".to_owned(),
        some => words::count(many(some), "difference"),
    };
    let mut lines = vec![format!("{}replayed {records}: {found}", of_whom(log))];
    lines.extend(differences.iter().map(|difference| format!("  {}", plain_line(&difference.to_string()))));
    lines
}

fn object(
    log: &ReplayedLog,
    records: usize,
    differences: &[Difference],
    divergence: Option<&Divergence>,
) -> String {
    let difference = |found: &Difference| json!({"record": found.seq, "what": found.what});
    let differences: Vec<Value> = differences.iter().map(difference).collect();
    let names = |ids: &[EffectId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let diverges = divergence.map(|found| {
        json!({"record": found.seq, "recorded": names(&found.recorded), "planned": names(&found.planned)})
    });
    let data = json!({
        "workflow": log.workflow, "records": records, "differences": differences, "diverges": diverges,
    });
    envelope("run.replayed", words::now(), Some(&log.run), data)
}

/// Names the run of a log, unless it is the run that the person named.
fn of_whom(log: &ReplayedLog) -> String {
    match log.is_started {
        true => format!("run {} ({}): ", log.run, plain_line(&log.workflow)),
        false => String::new(),
    }
}

fn many(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use windlass_core::engine::Decision;
    use windlass_core::time::Moment;

    use super::*;

    #[test]
    fn every_difference_is_told_with_its_record_and_is_no_success() {
        let record = |event| Decision::default().record(Moment(0), event);
        let records = vec![record(Event::OwnerChanged), record(Event::RunTimedOut)];
        let log = ReplayedLog { run: RunId::new("r"), workflow: "inner".into(), records, is_started: true };
        let Replayed { records, differences, .. } = engine::replay(log.run.clone(), &log.records);
        let lines = lines(&log, records, &differences);
        let expected = [
            "run r (inner): replayed 2 records: 2 differences",
            "  record 1: no run started before it",
            "  record 2: no run started before it",
        ];
        assert_eq!(lines, expected);
        assert_eq!(again(&[log], &RunId::new("r"), false), Ok(Exit::Unexpected));
    }
}
