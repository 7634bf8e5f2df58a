//! Parses the command line of `opencode run`, as far as the sim uses it.

/// The parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OpencodeFlags {
    pub(super) is_run: bool,
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    /// The words of the prompt, if they are arguments.
    pub(super) words: Vec<String>,
}

/// Flags with a value.
const WITH_VALUE: &[&str] = &[
    "--format",
    "--title",
    "--session",
    "-s",
    "--model",
    "-m",
    "--variant",
    "--agent",
    "--command",
    "--file",
    "-f",
    "--port",
    "--attach",
    "--log-level",
];

/// Parses the arguments after the program.
pub(super) fn parse(args: &[String]) -> OpencodeFlags {
    let mut flags = OpencodeFlags::default();
    let mut rest = args.iter().map(String::as_str);
    while let Some(arg) = rest.next() {
        let given = arg.split_once('=').filter(|_| arg.starts_with("--"));
        if let Some((name, value)) = given {
            flags.set(name, value);
        } else if WITH_VALUE.contains(&arg) {
            flags.set(arg, rest.next().unwrap_or_default());
        } else if arg == "run" && !flags.is_run {
            flags.is_run = true;
        } else if !arg.starts_with('-') {
            flags.words.push(arg.to_owned());
        }
    }
    flags
}

impl OpencodeFlags {
    fn set(&mut self, name: &str, value: &str) {
        match name {
            "--session" | "-s" => self.session = Some(value.to_owned()),
            "--model" | "-m" => self.model = Some(value.to_owned()),
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
            "run --format json --thinking --auto --title Windlass --session ses_1 --model a/b --variant high";
        let got = parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let expected = OpencodeFlags {
            is_run: true,
            session: Some("ses_1".into()),
            model: Some("a/b".into()),
            words: Vec::new(),
        };
        assert_eq!(got, expected);
    }
}
