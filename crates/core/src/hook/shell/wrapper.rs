//! Programs that start other programs, and the position of the inner command in their arguments.
//!
//! Covers only programs whose arguments are a command. Scripts, `make` and `python -c` are not read.

use super::{InputSource, ShellCommand, ShellWord, Unclear, is_descriptor};

/// A command that another program starts.
pub(super) enum WrappedCommand {
    Command(ShellCommand),
    /// A separate command line.
    Text(String),
    Unclear(Unclear),
}

/// A program that runs its arguments: its options that take a value in the next word, and the number of
/// operands before the command.
struct Wrapper {
    names: &'static [&'static str],
    short: &'static str,
    long: &'static [&'static str],
    operands: usize,
}

const fn wrapper(
    names: &'static [&'static str],
    short: &'static str,
    long: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper { names, short, long, operands }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(&["builtin", "nohup", "setsid", "noglob", "nocorrect", "-", "busybox", "toybox"], "", &[], 0),
    wrapper(&["command", "unbuffer", "fakeroot", "caffeinate", "arch", "winpty", "gosu"], "", &[], 0),
    wrapper(&["exec"], "a", &[], 0),
    wrapper(&["env"], "uCa", &["--unset", "--chdir", "--argv0"], 0),
    wrapper(&["time"], "fo", &["--format", "--output"], 0),
    wrapper(&["timeout"], "sk", &["--signal", "--kill-after"], 1),
    wrapper(&["nice"], "n", &["--adjustment"], 0),
    wrapper(&["ionice"], "cnpPu", &["--class", "--classdata"], 0),
    wrapper(&["chrt"], "TPD", &["--sched-runtime", "--sched-period", "--sched-deadline"], 1),
    wrapper(&["taskset", "repeat"], "", &[], 1),
    wrapper(&["stdbuf"], "ioe", &["--input", "--output", "--error"], 0),
    wrapper(
        &["sudo"],
        "ughpCrtTUDRac",
        &[
            "--user",
            "--group",
            "--host",
            "--prompt",
            "--close-from",
            "--role",
            "--type",
            "--command-timeout",
            "--other-user",
            "--chdir",
            "--chroot",
        ],
        0,
    ),
    wrapper(&["doas"], "uCa", &[], 0),
    wrapper(&["pkexec"], "", &["--user"], 0),
    wrapper(&["runuser"], "ugG", &["--user", "--group", "--supp-group"], 0),
    wrapper(&["chroot"], "", &["--userspec", "--groups"], 1),
    wrapper(&["flock"], "wE", &["--wait", "--timeout", "--conflict-exit-code"], 1),
    wrapper(&["strace", "ltrace"], "eopsuEabIOSPXUA", &["--output", "--attach", "--user"], 0),
    wrapper(&["watch"], "nq", &["--interval", "--equexit"], 0),
    wrapper(&["parallel"], "jaSnNLCdI", &["--jobs", "--arg-file", "--colsep", "--joblog", "--delay"], 0),
    wrapper(
        &["xargs"],
        "adEILnPsJRS",
        &["--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"],
        0,
    ),
];

