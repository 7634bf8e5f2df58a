//! Writes the prompt of each turn. Works in one pass: text from a user or an agent is never expanded again.

use super::completion::asked_for;
use super::{BLOCKED_MARKER, LoopRules};
use crate::event::WorkSoFar;

// The words before the forms of completion. `completion` finds the forms in a prompt by them.
pub(super) const END_WITH: &str = "end your last message with this alone on a line:\n";
pub(super) const WRITE_MARKER: &str = "write this marker alone on a line of the tracker:\n";
pub(super) const SAY: &str = "say ";
pub(super) const FIT_SCHEMA: &str = "fits this JSON Schema:\n";

/// Returns the complete prompt of the first turn, or of any turn in a new session (`fresh`).
pub fn opening(rules: &LoopRules, turn: u32, feedback: Option<&str>) -> String {
    let mut parts = vec![rules.prompt.clone()];
    if turn > 1 {
        parts.push(continue_text(rules));
    }
    parts.extend(feedback.map(str::to_owned));
    parts.extend(note(rules));
    parts.join("\n\n")
}

/// Returns the message for a session that continues, through its Stop hook or after a resume.
pub fn continuing(rules: &LoopRules, feedback: Option<&str>) -> String {
    let mut parts = vec![continue_text(rules)];
    parts.extend(feedback.map(str::to_owned));
    parts.extend(note(rules));
    parts.join("\n\n")
}

/// Returns the message for a session that was interrupted during a turn. It repeats the form of the answer that
/// `prompt`, the first message of a session without a loop, asked for.
pub fn after_interruption(rules: Option<&LoopRules>, prompt: &str) -> String {
    let mut parts = vec![
        "You were interrupted in the middle of this turn. Look at what is already done, then go on from there."
            .to_owned(),
    ];
    match rules {
        Some(rules) => parts.extend(note(rules)),
        None => parts.extend(answer_note(prompt)),
    }
    parts.join("\n\n")
}

/// Repeats the form of the answer that a prompt asked for.
fn answer_note(prompt: &str) -> Option<String> {
    let forms = asked_for(prompt);
    if let Some(schema) = &forms.schema {
        return Some(schema_note(schema));
    }
    let notes =
        forms.lines.iter().map(|line| format!("Only when this is done and verified, {END_WITH}{line}"));
    Some(notes.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty())
}

/// The length of an earlier agent's words that its successor gets, in characters.
const LAST_WORDS: usize = 4_000;

/// Returns the message for an agent that takes the work of another one over.
pub fn taken_over<'t>(work: &WorkSoFar, said: Option<&str>, told: impl Iterator<Item = &'t str>) -> String {
    let mut parts = vec![
        "Another agent worked on this before you and could not finish. You cannot see its conversation, but its work \
         is in this folder. Look at what is already done, then go on from there."
            .to_owned(),
    ];
    let list =
        |title: &str, lines: &[String]| (!lines.is_empty()).then(|| format!("{title}\n{}", listed(lines)));
    parts.extend(list("Its commits, newest first:", &work.commits));
    parts
        .extend(list("The files that it changed, with the numbers of added and removed lines:", &work.files));
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    parts.extend(said.map(|said| {
        let words: String = said.chars().take(LAST_WORDS).collect();
        format!("Its last message:\n{words}")
    }));
    parts.extend(told.map(|told| format!("It was told last:\n{told}")));
    parts.join("\n\n")
}

/// Returns the message of a person who continued the run.
pub fn from_person(message: &str) -> String {
    format!("A person continued the work and says:\n{message}")
}

/// Returns the message for an agent that said it is blocked, after a person continued the run.
pub fn unblocked(reason: &str) -> String {
    let said = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!(
        "You said that you cannot go on without a person{said}. A person has continued the work. Remove that note, \
         then go on."
    )
}

fn continue_text(rules: &LoopRules) -> String {
    let path = rules.tracker_path.as_deref().unwrap_or("");
    rules.continue_message.replace("{tracker_path}", path)
}

