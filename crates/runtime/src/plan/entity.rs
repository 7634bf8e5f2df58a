//! Turns an entity into a session: its prompt, its model, its tool limits.
//!
//! Windlass does for every agent what only one CLI can do: it runs the commands in a text under the session's
//! permission rules, and it attaches mentioned files. A warning reports everything that cannot be done. The
//! text is written when the node starts. Before the run it is written once as a dry run, which starts no
//! program.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use windlass_core::entity::{Entity, EntityKind, EntitySource, Level, Provider};
use windlass_core::graph::ids::default_id;
use windlass_core::graph::workflow::{
    Budget, Node, NodeKind, OnFailure, PromptSource as SessionSource, RetryPolicy, Session, SessionOptions,
    SessionTools, Template, Workflow,
};
use windlass_core::hook::ToolCall;
use windlass_core::hook::permission::{FileLimits, Isolation, PermissionRules, Ruling, decide};
use windlass_core::id::NodeId;
use windlass_core::registry::limits::{DriverTools, EntityLimits, limits, limits_of_node, limits_of_role};
use windlass_core::registry::{Piece, expand};
use windlass_core::spec::OnPermission;
use windlass_peers::agent::Capabilities;
use windlass_peers::files;
use windlass_peers::process::env::passed_on;
use windlass_peers::process::{ProgramOutput, ShortEnv, ShortProgram, run_short};

use crate::error::chain;
use crate::user_error::{UserError, UserErrorKind};

/// The time limit of a command in a text. The run's own limit applies if it is shorter.
const PATIENCE: Duration = Duration::from_secs(60);
/// The maximum size of a text after arguments are inserted.
const LARGEST: usize = 16 << 20;
/// The maximum number of bytes that a command's output or a mentioned file adds to the text.
const MOST: usize = 256 * 1024;

/// The surroundings of a session while its text is written.
pub(crate) struct PromptContext<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) env: &'a [(String, String)],
    pub(crate) can: Capabilities,
    pub(crate) isolation: Isolation,
    pub(crate) rules: &'a PermissionRules,
    pub(crate) on_permission: OnPermission,
    /// The time limit of the whole run.
    pub(crate) timeout_ms: Option<u64>,
    /// True if nothing may run: commands in the text stay as they are written.
    pub(crate) dry_run: bool,
}

/// Builds a workflow with one session. The run's input becomes the entity's arguments, or the prompt of an
/// agent.
pub(super) fn workflow(entity: &Entity) -> Workflow {
    let name = entity.name.clone();
    let told = Template("{{ input }}".to_owned());
    let source = match entity.kind {
        EntityKind::Skill => SessionSource::Skill { name, args: Some(told) },
        EntityKind::Command => SessionSource::Command { name, args: Some(told) },
        EntityKind::Agent => SessionSource::Agent { name, prompt: told },
    };
    let act = NodeKind::Session(Session::new(source));
    let node = Node {
        id: NodeId::new(default_id(&act)),
        kind: act,
        when: None,
        settings: SessionOptions::default(),
        retry: RetryPolicy::default(),
        budget: Budget::default(),
        on_failure: OnFailure::default(),
        env: Default::default(),
        computed: Default::default(),
    };
    Workflow {
        name: format!("{} {}", entity.kind, entity.name),
        description: None,
        inputs: Vec::new(),
        settings: SessionOptions::default(),
        budget: Budget::default(),
        plugins: Vec::new(),
        checks: Default::default(),
        env: Default::default(),
        gives: None,
        body: vec![node],
    }
}

