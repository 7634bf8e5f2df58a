//! Tells a person that a run needs one or has ended, by a command of the settings.
//!
//! The owner shows every new state to its [`Notifier`], which decides nothing about the run. The command runs
//! beside the run and cannot delay, fail or end it. A notification is sent at most once: Windlass notes it in
//! the run's folder first, so a crash may lose it. The terminal's bell belongs to the face.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;
use windlass_core::id::{NodeId, RunId};
use windlass_core::run::{Ask, FinalStatus, Outcome, RunState};
use windlass_peers::files::read_bounded;
use windlass_peers::process::env::passed_on;
use windlass_peers::process::{ProgramOutput, ShortEnv, ShortProgram, run_short_with};

use crate::clock::now;
use crate::error::chain;
use crate::home::Home;

/// The file of the notifications sent so far, in the run's folder.
const FILE: &str = "notified";
const MAX_FILE: u64 = 4 << 20;
/// The time after which Windlass ends the command.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most commands of a run at once. One that hangs must not collect others behind it.
const MOST: usize = 16;
/// The longest text, in characters.
const LONGEST: usize = 1000;
/// The bytes of the command's output that a warning may quote.
const QUOTED: usize = 2000;
/// The version of the JSON object.
const VERSION: u32 = 1;

/// Sends the notifications of one run.
#[derive(Debug)]
pub(crate) struct Notifier {
    command: Arc<NotifyCommand>,
    file: PathBuf,
    sent: BTreeSet<String>,
    under_way: Arc<AtomicUsize>,
}

/// The command and its surroundings.
#[derive(Debug)]
struct NotifyCommand {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    cwd: PathBuf,
    patience: Duration,
}

impl Notifier {
    /// Makes the notifier of a run. Does nothing if the settings name no command.
    pub(crate) fn of(home: &Home, run_dir: &Path, state: &RunState) -> Notifier {
        let file = run_dir.join(FILE);
        let argv = state.spec.notify.command.clone();
        let sent = if argv.is_empty() { BTreeSet::new() } else { sent_before(&file) };
        let is_foreign = |(name, _): &(String, String)| !name.starts_with("WINDLASS_");
        let env = passed_on(&home.env).into_iter().filter(is_foreign).collect();
        let cwd = PathBuf::from(&state.spec.workspace);
        let command = Arc::new(NotifyCommand { argv, env, cwd, patience: PATIENCE });
        Notifier { command, file, sent, under_way: Arc::default() }
    }

    /// Sends a notification for each new question, and for the end of a run that no other run started.
    pub(crate) fn see(&mut self, state: &RunState) {
        if self.command.argv.is_empty() {
            return;
        }
        for ask in &state.bookkeeping.asks {
            self.send_once(&format!("ask {}", ask.hook), || NotifyMessage::question(state, ask));
        }
        if let Some(outcome) = state.outcome().filter(|_| state.spec.parent.is_none()) {
            // A run that continued ends again.
            let what = match state.bookkeeping.continued {
                0 => "end".to_owned(),
                times => format!("end {times}"),
            };
            self.send_once(&what, || NotifyMessage::ending(state, outcome));
        }
    }

