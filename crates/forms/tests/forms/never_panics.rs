//! No text makes a reader panic, and what is written is read back.

use proptest::prelude::*;
use windlass_core::looping::MarkerMatch;
use windlass_core::time::Moment;
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::loop_state::{self, LoopState};
use windlass_forms::settings::{Layer, ProjectTrust, parse_duration, resolve};
use windlass_forms::tracker::{
    Markers, TrackerFrontmatter, find_promise, render, scan, set_frontmatter, split,
};
use windlass_forms::workflow::{apply_template, parse_plugin_ref, parse_workflow_json};
use windlass_forms::{diagnostic::Severity, plugin};

/// Any text, and text made of the pieces a format is made of.
fn text_of(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let pieces =
        prop::collection::vec(prop::sample::select(pieces), 0..40).prop_map(|pieces| pieces.concat());
    prop_oneof![any::<String>(), pieces]
}

const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "\\u",
    "d800",
    "name",
    "\"name\"",
    "\"loop\"",
    "\"enabled\"",
    "true",
    "null",
    "-",
    "0",
    "1e9",
    ".",
    "//",
    "\n",
    " ",
    "é",
    "\u{feff}",
    "\"promptTemplate\"",
    "\"plugins\"",
    "\"checks\"",
    "\u{1b}",
];
const MARKDOWN: &[&str] = &[
    "---",
    "\n",
    "\r\n",
    "```",
    "~~~",
    "````",
    " ",
    "    ",
    "\t",
    "iteration:",
    "active:",
    " # ",
    "#",
    "DONE",
    "é",
    "\u{feff}",
    "<!-- WORKFLOW_BLOCKED",
    ": why",
    " -->",
    "<promise>",
    "</promise>",
    "completion_marker:",
    "7",
    "true",
];
const TOML: &[&str] = &[
    "driver",
    "timeout",
    " = ",
    "\"",
    "'''",
    "\"2h\"",
    "[",
    "]",
    "[checks]",
    "[agents.claude]",
    "[permissions]",
    "deny",
    "{",
    "}",
    ",",
    "\n",
    "1",
    "0x",
    "true",
    "é",
    "\u{feff}",
    "#",
    ".",
    "plugins",
    "\\",
    "2020-01-01",
];

fn is_harmless(diagnostics: &[Diagnostic]) -> bool {
    let shown: Vec<String> = diagnostics.iter().map(Diagnostic::to_string).collect();
    shown.iter().all(|text| text.chars().all(|c| c == '\n' || !c.is_control()))
}

proptest! {
    // A failure is kept as a test with a name, not as a seed in a file.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_documents(text in text_of(JSON)) {
        let (workflow, diagnostics) = parse_workflow_json(&text, "workflow.json");
        prop_assert_eq!(workflow.is_none(), diagnostics.iter().any(|d| d.severity == Severity::Error));
        prop_assert!(is_harmless(&diagnostics));
        prop_assert!(is_harmless(&plugin::parse_plugin_json(&text, "plugin.json").1));
        prop_assert!(is_harmless(&plugin::mcp_server_names(&text, ".mcp.json").1));
        let _ = parse_plugin_ref(&text);
    }

    #[test]
    fn trackers(body in text_of(MARKDOWN), template in text_of(MARKDOWN), marker in text_of(MARKDOWN)) {
        for how in [MarkerMatch::Line, MarkerMatch::LastLine, MarkerMatch::Anywhere] {
            let markers = Markers { complete: Some(&marker), blocked: Markers::DEFAULT_BLOCKED, how };
            scan(&body, &template, markers);
            if how == MarkerMatch::Line {
                let untouched = scan(&template, &template, markers);
                prop_assert!(!untouched.complete && untouched.blocked.is_none());
            }
        }
        find_promise(&body, &marker);
        loop_state::parse(&body);
        let updated = set_frontmatter(&body, 7, false);
        prop_assert_eq!(split(&updated).1.len(), if split(&body).0.is_some() { split(&body).1.len() } else { body.len() });
        prop_assert_eq!(set_frontmatter(&updated, 7, false), updated);
    }

    #[test]
    fn settings(
        user in text_of(TOML),
        project in text_of(TOML),
        is_trusted in any::<bool>(),
        name in "[A-Z_]{0,12}",
        value in any::<String>(),
    ) {
        let trust = if is_trusted { ProjectTrust::Trusted } else { ProjectTrust::Untrusted };
        let resolved = resolve(vec![
            Layer::User { file: "u".into(), text: user },
            Layer::Project { file: "p".into(), text: project, trust },
            Layer::Environment(vec![(format!("WINDLASS_{name}"), value.clone())]),
            Layer::Flags(vec![("timeout".into(), value.clone()), (value.clone(), value.clone())]),
        ]);
        prop_assert!(is_harmless(&resolved.diagnostics));
        prop_assert!(resolved.requests.iter().all(|request| request.is_granted == is_trusted));
        prop_assert!(resolved.settings.isolation <= resolved.settings.max_isolation);
        resolved.show();
        let _ = parse_duration(&value);
    }

    #[test]
    fn what_is_written_is_read_back(body in text_of(MARKDOWN), marker in any::<String>(), prompt in text_of(MARKDOWN)) {
        let frontmatter = TrackerFrontmatter {
            run: &marker, iteration: 3, max_iterations: 15, completion_marker: Some(&marker), active: true, started_at: Moment(0),
        };
        let text = render(&frontmatter, &body);
        let body = body.strip_prefix('\u{feff}').unwrap_or(&body);
        prop_assert_eq!(split(&text).1.trim_end_matches('\n'), body.trim_end_matches('\n'));
        let state = LoopState {
            active: true, iteration: 2, max_iterations: 9, completion_promise: Some(&marker), session_id: Some(&marker),
            started_at: Moment(0), prompt: &prompt,
        };
        let text = loop_state::render(&state);
        prop_assert_eq!(loop_state::parse(&text).map(|progress| progress.iteration), Some(2));
        prop_assert_eq!(text.split('\n').filter(|line| *line == "---").count(), 2);
    }

    #[test]
    fn the_input_arrives_byte_for_byte(before in "[^{}]*", input in any::<String>(), after in "[^{}]*") {
        prop_assert_eq!(apply_template(&format!("{before}{{input}}{after}"), &input), format!("{before}{input}{after}"));
    }
}