/// Restricts a session to the limits of its entity. They never widen what the run may do; a command or skill
/// can only save the permission question for the tools it lists.
pub(super) fn narrow(entity: &Entity, can: Capabilities, rules: &mut PermissionRules) {
    let tools = DriverTools { has: can.tools, keeps_patterns: can.permissions };
    let roles = entity.roles.iter().map(|role| {
        let path = role.path.as_deref().unwrap_or("it comes with its CLI");
        (format!("agent `{}` ({path})", role.name), limits_of_role(role, tools))
    });
    let own = match entity.source.level {
        Level::Builtin => format!("{} `{}`", entity.kind, entity.name),
        Level::Project | Level::User => format!("{} `{}` ({})", entity.kind, entity.name, entity.source.path),
    };
    for (whose, limits) in roles.chain([(own, limits(entity, tools))]) {
        bound(entity, whose, limits, rules);
    }
}

/// Restricts a session to the tools that its node lists.
pub(super) fn narrow_to(
    (node, tools): (&NodeId, &SessionTools),
    (driver, can): (&str, Capabilities),
    rules: &mut PermissionRules,
    warnings: &mut Vec<String>,
) {
    let has = DriverTools { has: can.tools, keeps_patterns: can.permissions };
    let EntityLimits { only, missing, .. } = limits_of_node(tools, has);
    // `tools: read` names no tool, so none can be missing.
    if matches!(tools, SessionTools::These(_)) {
        let what =
            |written| format!("node `{node}` names the tool `{written}`, which `{driver}` does not have");
        warnings.extend(missing.into_iter().map(what));
    }
    if only.is_some() {
        rules.bounds.push(FileLimits { whose: format!("node `{node}`"), only, ..FileLimits::default() });
    }
}

fn bound(entity: &Entity, whose: String, limits: EntityLimits, rules: &mut PermissionRules) {
    // What the driver lacks is told with the other losses.
    let EntityLimits { only, deny, ask, ordered, missing: _, wider: _ } = limits;
    // An empty list allows the whole preset, so a first rule would narrow it.
    if let Some(only) = only.as_ref().filter(|_| entity.kind != EntityKind::Agent && !rules.allow.is_empty())
    {
        rules.allow.extend(only.iter().cloned());
    }
    let bound = FileLimits { whose, only, deny, ask, limits: ordered };
    if bound != (FileLimits { whose: bound.whose.clone(), ..FileLimits::default() }) {
        rules.bounds.push(bound);
    }
}

/// Returns the prompt and, for an agent, the system prompt.
pub(crate) fn texts(
    entity: &Entity,
    args: &str,
    stage: &PromptContext<'_>,
    warnings: &mut Vec<String>,
) -> Result<(String, Option<String>), UserError> {
    let mut writing = EntityTextWriter {
        entity,
        stage,
        warnings,
        text: String::new(),
        attached: Vec::new(),
        mentioned: Vec::new(),
    };
    if entity.kind == EntityKind::Agent {
        if args.trim().is_empty() {
            let text = format!("agent `{}` needs a task", entity.name);
            return Err(UserError::new(UserErrorKind::Usage, text)
                .hint(format!("give it a task: windlass run --agent {} \"TASK\"", entity.name)));
        }
        return Ok((plain_for(stage.can, args.to_owned()), Some(writing.whole("")?)));
    }
    if entity.prompt.matches("$ARGUMENTS").count().saturating_mul(args.len()) > LARGEST {
        let text =
            format!("{} `{}` would be larger than 16 MB with these arguments", entity.kind, entity.name);
        return Err(UserError::new(UserErrorKind::Usage, text).hint("put them into a file and name the file"));
    }
    let prompt = plain_for(stage.can, writing.whole(args)?);
    if prompt.trim().is_empty() {
        let text = format!("{} `{}` has an empty text", entity.kind, entity.name);
        return Err(
            UserError::new(UserErrorKind::Configuration, text).hint(format!("see {}", entity.source.path))
        );
    }
    Ok((prompt, None))
}

/// Keeps an agent from reading a message that begins with a slash as one of its own commands: a line break
/// comes first.
fn plain_for(can: Capabilities, message: String) -> String {
    match can.slash_commands && message.starts_with('/') {
        true => format!("\n{message}"),
        false => message,
    }
}

