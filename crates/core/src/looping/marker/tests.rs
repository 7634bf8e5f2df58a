//! Tests for telling the markers that the agent wrote from those that it only mentions.

use super::*;

const DONE: &str = "<!-- WORKFLOW_COMPLETE -->";

fn look(body: &str, template: &str, how: MarkerMatch) -> Scan {
    scan(body, template, Markers { complete: Some(DONE), blocked: Markers::DEFAULT_BLOCKED, how })
}

fn is_complete(body: &str) -> bool {
    look(body, "# Progress\n", MarkerMatch::Line).complete
}

#[test]
fn a_marker_alone_on_a_line_completes() {
    let bodies = [
        format!("# Progress\n{DONE}"),
        format!("# Progress\n\n{DONE}\n\n\n  \n"),
        format!("{DONE}\nmore text after it\n"),
        format!("# Progress\r\n   {DONE}  \t\r\n"),
        format!("\u{feff}{DONE}"),
        format!("```\ncode\n```\n{DONE}\n"),
        format!("```` `x` ```` is inline\n{DONE}\n"),
        format!("`` two ticks ``\n~~ no ~~\n{DONE}\n"),
    ];
    for body in bodies {
        assert!(is_complete(&body), "{body:?}");
    }
}

#[test]
fn a_marker_in_prose_or_in_code_does_not() {
    let bodies = [
        format!("When done I write {DONE}\n"),
        format!("- {DONE}\n> {DONE}\n`{DONE}`\n"),
        format!("```\n{DONE}\n```\nnext: run tests\n"),
        format!("~~~ text\n{DONE}\n~~~\n"),
        format!("  ```md\n  {DONE}\n  ```\n"),
        // a longer fence holds a shorter one, and another kind
        format!("````\n```\n{DONE}\n```\n{DONE}\n````\n"),
        format!("```\n~~~\n{DONE}\n"),
        // what has an info string closes nothing
        format!("```\n``` js\n{DONE}\n"),
        // unclosed runs to the end
        format!("~~~\n{DONE}\n"),
        // indented code, and a fence within a list
        format!("    {DONE}\n\t{DONE}\n"),
        format!("1. like so:\n    ```\n    {DONE}\n    ```\n"),
        DONE.replace("COMPLETE", "COMPLETED"),
        "WORKFLOW_COMPLETE\n".to_owned(),
        String::new(),
    ];
    for body in bodies {
        assert!(!is_complete(&body), "{body:?}");
    }
}

#[test]
fn a_marker_the_template_brought_is_not_the_agents() {
    let template = format!("# Progress\nWhen done, add this line:\n{DONE}\n");
    assert!(!look(&template, &template, MarkerMatch::Line).complete);
    assert!(!look(&format!("{DONE}\nmoved up\n"), &template, MarkerMatch::Line).complete);
    assert!(look(&format!("{template}{DONE}\n"), &template, MarkerMatch::Line).complete);
    // In the template's fence it was only shown.
    let shown = format!("```\n{DONE}\n```\n");
    assert!(look(&format!("{shown}{DONE}\n"), &shown, MarkerMatch::Line).complete);
}

#[test]
fn the_last_line_is_the_last_that_is_not_blank() {
    let cases = [
        (format!("text\n{DONE}\n\n  \n"), true),
        (format!("{DONE}\nnext: run tests\n"), false),
        (format!("text {DONE}"), false),
        (String::new(), false),
    ];
    for (body, expected) in cases {
        assert_eq!(look(&body, "# x", MarkerMatch::LastLine).complete, expected, "{body:?}");
    }
    let template = format!("write\n{DONE}\n");
    assert!(!look(&template, &template, MarkerMatch::LastLine).complete);
    assert!(look(&format!("{template}{DONE}\n"), &template, MarkerMatch::LastLine).complete);
}

#[test]
fn anywhere_is_anywhere_but_in_our_own_frontmatter() {
    assert!(look(&format!("x {DONE} y"), "", MarkerMatch::Anywhere).complete);
    assert!(look(&format!("```\n{DONE}"), DONE, MarkerMatch::Anywhere).complete);
    assert!(!look("x", "", MarkerMatch::Anywhere).complete);
    let broken = format!("---\ncompletion_marker: \"{DONE}\"\nactive: true\n# the closing line is gone\n");
    assert!(!look(&broken, "", MarkerMatch::Anywhere).complete);
}

#[test]
fn without_a_marker_nothing_completes() {
    for complete in [None, Some(""), Some("  ")] {
        for how in [MarkerMatch::Line, MarkerMatch::LastLine, MarkerMatch::Anywhere] {
            let markers = Markers { complete, blocked: Markers::DEFAULT_BLOCKED, how };
            assert!(!scan("\n\nx\n", "", markers).complete, "{complete:?} {how:?}");
        }
    }
}

#[test]
fn a_blocked_mark_has_a_reason_or_none() {
    let cases = [
        ("<!-- WORKFLOW_BLOCKED: no network -->", Some("no network")),
        ("text\n  <!-- WORKFLOW_BLOCKED: a: b -->  \r\n", Some("a: b")),
        ("<!-- WORKFLOW_BLOCKED -->", Some("")),
        ("<!-- WORKFLOW_BLOCKED:-->", Some("")),
        ("<!-- WORKFLOW_BLOCKED-->", Some("")),
        ("<!-- WORKFLOW_BLOCKED: one -->\n<!-- WORKFLOW_BLOCKED: two -->", Some("two")),
        ("<!-- WORKFLOW_BLOCKEDX -->", None),
        ("<!-- WORKFLOW_BLOCKED no colon -->", None),
        ("<!-- WORKFLOW_BLOCKED: never closed", None),
        ("I would write <!-- WORKFLOW_BLOCKED: x -->", None),
        ("```\n<!-- WORKFLOW_BLOCKED: x -->\n```", None),
        ("WORKFLOW_BLOCKED", None),
    ];
    for (body, reason) in cases {
        assert_eq!(look(body, "", MarkerMatch::Line).blocked.as_deref(), reason, "{body:?}");
    }
}

#[test]
fn a_blocked_mark_of_the_template_is_not_the_agents() {
    let template = "If stuck:\n<!-- WORKFLOW_BLOCKED: reason -->\n";
    assert_eq!(look(template, template, MarkerMatch::Line).blocked, None);
    let added = format!("{template}<!-- WORKFLOW_BLOCKED: no key -->\n");
    assert_eq!(look(&added, template, MarkerMatch::Line).blocked.as_deref(), Some("no key"));
    let same = format!("{template}<!-- WORKFLOW_BLOCKED: reason -->\n");
    assert_eq!(look(&same, template, MarkerMatch::Line).blocked.as_deref(), Some("reason"));
}

#[test]
fn a_workflow_may_choose_its_own_blocked_mark() {
    let cases = [
        ("STUCK", "STUCK: why", Some("why")),
        ("STUCK", "STUCK", Some("")),
        ("STUCK", "STUCKY", None),
        ("<!-- HALT -->", "<!-- HALT: why -->", Some("why")),
        (crate::looping::BLOCKED_MARKER, "<!-- WORKFLOW_BLOCKED: why -->", Some("why")),
        ("", ": x", None),
    ];
    for (blocked, body, reason) in cases {
        let markers = Markers { complete: None, blocked, how: MarkerMatch::Line };
        assert_eq!(scan(body, "", markers).blocked.as_deref(), reason, "{blocked} {body}");
    }
}
