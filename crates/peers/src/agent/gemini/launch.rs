//! The arguments, environment, settings and input with which Gemini CLI starts.
//!
//! Pure, except that it looks at the project's and the user's files: this module builds the contents of the
//! files, and the caller writes them with mode 0600.

use std::path::Path;

use windlass_core::launch::files::INPUT;

use super::super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::super::write_limit::limit_writes;
use super::home::{self, GeminiHome, VARIABLE, user_home};
use super::{policy, settings, trust};

/// The file that may contain keys from the user's settings.
pub(super) const SETTINGS: &str = "home/.gemini/settings.json";

/// Variables that would start the CLI in a container, connect it to an editor, or mark it as started by itself.
const REMOVED: &[&str] = &[
    "GEMINI_CLI",
    "GEMINI_CLI_IDE_SERVER_PORT",
    "GEMINI_CLI_IDE_WORKSPACE_PATH",
    "GEMINI_CLI_NO_RELAUNCH",
    "GEMINI_CLI_TRUST_WORKSPACE",
    "GEMINI_SANDBOX",
    VARIABLE,
];

/// The files that a `.gitignore` hides from the agent although it needs them: the tracker of a loop.
const UNIGNORED: &str = "!.windlass/\n!.windlass/**\n";

/// Prepares one turn.
pub(super) fn prepare(
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
) -> Prepared {
    let home = GeminiHome::of(paths);
    let input = paths.dir.join(INPUT);
    let isolation = turn.settings.isolation;
    let is_trusted = trust::trusts_project(isolation, Path::new(turn.workspace));

    let mut launch = turn.launch(paths, outside, arguments(turn), Some(&input));
    launch.env.retain(|(name, _)| !REMOVED.contains(&name.as_str()));
    launch.env.extend([
        (VARIABLE.to_owned(), text(&home.dir)),
        ("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), is_trusted.to_string()),
        // The CLI would start itself a second time with another memory limit, which takes two seconds.
        ("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned()),
    ]);

    let hooks = settings::hooks(turn, paths);
    let unignored = below_root(Path::new(turn.workspace), &home.unignored());
    let settings =
        settings::build(turn, &hooks, outside.user_settings, &folders(turn), &unignored).to_string();
    let hooks = serde_json::json!({ "hooks": hooks }).to_string();
    let files = [
        (home.settings(), settings.into_bytes()),
        (home.policy(), policy::build(turn.settings).into_bytes()),
        (home.unignored(), UNIGNORED.as_bytes().to_vec()),
        // Through standard input the CLI reads the prompt byte for byte, whatever it starts with.
        (input, turn.plan.prompt.clone().into_bytes()),
    ];
    let files = files.into_iter().chain(home.extension_files(&hooks, turn.system)).collect();
    let user = user_home(outside.env);
    limit_writes(&mut launch, turn, paths, home::login_files(&user));
    Prepared { launch, files, links: home.links(isolation, &user) }
}

fn arguments(turn: &TurnRequest<'_>) -> Vec<String> {
    let (driver, plan) = (&turn.settings.driver, turn.plan);
    let mut argv = driver.command();
    argv.extend(["--output-format", "stream-json", "--approval-mode", "default"].map(str::to_owned));
    let session = if plan.resume { "--resume" } else { "--session-id" };
    argv.extend([session.to_owned(), plan.session.to_string()]);
    argv.extend(turn.model().into_iter().flat_map(|model| ["--model".to_owned(), model.clone()]));
    argv.extend(driver.args.iter().cloned());
    argv
}

/// Returns the folders outside of the workspace that the agent needs: the CLI's own tools write nowhere else.
/// The CLI does not start with a folder that is missing.
fn folders(turn: &TurnRequest<'_>) -> Vec<String> {
    let plan = turn.plan;
    let is_mentioned =
        |folder: &str| plan.prompt.contains(folder) || plan.env.values().any(|v| v.contains(folder));
    // Windlass makes this folder for a session that mentions it.
    let artifacts = turn.spec.artifacts(turn.run).filter(|dir| is_mentioned(dir) || Path::new(dir).is_dir());
    let tracker =
        turn.settings.rules.as_ref().and_then(|rules| Path::new(rules.tracker_path.as_deref()?).parent());
    let tracker = tracker.filter(|dir| dir.is_dir()).map(text);
    let outside = |folder: &String| !Path::new(folder).starts_with(turn.workspace);
    artifacts.into_iter().chain(tracker).filter(outside).collect()
}

/// Returns a path that leads from a folder over the root to a file. The CLI takes every path for a relative one.
fn below_root(folder: &Path, file: &Path) -> String {
    let up = folder.components().count().saturating_sub(1);
    format!("{}{}", "../".repeat(up), text(file).trim_start_matches('/'))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