/// Returns the short note about the loop that every prompt contains.
fn note(rules: &LoopRules) -> Option<String> {
    if let Some(signal) = &rules.signal {
        let blocked = rules.blocked_marker.as_deref().unwrap_or(BLOCKED_MARKER);
        return Some(format!(
            "---\nYou work in a loop: after this turn you are asked again, until you end a turn with a signal. Only when \
             everything is done and verified, {END_WITH}{signal}\n\
             If you cannot go on without a person, end it instead with:\n{blocked}"
        ));
    }
    let Some(path) = rules.tracker_path.as_deref() else { return promise_note(rules) };
    let mut text = format!(
        "---\nYou work in a loop. Keep your progress in the tracker {path}: its body below the frontmatter is yours, \
         the frontmatter is not.\n"
    );
    if let Some(marker) = &rules.marker {
        text.push_str(&format!("Only when everything is done and verified, {WRITE_MARKER}{marker}\n"));
    }
    if let Some(promise) = &rules.promise {
        text.push_str(&format!(
            "Only when everything is done and verified, {SAY}<promise>{promise}</promise>.\n"
        ));
    }
    let blocked = rules.blocked_marker.as_deref().unwrap_or(BLOCKED_MARKER);
    let place = match (&rules.marker, &rules.promise) {
        (None, Some(_)) => "end your last message instead with this alone on a line",
        _ => "write this instead, alone on a line of the tracker",
    };
    text.push_str(&format!("If you cannot go on without a person, {place}:\n{blocked}"));
    Some(text)
}

/// Returns the note for a loop without a tracker, where a plugin loops. No line of it may look like a line
/// that the plugin reads itself.
fn promise_note(rules: &LoopRules) -> Option<String> {
    let promise = rules.promise.as_deref()?;
    Some(format!(
        "You work in a loop: when you stop, you are told this again. Only when everything is done and verified, {SAY}\
         <promise>{promise}</promise>, which ends it."
    ))
}

/// Returns the note for an agent that works on a task of a file.
pub fn task_note() -> String {
    format!(
        "---\nYou work on one task of a file of tasks, which is kept for you: do not change it. Only when this task is done \
         and verified, {END_WITH}<status>passing</status>\nIf it is not done, end it instead with \
         <status>failing</status>, alone on a line as well, and say before what is wrong."
    )
}

/// The maximum number of files in conflict that a message lists.
const CONFLICTS: usize = 50;

/// Returns the message for an agent whose work conflicts with its target branch. `commit` has its
/// own version of the files. `again` says that it has committed nothing since it was last told.
pub fn conflict(target: &str, files: &[String], commit: Option<&str>, again: bool) -> String {
    let opening = match again {
        true => {
            "You have committed nothing since you were told about this conflict, so it is still open.\n\n"
        }
        false => "",
    };
    let own = commit.map(|commit| format!("Your own version of a file is `git show {commit}:FILE`. "));
    format!(
        "{opening}Your work for this task cannot land: `{target}` got other changes in the same files meanwhile. These files \
         are now as on `{target}`:\n{}\n\nEverything else of your work is already merged with `{target}` in this folder. \
         {}Bring your changes into these files again, so that they fit to what is there now, and keep what others \
         changed. Check your work, commit it, and end your last message with <status>passing</status>. If `{target}` \
         already has all your changes to these files, make an empty commit that says so (`git commit --allow-empty`).",
        listed(files),
        own.unwrap_or_default(),
    )
}

/// Returns the feedback for an agent that does a task again, because earlier work could not land.
pub fn conflict_alone(target: &str, files: &[String], branch: Option<&str>) -> String {
    let earlier = branch.map(|branch| {
        format!(" The earlier work is on branch `{branch}`: look at it with `git log` and `git show`, and reuse it.")
    });
    format!(
        "Earlier work for this task could not land on `{target}`, because both changed these files:\n{}\n\nYou start again \
         from `{target}` as it is now, and no other task changes it meanwhile.{} Without a commit of yours the task is \
         not done: if `{target}` already has all that the task asks for, make an empty commit that says so \
         (`git commit --allow-empty`).",
        listed(files),
        earlier.unwrap_or_default(),
    )
}