/// The text of an entity while it is being written.
struct EntityTextWriter<'a> {
    entity: &'a Entity,
    stage: &'a PromptContext<'a>,
    warnings: &'a mut Vec<String>,
    text: String,
    attached: Vec<String>,
    mentioned: Vec<String>,
}

impl EntityTextWriter<'_> {
    fn whole(&mut self, args: &str) -> Result<String, UserError> {
        if let Some(mark) = unclosed(self.entity) {
            let Entity { kind, name, .. } = self.entity;
            let text =
                format!("{kind} `{name}` has a `{mark}` that is never closed{}", place(self.entity, mark));
            return Err(UserError::new(UserErrorKind::Configuration, text).hint("close it with `}`"));
        }
        if let Some(folder) = base_folder(self.entity) {
            self.text = format!("Base directory for this skill: {folder}\n\n");
        }
        for piece in expand(self.entity, args).pieces {
            match piece {
                Piece::Text(text) => self.text.push_str(&text),
                Piece::Shell { command, written } => self.shell(&command, &written)?,
                Piece::File { path, written } => self.mention(&path, &written)?,
            }
        }
        let attached = std::mem::take(&mut self.attached);
        Ok(attached.into_iter().fold(std::mem::take(&mut self.text), |text, more| text + &more))
    }

    /// Replaces a command in the text with its output.
    fn shell(&mut self, command: &str, written: &str) -> Result<(), UserError> {
        if let Some(reason) = self.refusal(command) {
            let entity = self.entity;
            let text = format!(
                "{} `{}` may not run `{command}` in its text: {reason}{}",
                entity.kind,
                entity.name,
                place(entity, written)
            );
            let hint = match entity.tools.is_some() || !entity.limits.is_empty() {
                true => {
                    "allow the command in the limits of that file and in the settings, or take it out of the text"
                }
                false => "change the rule in the settings, or take the command out of the text",
            };
            return Err(UserError::new(UserErrorKind::Refused, text).hint(hint));
        }
        if self.stage.dry_run {
            self.text.push_str(written);
            return Ok(());
        }
        let output = run(self.stage, command).map_err(|why| {
            let name = format!("{} `{}`", self.entity.kind, self.entity.name);
            UserError::new(
                UserErrorKind::Agent,
                format!("`{command}` in the text of {name} could not be run: {why}"),
            )
        })?;
        self.text.push_str(printed(&output).trim_end_matches('\n'));
        if !output.succeeded() {
            let how = ending(&output);
            self.warn(&format!("`{command}` in its text {how}"));
            self.text.push_str(&format!("\n[`{command}` {how}]"));
        }
        Ok(())
    }

    /// Returns the reason why the entity's limits or the run's rules forbid a command. Nobody can be asked
    /// for permission yet.
    fn refusal(&self, command: &str) -> Option<String> {
        let stage = self.stage;
        let workspace = stage.workspace.to_string_lossy();
        match decide(stage.isolation, stage.rules, &*workspace, &ToolCall::shell(command)) {
            Ruling::Allow => None,
            Ruling::Deny { reason } => Some(reason),
            Ruling::Ask if stage.on_permission == OnPermission::Allow => None,
            Ruling::Ask => Some("a person must permit it first".to_owned()),
        }
    }

    /// Handles a mentioned file. Some agents read it themselves; for the others its content is appended.
    /// `@{file}` is always appended, because only Gemini would read it.
    fn mention(&mut self, path: &str, written: &str) -> Result<(), UserError> {
        self.text.push_str(written);
        let is_braced = written.starts_with("@{");
        let is_theirs = self.stage.can.reads_mentions && !is_braced;
        if is_theirs || self.mentioned.iter().any(|other| other == path) {
            return Ok(());
        }
        self.mentioned.push(path.to_owned());
        match read_mentioned(self.stage.workspace, path) {
            Ok(Some(content)) => self.attached.push(format!("\n\nContents of {path}:\n\n{content}")),
            Ok(None) if is_braced => return Err(self.unreadable(written, "there is no such file")),
            Err(why) if is_braced => return Err(self.unreadable(written, &why)),
            // Many words that look like a path are not one: a package scope, a decorator.
            Ok(None) => {}
            Err(why) => self.warn(&format!("`{written}` in its text stays as it is: {why}")),
        }
        Ok(())
    }

    fn unreadable(&self, written: &str, why: &str) -> UserError {
        let Entity { kind, name, .. } = self.entity;
        let text = format!(
            "{kind} `{name}` cannot read `{written}` in its text: {why}{}",
            place(self.entity, written)
        );
        UserError::new(UserErrorKind::Configuration, text).hint("name a text file of the workspace")
    }

    fn warn(&mut self, what: &str) {
        self.warnings.push(format!("{} `{}`: {what}", self.entity.kind, self.entity.name));
    }
}

