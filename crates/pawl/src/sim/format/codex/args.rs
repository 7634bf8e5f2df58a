//! Parses the command line of `codex exec`, as far as the sim uses it.

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CodexFlags {
    pub(super) is_exec: bool,
    /// The session to resume.
    pub(super) resumes: Option<String>,
    /// The prompt, if it is an argument.
    pub(super) prompt: Option<String>,
    pub(super) model: Option<String>,
    /// The layer of settings.
    pub(super) profile: Option<String>,
    /// Hooks run although no person has reviewed them.
    pub(super) trusts_hooks: bool,
    /// `-c KEY=VALUE`
    pub(super) settings: Vec<String>,
}

/// Flags with a value.
const WITH_VALUE: &[&str] = &[
    "-c",
    "--config",
    "-m",
    "--model",
    "-p",
    "--profile",
    "-s",
    "--sandbox",
    "-C",
    "--cd",
    "-i",
    "--image",
    "-o",
    "--output-last-message",
    "--output-schema",
    "--add-dir",
    "--color",
    "--enable",
    "--disable",
    "--local-provider",
];

/// Parses the arguments after the program.
pub(super) fn parse(args: &[String]) -> CodexFlags {
    let mut flags = CodexFlags::default();
    let mut plain: Vec<&str> = Vec::new();
    let mut rest = args.iter().map(String::as_str);
    while let Some(arg) = rest.next() {
        if arg == "--" {
            plain.extend(rest.by_ref());
        } else if let Some((name, value)) = arg.split_once('=').filter(|_| arg.starts_with("--")) {
            flags.set(name, value);
        } else if WITH_VALUE.contains(&arg) {
            flags.set(arg, rest.next().unwrap_or_default());
        } else if arg == "--dangerously-bypass-hook-trust" {
            flags.trusts_hooks = true;
        } else if arg == "-" || !arg.starts_with('-') {
            plain.push(arg);
        }
    }
    flags.take(&plain);
    flags
}

impl CodexFlags {
    fn set(&mut self, name: &str, value: &str) {
        match name {
            "-m" | "--model" => self.model = Some(value.to_owned()),
            "-p" | "--profile" => self.profile = Some(value.to_owned()),
            "-c" | "--config" => self.settings.push(value.to_owned()),
            _ => {}
        }
    }

    /// Takes the arguments that are no flags: `exec [resume ID] [PROMPT]`.
    fn take(&mut self, plain: &[&str]) {
        let Some((&("exec" | "e"), rest)) = plain.split_first() else { return };
        self.is_exec = true;
        let rest = match rest {
            ["resume", id, rest @ ..] => {
                self.resumes = Some((*id).to_owned());
                rest
            }
            rest => rest,
        };
        self.prompt = rest.first().filter(|prompt| **prompt != "-").map(|prompt| (*prompt).to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> CodexFlags {
        parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_drivers_line_is_understood() {
        let got = flags(
            "exec --json --skip-git-repo-check --dangerously-bypass-hook-trust --profile run_2f1 --ignore-rules -c \
             features.hooks=true -c sandbox_mode=\"read-only\" --output-schema s.json resume 01a1 -",
        );
        let expected = CodexFlags {
            is_exec: true,
            resumes: Some("01a1".into()),
            profile: Some("run_2f1".into()),
            trusts_hooks: true,
            settings: vec!["features.hooks=true".into(), "sandbox_mode=\"read-only\"".into()],
            ..CodexFlags::default()
        };
        assert_eq!(got, expected);
        assert_eq!(flags("exec --json hello -m x").prompt, Some("hello".into()));
        assert!(!flags("login").is_exec);
    }
}