    fn send_once<'a>(&mut self, what: &str, message: impl FnOnce() -> NotifyMessage<'a>) {
        if !self.sent.insert(what.to_owned()) {
            return;
        }
        // If the note cannot be written, a person may be needed all the more.
        let _ = note(&self.file, what);
        if self.under_way.fetch_add(1, Ordering::SeqCst) >= MOST {
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            return fail("too many notifications wait for the command to end".to_owned());
        }
        let (command, under_way) = (Arc::clone(&self.command), Arc::clone(&self.under_way));
        let message = serde_json::to_vec(&message()).unwrap_or_default();
        // Nobody waits for it but the end of the process.
        tokio::task::spawn_blocking(move || {
            command.run(message);
            under_way.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

impl NotifyCommand {
    fn run(&self, mut message: Vec<u8>) {
        let [program, args @ ..] = self.argv.as_slice() else { return };
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let env: Vec<(&str, &str)> =
            self.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let short = ShortProgram {
            program: Path::new(program),
            args: &args,
            cwd: &self.cwd,
            env: ShortEnv::Only(&env),
            deadline: self.patience,
            max_output: QUOTED,
        };
        message.push(b'\n');
        match run_short_with(&short, message) {
            Ok(output) if output.succeeded() => {}
            Ok(output) => fail(format!("`{program}` {}", self.how(&output))),
            Err(error) => fail(chain(&error)),
        }
    }

    fn how(&self, output: &ProgramOutput) -> String {
        if output.timed_out {
            return format!("did not end within {} s, and Windlass ended it", self.patience.as_secs());
        }
        let code = output.code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
        let said = String::from_utf8_lossy(&output.stderr);
        match said.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!("ended with {code}: {}", plain(line, 200)),
            None => format!("ended with {code}"),
        }
    }
}

/// Reads the notifications of earlier owners.
fn sent_before(file: &Path) -> BTreeSet<String> {
    let bytes = read_bounded(file, MAX_FILE).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Notes a notification before it is sent. A new line first: a crash may have left half a line.
fn note(file: &Path, what: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(file)?;
    writeln!(file, "\n{}", Value::from(what))?;
    file.sync_data()
}

/// The first failure in this process, until somebody has asked for it.
#[derive(Debug)]
enum NotifyFailure {
    None,
    Unsaid(String),
    Said,
}

static FAILURE: Mutex<NotifyFailure> = Mutex::new(NotifyFailure::None);
/// Wakes whoever waits for a failure.
static FAILED: Notify = Notify::const_new();

fn fail(why: String) {
    let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*failure, NotifyFailure::None) {
        *failure = NotifyFailure::Unsaid(why);
        FAILED.notify_one();
    }
}

/// Returns a warning if a notification of this process failed. Returns it once, and no later ones.
pub fn warning() -> Option<String> {
    let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    if !matches!(*failure, NotifyFailure::Unsaid(_)) {
        return None;
    }
    match std::mem::replace(&mut *failure, NotifyFailure::Said) {
        NotifyFailure::Unsaid(why) => Some(format!("nobody was notified: {why}")),
        NotifyFailure::None | NotifyFailure::Said => None,
    }
}

/// Waits for such a warning.
pub async fn next_warning() -> String {
    loop {
        if let Some(text) = warning() {
            return text;
        }
        FAILED.notified().await;
    }
}

/// The JSON object that the command reads.
#[derive(Debug, Serialize)]
struct NotifyMessage<'a> {
    v: u32,
    /// `question`, `permission`, `blocked` or `finished`.
    event: &'static str,
    run: &'a RunId,
    workflow: String,
    /// `waiting`, or the final status.
    status: &'static str,
    /// The reason of the end.
    reason: Option<&'static str>,
    /// The question, or how the run ended.
    text: String,
    /// The command with which a person goes on.
    next: String,
    folder: &'a str,
    time: String,
    /// The node that asks.
    node: Option<&'a NodeId>,
    /// The tool that needs a permission.
    tool: Option<String>,
}

impl<'a> NotifyMessage<'a> {
    fn of(state: &'a RunState, event: &'static str, status: &'static str) -> NotifyMessage<'a> {
        let at = jiff::Timestamp::from_millisecond(now().0).unwrap_or_default();
        NotifyMessage {
            v: VERSION,
            event,
            run: &state.run,
            workflow: plain(&state.spec.workflow, LONGEST),
            status,
            reason: None,
            text: String::new(),
            next: format!("windlass show {}", state.run),
            folder: &state.spec.workspace,
            time: format!("{at:.3}"),
            node: None,
            tool: None,
        }
    }

    /// Describes a request that waits for a person.
    fn question(state: &'a RunState, ask: &'a Ask) -> NotifyMessage<'a> {
        let event = if ask.tool.is_some() { "permission" } else { "question" };
        let message = NotifyMessage::of(state, event, "waiting");
        let texts: Vec<&str> = ask.open_questions().map(|question| question.text.as_str()).collect();
        let is_alone = state.bookkeeping.asks.len() < 2;
        let to = if is_alone { String::new() } else { format!(" --to {}", ask.hook) };
        let next = match &ask.tool {
            // Agents choose these ids, and a person may paste the command into a shell.
            _ if !is_alone && !is_one_word(ask.hook.as_str()) => message.next,
            Some(_) => format!("windlass approve {}{to}", state.run),
            None => format!("windlass answer {} \"TEXT\"{to}", state.run),
        };
        let text = plain(&texts.join(" "), LONGEST);
        let tool = ask.tool_name().map(|tool| plain(tool, LONGEST));
        NotifyMessage { text, next, node: Some(&ask.node), tool, ..message }
    }

    /// Describes the end of a run.
    fn ending(state: &'a RunState, outcome: &Outcome) -> NotifyMessage<'a> {
        let event = if outcome.status == FinalStatus::Blocked { "blocked" } else { "finished" };
        let text = outcome.detail.as_deref().unwrap_or(outcome.reason.sentence());
        let text = plain(text, LONGEST);
        let reason = Some(outcome.reason.word());
        let message = NotifyMessage::of(state, event, outcome.status.word());
        let next = match outcome.resume_flags() {
            Some(flags) => format!("windlass resume {}{flags}", state.run),
            None => message.next,
        };
        NotifyMessage { reason, text, next, ..message }
    }
}

fn is_one_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./@~:".contains(c))
}

/// Reduces a text to one line without control characters: a command may show it on a terminal.
fn plain(text: &str, most: usize) -> String {
    let is_seen = |c: &char| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let letters =
        text.chars().filter(is_seen).map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c });
    let line: String = letters.take(most * 4).collect();
    let line = line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn command(argv: &[&str], patience: Duration) -> NotifyCommand {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        NotifyCommand { argv, env, cwd: PathBuf::from("/"), patience }
    }

    #[test]
    fn a_command_that_hangs_is_ended_and_the_first_failure_is_told_once() {
        let begun = Instant::now();
        command(&["/bin/sh", "-c", "sleep 600"], Duration::from_millis(100)).run(b"{}".to_vec());
        assert!(begun.elapsed() < Duration::from_secs(8));
        command(&["/no/such/program"], PATIENCE).run(b"{}".to_vec());
        let told = warning().unwrap();
        assert_eq!(told, "nobody was notified: `/bin/sh` did not end within 0 s, and Windlass ended it");
        command(&["/bin/false"], PATIENCE).run(b"{}".to_vec());
        assert_eq!(warning(), None);
    }

    #[test]
    fn an_ended_command_says_how_it_ended() {
        let how = |script: &str| {
            let command = command(&["/bin/sh", "-c", script], PATIENCE);
            let args = [OsStr::new("-c"), OsStr::new(script)];
            let short = ShortProgram {
                program: Path::new("/bin/sh"),
                args: &args,
                cwd: Path::new("/"),
                env: ShortEnv::Only(&[]),
                deadline: PATIENCE,
                max_output: QUOTED,
            };
            command.how(&run_short_with(&short, Vec::new()).unwrap())
        };
        assert_eq!(
            how("echo one >&2; printf '\\033[2Jtwo\\n\\n' >&2; exit 3"),
            "ended with exit code 3: [2Jtwo"
        );
        assert_eq!(how("kill -9 $$"), "ended with a signal");
    }

    #[test]
    fn what_was_sent_is_known_also_after_half_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        assert!(sent_before(&file).is_empty());
        note(&file, "ask h\"1\n").unwrap();
        std::fs::write(&file, [std::fs::read(&file).unwrap(), b"\n\"ask ha".to_vec()].concat()).unwrap();
        note(&file, "end").unwrap();
        assert_eq!(sent_before(&file), BTreeSet::from(["ask h\"1\n".to_owned(), "end".to_owned()]));
    }

    #[test]
    fn a_text_is_one_bounded_line_without_control_characters() {
        assert_eq!(plain("a\n\tb\u{1b}]9;x\u{7}\u{202e}c\u{9b}d", 100), "a b ]9;x c d");
        assert_eq!(plain(&"x ".repeat(5000), 5), "x x x…");
        assert!(is_one_word("ask/ship@2~1") && !is_one_word("x; rm -rf ~") && !is_one_word("$(x)"));
    }
}