/// Lists files, one per line. Agents choose these names, so control characters are replaced.
fn listed(files: &[String]) -> String {
    let plain = |name: &String| -> String {
        let name: String = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        format!("- {name}")
    };
    let mut lines: Vec<String> = files.iter().take(CONFLICTS).map(plain).collect();
    let more = files.len().saturating_sub(CONFLICTS);
    lines.extend((more > 0).then(|| format!("- and {more} more")));
    lines.join("\n")
}

/// Returns the note for an agent whose answer is used as a value.
pub fn schema_note(schema: &str) -> String {
    format!("---\nYour answer is read by a program: give it as JSON alone that {FIT_SCHEMA}{schema}")
}

/// Returns the note for an agent that ends with a signal.
pub fn signal_note(signal: &str) -> String {
    format!(
        "---\nThis is repeated until you end it. Only when everything is done and verified, {END_WITH}{signal}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looping::{DEFAULT_CONTINUE, LoopMode, MarkerMatch};

    fn rules() -> LoopRules {
        LoopRules {
            prompt: "Use /x {input} $ARGUMENTS {{y}} {tracker_path}".into(),
            mode: LoopMode::Fresh,
            marker: Some("DONE".into()),
            marker_match: MarkerMatch::Line,
            promise: None,
            signal: None,
            blocked_marker: None,
            max_iterations: 3,
            continue_message: DEFAULT_CONTINUE.into(),
            tracker_body: String::new(),
            tracker_path: Some("/w/loop-tracker.md".into()),
            stuck_after: 0,
        }
    }

    #[test]
    fn every_turn_names_tracker_and_markers() {
        for text in [opening(&rules(), 1, None), opening(&rules(), 2, None), continuing(&rules(), None)] {
            for part in ["/w/loop-tracker.md", "DONE", "<!-- WORKFLOW_BLOCKED: reason -->"] {
                assert!(text.contains(part), "{part} in {text}");
            }
        }
    }

    #[test]
    fn the_place_of_the_blocked_marker_is_where_it_is_looked_for() {
        let by_promise = LoopRules { marker: None, promise: Some("ALL DONE".into()), ..rules() };
        assert!(
            opening(&by_promise, 1, None)
                .contains("end your last message instead with this alone on a line:\n<!--")
        );
        assert!(opening(&rules(), 1, None).contains("alone on a line of the tracker:\n<!--"));
    }

    #[test]
    fn a_loop_without_a_tracker_says_the_promise_below_the_prompt() {
        let rules =
            LoopRules { promise: Some("ALL \"50%\"".into()), marker: None, tracker_path: None, ..rules() };
        let opening = opening(&rules, 1, None);
        let note = opening.strip_prefix(&format!("{}\n\n", rules.prompt)).expect("the prompt, byte for byte");
        assert!(note.contains("<promise>ALL \"50%\"</promise>"), "{note}");
        assert!(!note.contains('\n'), "no line is a border or a field: {note}");
        assert!(continuing(&rules, None).ends_with(note));
        assert!(after_interruption(Some(&rules), "").ends_with(note));
    }

    #[test]
    fn the_prompt_itself_is_never_expanded() {
        assert!(opening(&rules(), 2, None).starts_with("Use /x {input} $ARGUMENTS {{y}} {tracker_path}\n\n"));
    }

    #[test]
    fn a_later_fresh_turn_has_prompt_continue_message_and_feedback_in_this_order() {
        let text = opening(&rules(), 2, Some("checks fail"));
        let at = |part: &str| text.find(part).unwrap_or(usize::MAX);
        assert!(at("Use /x") < at("Continue the task. Read the tracker at /w/"));
        assert!(at("Continue the task") < at("checks fail"));
        assert!(!opening(&rules(), 1, None).contains("Continue the task"));
    }
}