/// Rare programs, and the maximum number of operands before their command. It is unknown which of their
/// options take a value.
const SELDOM: &[(&[&str], usize)] = &[
    (&["unshare", "nsenter", "prlimit", "setpriv", "choom", "runcon", "numactl", "cgexec", "systemd-run"], 0),
    (&["linux32", "linux64", "i386", "x86_64", "uname26", "ssh-agent", "dbus-run-session", "dbus-launch"], 0),
    (&["valgrind", "entr", "xvfb-run", "rlwrap", "eatmydata", "torsocks", "proxychains", "catchsegv"], 0),
    (&["systemd-inhibit", "firejail", "bwrap", "proot", "tini", "dumb-init", "heaptrack"], 0),
    (&["setarch", "perf", "faketime", "setuidgid", "chpst", "softlimit"], 1),
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish"];
/// Options of `find` and `fd` that a command follows.
const EXEC: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
/// The maximum number of positions tried as the possible start of a command.
const FEW: usize = 8;
/// The maximum number of words of a command whose start is uncertain.
const MANY: usize = 64;
/// Variables whose value every shell runs, and variables whose value only a newly started shell runs.
const RUN_BY_ANY: &[&str] = &["BASH_ENV", "PROMPT_COMMAND"];
const RUN_BY_STARTED: &[&str] = &["ENV", "PS0", "PS1", "PS4"];

/// Returns the commands that the program of a command starts.
pub(super) fn inner(command: &ShellCommand, bodies: &[(usize, String)]) -> Vec<WrappedCommand> {
    let mut parts = of_program(command, bodies);
    if sets(command, command.words.len(), RUN_BY_ANY) {
        parts.push(put_together(command));
    }
    parts
}

/// Returns true if a word before `end` sets one of these variables.
fn sets(command: &ShellCommand, end: usize, names: &[&str]) -> bool {
    let mut words = (0..end).filter_map(|at| command.word(at)?.split_once('='));
    words.any(|(name, _)| names.contains(&name.strip_suffix('+').unwrap_or(name)))
}

fn put_together(command: &ShellCommand) -> WrappedCommand {
    WrappedCommand::Unclear(Unclear::Text(command.text.clone()))
}

fn of_program(command: &ShellCommand, bodies: &[(usize, String)]) -> Vec<WrappedCommand> {
    let Some(Ok(name)) = command.name() else { return Vec::new() };
    let first = command.program + 1;
    match name {
        shell if SHELLS.contains(&shell) => of_shell(command, bodies),
        "eval" => text_of(command, first, command.words.len()),
        "alias" => aliases(command),
        "trap" => match command.word(first) {
            Some("-" | "-l" | "-p") | None => Vec::new(),
            Some("--") => text_of(command, first + 1, first + 2),
            Some(_) => text_of(command, first, first + 1),
        },
        "." | "source" => {
            let is_file = |text: &str| !is_process(text) && !is_descriptor(text);
            if command.word(first).is_none_or(is_file) { Vec::new() } else { from_input(command, bodies) }
        }
        "find" | "gfind" | "fd" | "fdfind" => of_find(command),
        "su" | "script" | "sg" => after_option(command, first, 'c', "--command"),
        "mapfile" | "readarray" => after_option(command, first, 'C', "--"),
        "git" => of_git(command),
        name if let Some((_, operands)) = SELDOM.iter().find(|(names, _)| names.contains(&name)) => {
            let mut parts = of_seldom(command, *operands);
            if name == "entr" {
                parts.extend(text_of(command, command.words.len() - 1, command.words.len()));
            }
            parts
        }
        name => WRAPPERS
            .iter()
            .find(|wrapper| wrapper.is(name))
            .map_or_else(Vec::new, |wrapper| wrapper.inner(command, name)),
    }
}

impl Wrapper {
    fn is(&self, name: &str) -> bool {
        // GNU versions have the prefix `g`, as in `gtimeout`, on systems with other versions.
        let is_it = |name: &str| self.names.contains(&name);
        is_it(name) || name.strip_prefix('g').is_some_and(is_it)
    }

    fn inner(&self, command: &ShellCommand, name: &str) -> Vec<WrappedCommand> {
        let first = command.program + 1;
        let options = || (first..).map_while(|at| command.word(at)).take_while(|word| word.starts_with('-'));
        if name == "command" && options().any(|word| word.contains(['v', 'V'])) {
            return Vec::new();
        }
        if self.names.contains(&"env")
            && let Some(split) = split_string(command)
        {
            return split;
        }
        let mut at = self.after_options(command, first);
        at += self.operands;
        if self.operands > 0 {
            at = self.after_options(command, at);
        }
        let has_text = matches!(command.word(at.saturating_sub(1)), Some("-c" | "--command"));
        if has_text && matches!(name, "flock" | "runuser") {
            return text_of(command, at, at + 1);
        }
        if matches!(name, "watch" | "parallel") {
            let mut words = at..command.words.len();
            let is_list = |at: &usize| command.word(*at).is_some_and(|word| word.starts_with(":::"));
            let end = words.find(is_list).unwrap_or(command.words.len());
            if end == at {
                return vec![put_together(command)];
            }
            let mut parts = text_of(command, at, end);
            if name == "parallel" && end - at > MANY {
                parts.push(put_together(command));
            } else if name == "parallel" {
                let mut part = command.part(at, end);
                if !open_marks(&mut part, "{") {
                    add_hole(&mut part);
                }
                parts.push(WrappedCommand::Command(part));
            }
            return parts;
        }
        let mut part = command.part(at, command.words.len());
        while part.word(part.program).is_some_and(is_setting) && !self.names.contains(&"exec") {
            part.program += 1;
        }
        if part.words.is_empty() {
            return Vec::new();
        }
        if name == "xargs" || name == "gxargs" {
            add_arguments(command, at, &mut part);
        }
        let mut parts = vec![WrappedCommand::Command(part)];
        // The next word may be the value of an option with an unknown end.
        let options = command.words.get(first..at).unwrap_or_default();
        if options.iter().any(|word| word.hole.is_some()) {
            parts.extend(if_known(command.part(at + 1, command.words.len())));
        }
        parts
    }

    /// Returns the position of the first word that is neither an option nor an option's value.
    fn after_options(&self, command: &ShellCommand, mut at: usize) -> usize {
        while let Some(word) = command.word(at) {
            if word == "--" {
                return at + 1;
            }
            if word.len() < 2 || !word.starts_with('-') {
                return at;
            }
            at += 1 + usize::from(self.has_value_after(word));
        }
        at
    }

    fn has_value_after(&self, option: &str) -> bool {
        if option.starts_with("--") {
            return self.long.iter().any(|long| long.starts_with(option));
        }
        let letters = option.get(1..).unwrap_or_default();
        letters.find(|letter| self.short.contains(letter)).is_some_and(|at| at + 1 == letters.len())
    }
}

fn is_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| super::read::is_name(name))
}

