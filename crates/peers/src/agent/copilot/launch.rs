//! The arguments, environment and files with which the CLI starts.
//!
//! Pure: this module builds the contents of the files, and the caller writes them with mode 0600. The
//! tests with the real CLI check the effect of each option.

use std::path::Path;

use windlass_core::graph::workflow::Effort;
use windlass_core::hook::permission::Isolation;
use windlass_core::launch::files::INPUT;

use super::super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::super::write_limit::limit_writes;
use super::{home, plugin, provider, tools, unpacked, usage};

/// Variables that a turn gets whatever the user or a workflow set. An empty value is none.
const ALWAYS: &[(&str, &str)] = &[
    // Would allow every tool, and trust the project.
    ("COPILOT_ALLOW_ALL", ""),
    ("COPILOT_ASSISTED_APPROVAL", ""),
    // The CLI would copy variables from a login shell, also those that Windlass keeps from agents.
    ("COPILOT_DISABLE_LOGIN_SHELL_ENV", "1"),
];
/// The variables with which the CLI loads hooks and MCP servers of the project in headless mode.
const PROJECTS_OWN: [&str; 2] =
    ["GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS", "GITHUB_COPILOT_PROMPT_MODE_WORKSPACE_MCP"];
/// Variables that name more things to load.
const USERS_OWN: [&str; 3] =
    ["COPILOT_CUSTOM_INSTRUCTIONS_DIRS", "COPILOT_SKILLS_DIRS", "GITHUB_COPILOT_PROMPT_MODE_EXTENSIONS"];

/// Prepares one turn.
pub(super) fn prepare(
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
) -> Prepared {
    let isolation = turn.settings.isolation;
    // Through standard input the CLI reads the prompt as it is, whatever its size and its first character.
    let input = paths.dir.join(INPUT);
    let mut launch = turn.launch(paths, outside, arguments(turn, paths), Some(&input));
    set_variables(&mut launch.env, isolation, &text(&home::folder(paths)));
    provider::unblank(&mut launch.env);
    let mut files = vec![(input, turn.plan.prompt.clone().into_bytes())];
    files.extend(plugin::files(turn, paths));
    files.extend(home::files(isolation, paths, outside));
    limit_writes(&mut launch, turn, paths, []);
    if launch.writes_in.is_some() {
        unpacked::choose(&mut launch.env, &turn.settings.driver.program, paths);
    }
    Prepared { launch, files, links: home::links(isolation, paths, outside) }
}

fn arguments(turn: &TurnRequest<'_>, paths: &TurnPaths<'_>) -> Vec<String> {
    let (settings, plan) = (turn.settings, turn.plan);
    let session = if plan.resume { "--resume" } else { "--session-id" };
    let mut argv = settings.driver.command();
    argv.push(format!("{session}={}", plan.session));
    argv.extend(["--output-format", "json", "--no-ask-user", "--log-level", "error"].map(str::to_owned));
    argv.extend(["--usage-output-file".to_owned(), text(&paths.dir.join(usage::FILE))]);
    argv.extend(["--plugin-dir".to_owned(), text(&plugin::folder(paths))]);
    argv.extend(limits(settings.isolation, paths));
    argv.extend(turn.system.iter().flat_map(|_| ["--agent", plugin::ROLE]).map(str::to_owned));
    argv.extend(turn.model().map(|model| format!("--model={model}")));
    let effort = settings.effort.map(Effort::word);
    argv.extend(effort.into_iter().flat_map(|effort| ["--reasoning-effort", effort]).map(str::to_owned));
    argv.extend(settings.driver.args.iter().cloned());
    argv
}

/// Returns the flags of a preset. No preset allows all tools: a tool that needs a permission runs only if the hook
/// allows it, so a hook that does not run allows nothing.
fn limits(isolation: Isolation, paths: &TurnPaths<'_>) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match isolation {
        // Tools for files reach the workspace, the temporary folder, and the files of the run.
        Isolation::Strict => {
            let mut flags =
                words(&["--no-custom-instructions", "--disable-builtin-mcps", "--allow-tool=write"]);
            flags.push(format!("--available-tools={}", tools::STRICT.join(",")));
            flags.extend(paths.home.parent().map(|run| format!("--add-dir={}", text(run))));
            flags
        }
        Isolation::Minimal => words(&["--disable-builtin-mcps"]),
        Isolation::Permissive => Vec::new(),
    }
}

fn set_variables(env: &mut Vec<(String, String)>, isolation: Isolation, home: &str) {
    let mut set = |name: &str, value: &str| {
        env.retain(|(other, _)| other != name);
        env.push((name.to_owned(), value.to_owned()));
    };
    set(home::VARIABLE, home);
    ALWAYS.iter().for_each(|(name, value)| set(name, value));
    let is_projects = if isolation == Isolation::Strict { "false" } else { "true" };
    PROJECTS_OWN.iter().for_each(|name| set(name, is_projects));
    if isolation != Isolation::Permissive {
        USERS_OWN.iter().for_each(|name| set(name, ""));
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
