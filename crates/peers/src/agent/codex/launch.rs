//! The arguments, environment, settings and input with which Codex starts.
//!
//! The caller writes the files with mode 0600. The tests with the real CLI check the effect of each option.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use toml::{Table, Value};
use windlass_core::hook::permission::Isolation;

use super::super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::settings::{self, READ_ONLY, ShellSandbox};
use super::{hook, project, schema};

/// The file that may contain keys from the user's settings.
pub(super) const SETTINGS: &str = "codex.toml";
/// The file with the user's login.
pub(super) const LOGIN: &str = "auth.json";
/// The variable that moves Codex's folder.
const HOME: &str = "CODEX_HOME";
/// A person may take a week to answer a question.
const TOOL_HOOK_SECONDS: u64 = 7 * 24 * 3600;
/// Time for a stop beyond the checks it waits for.
const STOP_MARGIN_SECONDS: u64 = 300;
/// Variables that Codex sets for its own children.
const NESTING: [&str; 4] = ["CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID", "CODEX_CI"];
const NESTING_PREFIX: &str = "CODEX_SANDBOX";

/// Returns the folder in which the user's Codex keeps its settings and login.
pub(super) fn user_folder(home: &Path, env: &[(String, String)]) -> PathBuf {
    let moved = env.iter().find(|(name, dir)| name == HOME && !dir.is_empty());
    moved.map_or_else(|| home.join(".codex"), |(_, dir)| PathBuf::from(dir))
}

/// Prepares one turn.
pub(super) fn prepare(
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
) -> Prepared {
    let [settings_file, prompt, schema_file] =
        [SETTINGS, "prompt", "schema.json"].map(|name| paths.dir.join(name));
    let user = settings::users(outside.user_settings);
    let workspace = Path::new(turn.workspace);
    let git = project::git_folders(workspace).iter().map(|folder| text(folder)).collect();
    let sandbox = ShellSandbox::of(turn, &user, git, artifacts(turn).into_iter().collect());
    let project = project::settings(workspace, Path::new(&turn.spec.workspace), &user);
    // If the user's own arguments choose another sandbox, the shell is no way to read.
    let is_reader = sandbox.mode == READ_ONLY && !has_own_sandbox(&turn.settings.driver.args);
    let hooks = hooks(turn, paths, is_reader);
    let all = settings::of_session(turn, &user, &sandbox, project, hooks);
    let layer = layer_name(&turn.effect.to_string());
    let schema = turn.plan.schema.as_ref().and_then(schema::accepted);
    let argv = arguments(turn, &sandbox, &layer, schema.is_some().then_some(&schema_file));
    let mut launch = turn.launch(paths, outside, argv, Some(&prompt));
    launch.env.retain(|(name, _)| !is_nesting(name) && name != HOME);
    launch.env.push((HOME.to_owned(), text(paths.home)));
    let home = outside.env.iter().find(|(name, _)| name == "HOME").map_or("/", |(_, home)| home);
    let login = user_folder(Path::new(home), outside.env).join(LOGIN);
    Prepared {
        launch,
        files: [
            // Codex reads the prompt byte for byte, whatever it starts with.
            (prompt, turn.plan.prompt.clone().into_bytes()),
            (settings_file.clone(), all.to_string().into_bytes()),
        ]
        .into_iter()
        .chain(schema.map(|schema| (schema_file, schema.to_string().into_bytes())))
        .collect(),
        links: vec![
            (paths.home.join(LOGIN), login),
            (paths.home.join(format!("{layer}.config.toml")), settings_file),
        ],
    }
}