fn is_process(text: &str) -> bool {
    text.starts_with("<(")
}

/// Returns some words as a command line, unless the shell assembles it at run time.
fn text_of(command: &ShellCommand, from: usize, to: usize) -> Vec<WrappedCommand> {
    text_after(command, from, to, "")
}

/// Returns some words as a command line. Removes the option at the start of the first word.
fn text_after(command: &ShellCommand, from: usize, to: usize, option: &str) -> Vec<WrappedCommand> {
    let words = command.words.get(from..to.min(command.words.len())).unwrap_or_default();
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return Vec::new() };
    // An unquoted expansion is split into words, and `*` then only becomes file names.
    if words.iter().any(|word| word.hole.is_some() && word.plain < word.end && has_expansion(command, word)) {
        return vec![put_together(command)];
    }
    let text = command.text.get(first.start + option.len()..last.end).unwrap_or_default();
    let is_filled = words.iter().any(|word| word.is_filled);
    let unclear = is_filled.then(|| put_together(command));
    std::iter::once(WrappedCommand::Text(text.to_owned())).chain(unclear).collect()
}

fn has_expansion(command: &ShellCommand, word: &ShellWord) -> bool {
    let hole = word.hole.and_then(|(from, to)| command.text.get(from..to));
    hole.is_some_and(|hole| hole.contains(['$', '`']) || is_process(hole))
}

fn aliases(command: &ShellCommand) -> Vec<WrappedCommand> {
    let names = (command.program + 1..command.words.len()).filter_map(|at| {
        let (name, _) = command.word(at)?.split_once('=')?;
        Some(text_after(command, at, at + 1, command.word(at)?.get(..=name.len())?))
    });
    // Each use of the alias may add words to it.
    let used = |part| match part {
        WrappedCommand::Text(text) => WrappedCommand::Text(format!("{text} $@")),
        other => other,
    };
    names.flatten().map(used).collect()
}

fn of_shell(command: &ShellCommand, bodies: &[(usize, String)]) -> Vec<WrappedCommand> {
    if sets(command, command.program, RUN_BY_STARTED) {
        return vec![put_together(command)];
    }
    let (mut at, mut is_text, mut is_input) = (command.program + 1, false, false);
    while let Some(word) = command.word(at).filter(|word| word.len() > 1 && word.starts_with(['-', '+'])) {
        at += 1;
        match word {
            "--" => break,
            "--version" | "--help" => return Vec::new(),
            "--command" => is_text = true,
            "--rcfile" | "--init-file" => {
                let is_known = command.words.get(at).is_some_and(|word| word.hole.is_none());
                if !is_known || command.word(at).is_some_and(is_descriptor) {
                    return vec![put_together(command)];
                }
                at += 1;
            }
            long if long.starts_with("--command=") => return text_after(command, at - 1, at, "--command="),
            _ if command.words.get(at - 1).is_some_and(|word| word.hole.is_some()) => {
                return vec![put_together(command)];
            }
            long if long.starts_with("--") => {}
            short => {
                is_text |= short.contains('c');
                is_input |= short.contains('s');
                at += short.matches(['o', 'O']).count();
            }
        }
    }
    if is_text {
        let is_mark = |text: &str| text.starts_with('{') && text.ends_with('}') && !text.contains(' ');
        let mut parts = text_of(command, at, at + 1);
        if command.word(at).is_none_or(is_mark) {
            parts.push(put_together(command));
        }
        return parts;
    }
    match command.word(at) {
        Some(script) if is_process(script) || may_be_option(command, at) => vec![put_together(command)],
        Some(script) if !is_input && !is_descriptor(script) => Vec::new(),
        Some(script) if script.ends_with(|end: char| ('1'..='9').contains(&end)) && is_descriptor(script) => {
            vec![WrappedCommand::Unclear(Unclear::Input(command.text.clone()))]
        }
        _ => from_input(command, bodies),
    }
}

