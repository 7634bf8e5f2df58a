//! Parses the command line of Gemini CLI, as far as the sim uses it.

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GeminiFlags {
    pub(super) session_id: Option<String>,
    pub(super) resumes: Option<String>,
    pub(super) model: Option<String>,
    /// The prompt, if it is an argument.
    pub(super) prompt: Option<String>,
}

/// Flags with a value.
const WITH_VALUE: &[&str] = &[
    "-o",
    "--output-format",
    "--approval-mode",
    "--session-id",
    "-r",
    "--resume",
    "-m",
    "--model",
    "-p",
    "--prompt",
    "--policy",
    "--extensions",
    "-e",
    "--include-directories",
    "--allowed-tools",
    "--allowed-mcp-server-names",
];

/// Parses the arguments after the program.
pub(super) fn parse(args: &[String]) -> GeminiFlags {
    let mut flags = GeminiFlags::default();
    let mut rest = args.iter().map(String::as_str);
    while let Some(arg) = rest.next() {
        if let Some((name, value)) = arg.split_once('=').filter(|_| arg.starts_with("--")) {
            flags.set(name, value);
        } else if WITH_VALUE.contains(&arg) {
            flags.set(arg, rest.next().unwrap_or_default());
        } else if !arg.starts_with('-') {
            flags.prompt = Some(arg.to_owned());
        }
    }
    flags
}

impl GeminiFlags {
    fn set(&mut self, name: &str, value: &str) {
        let value = Some(value.to_owned());
        match name {
            "--session-id" => self.session_id = value,
            "--resume" | "-r" => self.resumes = value,
            "--model" | "-m" => self.model = value,
            "--prompt" | "-p" => self.prompt = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_line_is_understood() {
        let line =
            "--output-format stream-json --approval-mode default --resume 7de7 --model gemini-2.5-flash";
        let got = parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let expected = GeminiFlags {
            resumes: Some("7de7".into()),
            model: Some("gemini-2.5-flash".into()),
            ..GeminiFlags::default()
        };
        assert_eq!(got, expected);
    }
}
