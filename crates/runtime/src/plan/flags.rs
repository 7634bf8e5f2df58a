//! Applies flags to the nodes of a workflow, and refuses flags that no node can use.

use windlass_core::graph::workflow::{NodeKind, NodeNumber, TaskLoopNode};
use windlass_core::looping::reach;
use windlass_core::spec::{Check, Spec};

use super::choose::PlannedWorkflow;
use super::{PlanFlags, RunRequest, nodes};
use crate::user_error::{UserError, UserErrorKind};

fn usage(text: impl Into<String>) -> UserError {
    UserError::new(UserErrorKind::Usage, text)
}

/// Writes flags into the graphs, and refuses those that have no meaning there.
pub(super) fn apply<'a>(
    flags: &PlanFlags,
    main: &mut PlannedWorkflow<'a>,
    others: &mut [PlannedWorkflow<'a>],
    warnings: &mut Vec<String>,
) -> Result<(), UserError> {
    jobs(flags, main, others)?;
    main.workflow.budget = flags.budget.or(&main.workflow.budget);
    let all = || std::iter::once(&*main).chain(&*others);
    let name = &main.workflow.name;
    let turns: usize = all()
        .map(|part| nodes::each(&part.workflow).iter().filter(|node| node.turns().is_some()).count())
        .sum();
    if flags.until_signal.is_some() && turns != 1 {
        let text = format!("--until-signal is for one session with turns, and workflow `{name}` has {turns}");
        return Err(usage(text).hint("a `criteria_loop` node ends on a signal, too"));
    }
    if let Some(why) = flags.until_signal.as_deref().and_then(reach::signal) {
        return Err(usage(format!("--until-signal: {why}")).hint(reach::HINT));
    }
    let is_for_rounds = turns == 0 && rounds(flags, main, others) > 0;
    let name = &main.workflow.name;
    let is_idle = flags.max_iterations.is_some() && !is_for_rounds;
    let idle = [("--max-iterations", is_idle), ("--mode", flags.mode.is_some())];
    for (flag, _) in idle.iter().filter(|(_, is_given)| *is_given && turns == 0) {
        warnings.push(format!("{flag} changes nothing: no session of workflow `{name}` has turns"));
    }
    Ok(())
}

/// Applies `--max-iterations` to every task loop if no session has turns. Returns the number of task loops.
fn rounds<'a>(
    flags: &PlanFlags,
    main: &mut PlannedWorkflow<'a>,
    others: &mut [PlannedWorkflow<'a>],
) -> usize {
    let Some(most) = flags.max_iterations else { return 0 };
    let mut loops = 0_usize;
    for part in std::iter::once(&mut *main).chain(others) {
        nodes::forget_computed(&mut part.workflow.body, NodeNumber::Max);
        nodes::change(&mut part.workflow.body, &mut |_, kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { max, .. }) = kind {
                *max = most;
                loops += 1;
            }
        });
    }
    loops
}

/// Applies `--jobs` to every task loop.
fn jobs<'a>(
    flags: &PlanFlags,
    main: &mut PlannedWorkflow<'a>,
    others: &mut [PlannedWorkflow<'a>],
) -> Result<(), UserError> {
    let Some(wanted) = flags.jobs else { return Ok(()) };
    if wanted == 0 {
        return Err(usage("with --jobs 0 no task would ever be done").hint("give 1 or more"));
    }
    let mut loops = 0_usize;
    for part in std::iter::once(&mut *main).chain(others) {
        nodes::forget_computed(&mut part.workflow.body, NodeNumber::Jobs);
        nodes::change(&mut part.workflow.body, &mut |_, kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { jobs, .. }) = kind {
                *jobs = wanted;
                loops += 1;
            }
        });
    }
    if loops == 0 {
        let text = format!("--jobs is for task loops, and workflow `{}` has none", main.workflow.name);
        return Err(usage(text).hint("leave it out"));
    }
    Ok(())
}

/// Refuses `--agent-bin` and agent arguments if the run uses several drivers: they fit only one.
pub(super) fn one_driver(request: &RunRequest, spec: &Spec) -> Result<(), UserError> {
    let what = match (&request.flags.agent_bin, request.agent_args.is_empty()) {
        (Some(_), _) => "--agent-bin names the program",
        (None, false) => "the arguments behind `--` are those",
        (None, true) => return Ok(()),
    };
    let all = std::iter::once(spec).chain(spec.others.values());
    let mut names: Vec<&str> = all
        .flat_map(|spec| spec.sessions.values())
        .map(|session_settings| session_settings.driver.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < 2 {
        return Ok(());
    }
    let text = format!("{what} of one agent CLI, and workflow `{}` uses {}", spec.workflow, names.join(", "));
    Err(usage(text).hint(
        "choose one with --driver NAME, or write `program` and `args` under `agents.NAME` in the settings",
    ))
}

/// Reads the `--check` flags. Refuses two checks with the same name.
pub fn checks(texts: &[String]) -> Result<Vec<Check>, UserError> {
    let mut checks: Vec<Check> = Vec::new();
    for text in texts {
        let check = named_check(text)?;
        if checks.iter().any(|other| other.name == check.name) {
            return Err(usage(format!("two checks are named `{}`", check.name))
                .hint("name each differently: --check NAME=COMMAND"));
        }
        checks.push(check);
    }
    Ok(checks)
}

/// Reads `NAME=COMMAND` or a plain command. Names are lowercase, so that the variable in `RUST_BACKTRACE=1
/// cargo test` is not taken for a name.
fn named_check(text: &str) -> Result<Check, UserError> {
    let (name, command) = match text.split_once('=') {
        Some((name, _)) if name.trim().is_empty() => {
            return Err(usage(format!("--check `{text}` has no name before the `=`"))
                .hint("write --check NAME=COMMAND, or --check COMMAND"));
        }
        Some((name, command)) if is_name(name) => (name, command),
        Some((name, _)) if is_meant_as_name(name) => {
            return Err(usage(format!("--check `{text}`: `{name}` cannot be the name of a check"))
                .hint("a name has lowercase letters a to z, digits, `-` and `_`"));
        }
        _ => (text, text),
    };
    if command.trim().is_empty() {
        return Err(
            usage("--check needs a command").hint("give one: --check \"cargo test\", or leave --check out")
        );
    }
    Ok(Check { name: name.to_owned(), command: command.to_owned() })
}

/// Decides whether a word before a `=` can only be meant as a name: no shell takes it for a variable.
fn is_meant_as_name(text: &str) -> bool {
    let is_part = |c: char| match c.is_ascii() {
        true => c.is_ascii_alphanumeric() || "-_.:".contains(c),
        false => !c.is_whitespace(),
    };
    let is_variable = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit());
    text.chars().all(is_part) && !is_variable
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}