/// Returns true if a word may expand to `-c` with a text after it.
fn may_be_option(command: &ShellCommand, at: usize) -> bool {
    let Some((word, (_, end))) = command.words.get(at).and_then(|word| Some((word, word.hole?))) else {
        return false;
    };
    let is_dash = command.text.get(end..).is_some_and(|rest| rest.starts_with('-'));
    let is_last = at + 1 == command.words.len();
    word.is_filled && word.splits || !is_last && (word.splits || word.is_filled || is_dash)
}

/// Returns the commands that a shell reads from its input.
fn from_input(command: &ShellCommand, bodies: &[(usize, String)]) -> Vec<WrappedCommand> {
    let unclear = || WrappedCommand::Unclear(Unclear::Input(command.text.clone()));
    vec![match &command.input {
        InputSource::File => return Vec::new(),
        InputSource::Inherited | InputSource::Unknown => unclear(),
        InputSource::Text(text) => WrappedCommand::Text(text.clone()),
        InputSource::HereDocument(number) => {
            let body = bodies.iter().find(|(other, _)| other == number);
            body.map_or_else(unclear, |(_, body)| WrappedCommand::Text(body.clone()))
        }
    }]
}

fn of_find(command: &ShellCommand) -> Vec<WrappedCommand> {
    let mut parts = Vec::new();
    let mut at = command.program + 1;
    while let Some(word) = command.word(at) {
        let may_be_exec = command.words.get(at).is_some_and(|word| word.hole.is_some());
        at += 1;
        if may_be_exec {
            parts.extend(if_known(command.part(at, command.words.len().min(at + FEW))));
        }
        if !EXEC.contains(&word) {
            continue;
        }
        let is_end = |at: &usize| matches!(command.word(*at), Some(";" | "+") | None);
        let end = (at..=command.words.len()).find(is_end).unwrap_or(at);
        let mut part = command.part(at, end);
        open_marks(&mut part, "{}");
        parts.push(WrappedCommand::Command(part));
        at = end;
    }
    parts
}

/// Returns a command that may start here, because an expansion before it may be an option.
fn if_known(part: ShellCommand) -> Option<WrappedCommand> {
    part.name().is_some_and(|name| name.is_ok()).then_some(WrappedCommand::Command(part))
}

/// Reads `su -c TEXT`, `script -qcTEXT`, `git rebase --exec=TEXT`.
fn after_option(command: &ShellCommand, from: usize, short: char, long: &str) -> Vec<WrappedCommand> {
    let mut parts = Vec::new();
    for at in from..command.words.len() {
        let word = command.word(at).unwrap_or_default();
        let name = word.split('=').next().unwrap_or_default();
        let option = if word.starts_with("--") {
            let is_long = name.len() > 2 && long.starts_with(name);
            is_long.then(|| word.get(..=name.len()).unwrap_or(word))
        } else {
            let at = word.find(short).filter(|_| word.starts_with('-'));
            at.and_then(|at| word.get(..at + short.len_utf8()))
        };
        parts.extend(match option {
            Some(option) if option == word => text_of(command, at + 1, at + 2),
            Some(option) => text_after(command, at, at + 1, option),
            None => Vec::new(),
        });
    }
    parts
}

