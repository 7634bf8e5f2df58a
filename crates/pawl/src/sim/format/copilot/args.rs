//! Parses the command line of Copilot CLI, as far as the sim uses it.

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CopilotFlags {
    pub(super) session_id: Option<String>,
    pub(super) resumes: Option<String>,
    pub(super) model: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) usage_file: Option<String>,
    pub(super) plugin_dirs: Vec<String>,
    /// The tools that need no permission.
    pub(super) allowed: Vec<String>,
    pub(super) allows_all: bool,
    /// The prompt, if it is an argument.
    pub(super) prompt: Option<String>,
}

/// Flags with a value.
const WITH_VALUE: &[&str] = &[
    "-p",
    "--prompt",
    "--output-format",
    "--log-level",
    "--usage-output-file",
    "--plugin-dir",
    "--agent",
    "--model",
    "--reasoning-effort",
    "--session-id",
    "--add-dir",
    "--allow-tool",
    "--available-tools",
];

/// Parses the arguments after the program.
pub(super) fn parse(args: &[String]) -> CopilotFlags {
    let mut flags = CopilotFlags::default();
    let mut rest = args.iter().map(String::as_str);
    while let Some(arg) = rest.next() {
        if let Some((name, value)) = arg.split_once('=').filter(|_| arg.starts_with("--")) {
            flags.set(name, value);
        } else if WITH_VALUE.contains(&arg) {
            flags.set(arg, rest.next().unwrap_or_default());
        } else if matches!(arg, "--allow-all-tools" | "--allow-all" | "--yolo") {
            flags.allows_all = true;
        }
    }
    flags
}

impl CopilotFlags {
    fn set(&mut self, name: &str, value: &str) {
        let value = value.to_owned();
        match name {
            "--session-id" => self.session_id = Some(value),
            "--resume" => self.resumes = Some(value),
            "--model" => self.model = Some(value),
            "--agent" => self.agent = Some(value),
            "--usage-output-file" => self.usage_file = Some(value),
            "--plugin-dir" => self.plugin_dirs.push(value),
            "--allow-tool" => self.allowed.push(value),
            "-p" | "--prompt" => self.prompt = Some(value),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_line_is_understood() {
        let line = "--resume=34 --output-format json --no-ask-user --log-level error --usage-output-file /u.json \
                    --plugin-dir /p --disable-builtin-mcps --allow-tool=write --agent windlass:role --model=m";
        let got = parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let expected = CopilotFlags {
            resumes: Some("34".into()),
            model: Some("m".into()),
            agent: Some("windlass:role".into()),
            usage_file: Some("/u.json".into()),
            plugin_dirs: vec!["/p".into()],
            allowed: vec!["write".into()],
            ..CopilotFlags::default()
        };
        assert_eq!(got, expected);
    }
}
