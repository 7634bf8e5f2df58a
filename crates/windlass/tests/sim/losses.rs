//! What is lost when an entity of one tool runs on another tool's CLI: it is listed before the run, and no limit is lost.

use crate::place::Place;

const REVIEWER: &str = "---\nname: reviewer\ndescription: d\nmodel: opus\ntools: Read, Bash(git log:*)\nmcpServers: [db]\n---\nReview.\n";

const FLOW: &str = "\
name: flow
nodes:
  - { id: look, agent: reviewer, prompt: look, driver: codex }
  - { id: fix, prompt: fix, driver: gemini, model: opus }
";

fn place() -> Place {
    let place = Place::with_settings("[agents.codex]\nmodel = \"gpt-5\"\n");
    place.sealed.write("repo/.claude/agents/reviewer.md", REVIEWER);
    place.sealed.write("repo/.windlass/workflows/flow.yaml", FLOW);
    place
}

#[test]
fn the_check_and_a_dry_run_list_what_is_lost_with_place_and_hint() {
    let place = place();
    let model = "asks for model `opus`, which `codex` does not know, so `codex` uses `gpt-5`";
    let fix = "node `fix` asks for model `opus`, which `gemini` does not know, so `gemini` uses its default";
    let servers = "brings MCP servers, which Windlass does not start (`mcpServers`)";

    let checked = place.go(&["workflow", "check", "flow"]);
    assert_eq!(checked.code, 0, "{checked}");
    for said in [model, fix, servers, "flow.yaml:3:", "flow.yaml:4:", "hint: set `agents.codex.model`"] {
        assert!(checked.stderr.contains(said), "{said} in {checked}");
    }

    let dry = place.go(&["run", "--workflow", "flow", "--dry-run"]);
    for said in [model, fix, servers, "reviewer.md:4:1", "reviewer.md:6:1", "set `agents.gemini.model`"] {
        assert!(dry.stderr.contains(said), "{said} in {dry}");
    }
    assert_eq!(dry.stderr.matches(model).count(), 1, "{dry}");
    // On its own CLI it loses no model.
    let own = place.go(&["run", "--agent", "reviewer", "look", "--driver", "sim", "--dry-run"]);
    assert!(!own.stderr.contains("asks for model") && own.stderr.contains(servers), "{own}");
}

#[test]
fn the_check_reports_a_budget_of_money_that_could_not_hold() {
    let place = place();
    let text = "name: paid\nbudget: { cost: 1 }\nnodes:\n  - { id: look, prompt: look, driver: codex }\n";
    place.sealed.write("repo/.windlass/workflows/paid.yaml", text);
    let checked = place.go(&["workflow", "check", "paid"]);
    let said = "driver `codex` reports no cost, and its model has no price";
    assert!(checked.stderr.contains(said) && checked.stderr.contains("`[prices.\"gpt-5\"]`"), "{checked}");
    let refused = place.go(&["run", "--workflow", "paid", "--dry-run"]);
    refused.assert_refused(3, &["reports no cost, and model `gpt-5` has no price"]);

    let prices =
        "driver = \"sim\"\n[prices.\"gpt-*\"]\ninput = 1\noutput = 1\n[agents.codex]\nmodel = \"gpt-5\"\n";
    place.sealed.write("config/windlass/config.toml", prices);
    let checked = place.go(&["workflow", "check", "paid"]);
    assert!(!checked.stderr.contains("has no price"), "{checked}");
    assert_eq!(place.go(&["run", "--workflow", "paid", "--dry-run"]).code, 0);
}

#[test]
fn a_limit_that_the_driver_cannot_enforce_is_refused() {
    let place = place();
    place.sealed.write(
        "repo/.windlass/workflows/tools.yaml",
        "name: tools\nnodes:\n  - { id: look, prompt: look, tools: [Read] }\n",
    );
    let acp = ["--driver", "acp", "--agent-bin", "/bin/false", "--isolation", "minimal", "--dry-run"];
    for (run, whose) in [
        (["--agent", "reviewer", "look"].as_slice(), "agent `reviewer`"),
        (&["--workflow", "tools"], "node `look`"),
    ] {
        let words = [&["run"], run, &acp].concat();
        let refused = place.go(&words);
        refused.assert_refused(
            5,
            &[whose, "limits its tools, which `acp` cannot enforce", "--isolation-best-effort"],
        );
        let accepted = place.go(&[&words[..], &["--isolation-best-effort"]].concat());
        assert_eq!(accepted.code, 0, "{accepted}");
        assert!(accepted.stderr.contains("cannot enforce"), "{accepted}");
    }
}