/// Returns the commands that a rare program may start. After an option, the next word may be its value, so
/// there can be several starts.
fn of_seldom(command: &ShellCommand, mut operands: usize) -> Vec<WrappedCommand> {
    let (mut parts, mut may_be_value) = (Vec::new(), false);
    for at in command.program + 1..command.words.len() {
        let word = command.word(at).unwrap_or_default();
        if word.starts_with('-') {
            may_be_value = word != "--" && !word.contains('=');
            continue;
        }
        if !may_be_value && operands == 0 {
            parts.push(WrappedCommand::Command(command.part(at, command.words.len())));
            break;
        }
        if command.words.len() - at > MANY {
            parts.push(put_together(command));
            break;
        }
        parts.extend(if_known(command.part(at, command.words.len())));
        operands -= usize::from(!may_be_value);
        may_be_value = false;
        if parts.len() == FEW {
            parts.push(put_together(command));
            break;
        }
    }
    parts
}

/// Returns the commands that some git subcommands run.
fn of_git(command: &ShellCommand) -> Vec<WrappedCommand> {
    let count = command.words.len();
    let find = |from: usize, wanted: &str| (from..count).find(|at| command.word(*at) == Some(wanted));
    let first = command.program + 1;
    let after_options = |from: usize| {
        let is_option = |at: &usize| command.word(*at).is_some_and(|word| word.starts_with('-'));
        (from..count).find(|at| !is_option(at)).unwrap_or(count)
    };
    let mut parts = Vec::new();
    if let Some(at) = find(first, "submodule").and_then(|at| find(at, "foreach")) {
        parts.extend(text_of(command, after_options(at + 1), count));
    }
    if let Some(at) = find(first, "rebase") {
        parts.extend(after_option(command, at + 1, 'x', "--exec"));
    }
    if let Some(at) = find(first, "bisect").and_then(|at| find(at, "run")) {
        parts.push(WrappedCommand::Command(command.part(at + 1, count)));
    }
    if let Some(at) = find(first, "for-each-repo") {
        let texts = text_of(command, after_options(at + 1), count).into_iter().map(|part| match part {
            WrappedCommand::Text(text) => WrappedCommand::Text(format!("git {text}")),
            other => other,
        });
        parts.extend(texts);
    }
    parts
}

/// Reads `env -S TEXT`.
fn split_string(command: &ShellCommand) -> Option<Vec<WrappedCommand>> {
    for at in command.program + 1..command.words.len() {
        let word = command.word(at).filter(|word| word.starts_with('-'))?;
        if matches!(word, "-S" | "--split-string") {
            return Some(text_of(command, at + 1, command.words.len()));
        }
        if let Some(option) = ["-S", "--split-string="].iter().find(|option| word.starts_with(**option)) {
            return Some(text_after(command, at, at + 1, option));
        }
    }
    None
}

/// Adds the arguments that `xargs` reads: at the end of the command, or in place of each marker.
fn add_arguments(command: &ShellCommand, end: usize, part: &mut ShellCommand) {
    let mut has_mark = false;
    for at in command.program + 1..end {
        let mark = match command.word(at) {
            Some("-I") => command.word(at + 1),
            Some("-i" | "--replace") => Some("{}"),
            Some(word) => ["-I", "-i", "--replace="].iter().find_map(|option| word.strip_prefix(option)),
            None => None,
        };
        if let Some(mark) = mark.filter(|mark| !mark.is_empty()) {
            has_mark = true;
            open_marks(part, mark);
        }
    }
    if !has_mark {
        add_hole(part);
    }
}

/// Adds an unknown number of unknown words at the end.
fn add_hole(part: &mut ShellCommand) {
    part.text.push(' ');
    let start = part.text.len();
    part.text.push('…');
    let end = part.text.len();
    let hole = Some((start, end));
    part.words.push(ShellWord {
        start,
        end,
        hole,
        splits: true,
        is_filled: true,
        is_quoted: false,
        plain: start,
    });
}

/// Makes words with a placeholder unknown until the program runs. Returns true if there are any. In a text
/// of several words the placeholder is hardly ever the program, unless a shell reads the text.
fn open_marks(part: &mut ShellCommand, mark: &str) -> bool {
    let ShellCommand { words, text, .. } = part;
    for word in &mut *words {
        let inside = text.get(word.start..word.end).unwrap_or_default();
        word.is_filled |= inside.contains(mark);
        if inside.contains(mark) && !inside.contains(' ') {
            word.hole = Some((word.start, word.end));
        }
    }
    words.iter().any(|word| word.is_filled)
}