/// Returns the line of the entity's file that contains a piece of text, as an error shows it.
fn place(entity: &Entity, written: &str) -> String {
    let EntitySource { path, line, level, .. } = &entity.source;
    if *level == Level::Builtin {
        return String::new();
    }
    let most = u64::try_from(LARGEST).unwrap_or(u64::MAX);
    let text =
        files::read_bounded(Path::new(path), most).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let found = text.as_deref().and_then(|text| {
        let before = text.get(..text.find(written)?)?;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Some((before.matches('\n').count() + 1, before.get(start..)?.chars().count() + 1))
    });
    match found {
        Some((line, column)) => format!("\n  at {path}:{line}:{column}"),
        None => format!("\n  at {path}:{line}"),
    }
}

/// Returns the opening mark of a command or file in a Gemini command that is never closed.
fn unclosed(entity: &Entity) -> Option<&'static str> {
    if entity.source.provider != Provider::Gemini || entity.kind != EntityKind::Command {
        return None;
    }
    let is_left = |mark: &&str| {
        let has = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains(*mark));
        expand(entity, "").pieces.iter().any(has)
    };
    ["!{", "@{"].into_iter().find(is_left)
}

/// Returns the folder of a skill that contains more than the skill's text.
fn base_folder(entity: &Entity) -> Option<&str> {
    if entity.kind != EntityKind::Skill || entity.source.level == Level::Builtin {
        return None;
    }
    let file = Path::new(&entity.source.path);
    let folder = file.parent().filter(|_| file.file_name() == Some(OsStr::new("SKILL.md")))?;
    let has_more = std::fs::read_dir(folder).ok()?.flatten().any(|entry| entry.file_name() != "SKILL.md");
    folder.to_str().filter(|_| has_more)
}

/// Reads a text file of the workspace. Returns nothing if there is none.
fn read_mentioned(workspace: &Path, path: &str) -> Result<Option<String>, String> {
    let path = files::inside(workspace, Path::new(path)).map_err(|error| chain(&error))?;
    let most = u64::try_from(MOST).unwrap_or(u64::MAX);
    match files::read_bounded(&path, most) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".to_owned()),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(chain(&error)),
    }
}

fn run(stage: &PromptContext<'_>, command: &str) -> Result<ProgramOutput, String> {
    let env = passed_on(stage.env);
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let args = [OsStr::new("-c"), OsStr::new(command)];
    let short = ShortProgram {
        program: Path::new("/bin/sh"),
        args: &args,
        cwd: stage.workspace,
        env: ShortEnv::Only(&env),
        deadline: stage.timeout_ms.map_or(PATIENCE, |ms| PATIENCE.min(Duration::from_millis(ms))),
        max_output: MOST,
    };
    run_short(&short).map_err(|error| chain(&error))
}

fn printed(output: &ProgramOutput) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.succeeded() {
        text.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    if output.truncated {
        text.push_str("\n[the rest is left out]");
    }
    text
}

fn ending(output: &ProgramOutput) -> String {
    match output.code {
        _ if output.timed_out => "did not end in time".to_owned(),
        Some(code) => format!("ended with exit code {code}"),
        None => "was ended by a signal".to_owned(),
    }
}