/// Returns the folder of the run's own files if the agent hears of it. Windlass makes it then; a sandbox with a
/// missing folder runs no command.
fn artifacts(turn: &TurnRequest<'_>) -> Option<String> {
    let mut texts = turn.plan.env.values().chain([&turn.plan.prompt]);
    turn.spec.artifacts(turn.run).filter(|folder| texts.any(|text| text.contains(folder)))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn is_nesting(name: &str) -> bool {
    NESTING.contains(&name) || name.starts_with(NESTING_PREFIX)
}

/// Decides whether arguments of the user choose a sandbox.
fn has_own_sandbox(args: &[String]) -> bool {
    args.iter().any(|arg| arg.contains("sandbox") || arg.contains("permission") || arg.starts_with("-s"))
}

/// Returns the name of a turn's settings in the home that all turns share. Codex takes only plain names.
fn layer_name(effect: &str) -> String {
    let plain = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
        other => format!("_{other:02x}"),
    };
    effect.bytes().map(plain).collect()
}

fn arguments(
    turn: &TurnRequest<'_>,
    sandbox: &ShellSandbox,
    layer: &str,
    schema: Option<&PathBuf>,
) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    // A project's settings win over a layer, and an argument wins over them: a project may not widen the sandbox
    // nor turn off the hooks.
    let limits = [
        "features.hooks=true".to_owned(),
        // With a terminal the agent could type commands into a shell that it may use, and no hook is asked.
        "features.unified_exec_tty=false".to_owned(),
        // A snapshot is a file with the whole environment and its keys. Codex removes it only when it ends by itself.
        "features.shell_snapshot=false".to_owned(),
        r#"approval_policy="never""#.to_owned(),
        // Codex would wait for a network without an end. Windlass retries as its own settings say.
        "features.unbounded_connection_retries=false".to_owned(),
        format!(r#"sandbox_mode="{}""#, sandbox.mode),
        format!("sandbox_workspace_write.network_access={}", sandbox.has_network),
    ];
    let mut argv = turn.settings.driver.command();
    argv.extend(words(&["exec", "--json", "--skip-git-repo-check"]));
    // Without it Codex skips, and does not mention, hooks that no person has reviewed.
    argv.extend(words(&["--dangerously-bypass-hook-trust", "--profile", layer]));
    if turn.settings.isolation != Isolation::Permissive {
        // A rule of a project can let a command run outside the sandbox.
        argv.push("--ignore-rules".to_owned());
    }
    argv.extend(limits.into_iter().flat_map(|limit| ["-c".to_owned(), limit]));
    argv.extend(schema.into_iter().flat_map(|file| ["--output-schema".to_owned(), text(file)]));
    argv.extend(turn.settings.driver.args.iter().cloned());
    if turn.plan.resume {
        argv.extend(words(&["resume", turn.plan.session.as_str()]));
    }
    argv.push("-".to_owned());
    argv
}

/// Builds the hooks. `unanswered` selects the outcome when the run does not answer.
fn hooks(turn: &TurnRequest<'_>, paths: &TurnPaths<'_>, is_reader: bool) -> Table {
    let spec = turn.spec;
    let checks = spec.checks.len() as u64 * spec.limits.check_ms.div_ceil(1000);
    let tool = if is_reader { hook::TOOL_OF_READER } else { hook::TOOL };
    let entry = |event: &str, unanswered: &str, seconds: u64| {
        let program = quoted(&text(paths.windlass_exe));
        let mut command = Table::new();
        command.insert("type".to_owned(), "command".into());
        command.insert("command".to_owned(), format!("{program} hook {event} {unanswered}").into());
        command.insert("timeout".to_owned(), i64::try_from(seconds).unwrap_or(i64::MAX).into());
        let mut group = Table::new();
        group.insert("hooks".to_owned(), Value::Array(vec![command.into()]));
        Value::Array(vec![group.into()])
    };
    let mut hooks = Table::new();
    hooks.insert(hook::TOOL.to_owned(), entry(tool, "--closed", TOOL_HOOK_SECONDS));
    hooks.insert(hook::STOP.to_owned(), entry(hook::STOP, "--open", checks + STOP_MARGIN_SECONDS));
    hooks
}

/// Quotes a word for the shell of the user, with which Codex starts a hook. Some shells take a quoted word for
/// a text and not for a program, so a plain word stays as it is.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    match word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
