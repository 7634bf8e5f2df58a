//! Parses the command line of the real CLI, as far as the sim uses it.
//!
//! Ignores unknown flags: a flag that a driver passes on must not end the sim.

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ClaudeFlags {
    /// A file, or JSON itself.
    pub(super) settings: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) resume: Option<String>,
    pub(super) fork: bool,
    pub(super) model: Option<String>,
    pub(super) permission_mode: Option<String>,
    pub(super) mcp_config: Vec<String>,
    pub(super) plugin_dirs: Vec<String>,
    /// The JSON Schema of the answer.
    pub(super) json_schema: Option<String>,
    /// A file with an addition to the system prompt.
    pub(super) system_file: Option<String>,
    /// Reports hook calls in the stream.
    pub(super) hook_events: bool,
    /// Disables all hooks.
    pub(super) bare: bool,
    /// The prompt is a line of JSON on standard input, which stays open.
    pub(super) reads_lines: bool,
    /// The prompt, if it is an argument.
    pub(super) prompt: Option<String>,
}

/// Flags that take the next argument, even if it looks like a flag.
const ONE: &[&str] = &[
    "--output-format",
    "--input-format",
    "--settings",
    "--setting-sources",
    "--session-id",
    "--model",
    "--fallback-model",
    "--effort",
    "--permission-mode",
    "--permission-prompt-tool",
    "--system-prompt",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--agent",
    "--agents",
    "--json-schema",
    "--max-turns",
    "--max-budget-usd",
    "--plugin-dir",
];

/// Flags without a value. Any other flag takes the next argument as its value, unless that is a flag too.
const ALONE: &[&str] = &[
    "-p",
    "--print",
    "-c",
    "--continue",
    "-d",
    "--debug",
    "--verbose",
    "--bare",
    "--strict-mcp-config",
    "--include-partial-messages",
    "--include-hook-events",
    "--replay-user-messages",
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--fork-session",
    "--no-session-persistence",
    "--disable-slash-commands",
    "--ide",
];

/// Flags that take every argument up to the next flag.
const MANY: &[&str] = &[
    "--mcp-config",
    "--add-dir",
    "--tools",
    "--allowedTools",
    "--allowed-tools",
    "--disallowedTools",
    "--disallowed-tools",
    "--betas",
];

/// Parses the arguments after `sim`.
pub(super) fn parse(args: &[String]) -> ClaudeFlags {
    let mut flags = ClaudeFlags::default();
    let mut rest = args.iter().map(String::as_str).peekable();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            flags.prompt = rest.last().map(str::to_owned).or(flags.prompt);
            break;
        }
        if !arg.starts_with('-') || arg == "-" {
            flags.prompt = Some(arg.to_owned());
            continue;
        }
        if let Some((name, value)) = arg.split_once('=') {
            flags.set(name, value);
            continue;
        }
        if ONE.contains(&arg) {
            flags.set(arg, rest.next().unwrap_or_default());
            continue;
        }
        if ALONE.contains(&arg) {
            flags.switch(arg);
            continue;
        }
        while let Some(value) = rest.next_if(|next| !next.starts_with('-')) {
            flags.set(arg, value);
            if !MANY.contains(&arg) {
                break;
            }
        }
    }
    flags
}

impl ClaudeFlags {
    fn switch(&mut self, name: &str) {
        match name {
            "--include-hook-events" => self.hook_events = true,
            "--bare" => self.bare = true,
            "--fork-session" => self.fork = true,
            "--dangerously-skip-permissions" => self.permission_mode = Some("bypassPermissions".to_owned()),
            _ => {}
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        let value = value.to_owned();
        match name {
            "--settings" => self.settings = Some(value),
            "--session-id" => self.session_id = Some(value),
            "--resume" | "-r" => self.resume = Some(value),
            "--model" => self.model = Some(value),
            "--permission-mode" => self.permission_mode = Some(value),
            "--mcp-config" => self.mcp_config.push(value),
            "--json-schema" => self.json_schema = Some(value),
            "--append-system-prompt-file" => self.system_file = Some(value),
            "--plugin-dir" => self.plugin_dirs.push(value),
            "--input-format" => self.reads_lines = value == "stream-json",
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> ClaudeFlags {
        parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_drivers_line_is_understood() {
        let got = flags(
            "-p --output-format stream-json --verbose --settings s.json --session-id u --mcp-config a b \
             --strict-mcp-config --permission-mode default --model opus --plugin-dir x --plugin-dir y",
        );
        let expected = ClaudeFlags {
            settings: Some("s.json".into()),
            session_id: Some("u".into()),
            model: Some("opus".into()),
            permission_mode: Some("default".into()),
            mcp_config: vec!["a".into(), "b".into()],
            plugin_dirs: vec!["x".into(), "y".into()],
            ..ClaudeFlags::default()
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn an_unknown_flag_keeps_its_value_from_being_the_prompt() {
        assert_eq!(flags("-p --brand-new 7 --other=x --last").prompt, None);
        assert_eq!(flags("-p --brand-new 7 hello").prompt, Some("hello".into()));
    }

    #[test]
    fn a_value_may_look_like_a_flag() {
        let args = ["-p", "--append-system-prompt", "- be brief", "hello"].map(str::to_owned);
        assert_eq!(parse(&args).prompt, Some("hello".into()));
    }

    #[test]
    fn a_prompt_may_begin_with_a_dash_after_two() {
        let args = ["-p", "--", "-rf now"].map(str::to_owned);
        assert_eq!(parse(&args).prompt, Some("-rf now".into()));
    }
}
