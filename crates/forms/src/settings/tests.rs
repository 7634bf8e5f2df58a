//! Tests for merging layers, for messages about mistakes, and for the generated reference pages.

mod prices;

use std::fs;
use std::path::Path;
use std::time::Duration;

use windlass_core::hook::permission::Isolation;
use windlass_core::looping::LoopMode;
use windlass_core::spec::{OnPermission, OnQuestion, TimeLimits};

use super::budgets::BUDGET_KEYS;
use super::prices::{PRICE_KEYS, PRICES};
use super::reference::{REFERENCE, described};
use super::*;
use crate::diagnostic::{Diagnostic, Severity};

fn user(text: &str) -> Layer {
    Layer::User { file: "user.toml".into(), text: text.into() }
}

fn project(text: &str) -> Layer {
    Layer::Project { file: "project.toml".into(), text: text.into(), trust: ProjectTrust::Untrusted }
}

fn trusted(text: &str) -> Layer {
    Layer::Project { file: "project.toml".into(), text: text.into(), trust: ProjectTrust::Trusted }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Returns one `file:line:column severity message (hint)` for each diagnostic.
fn complaints(layers: Vec<Layer>) -> Vec<String> {
    resolve(layers).diagnostics.into_iter().map(told).collect()
}

fn told(d: Diagnostic) -> String {
    let place = d.place.map(|p| format!(":{}:{}", p.line, p.column)).unwrap_or_default();
    let mark = if d.severity == Severity::Error { "error" } else { "warning" };
    let hint = d.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}{place} {mark}: {}{hint}", d.file.unwrap(), d.message)
}

/// Returns `line key = value: why` for each value that needs trust.
fn requests(layers: Vec<Layer>) -> Vec<String> {
    let shown = |r: TrustRequest| format!("{} {} = {}: {}", r.source.line.unwrap(), r.key, r.value, r.why);
    resolve(layers).requests.into_iter().map(shown).collect()
}

#[test]
fn a_rule_that_could_never_hold_is_an_error_with_what_to_write() {
    for (rule, hint) in [
        ("mcp__a__b(x)", "name the tool alone"),
        ("mcp(server)", "name the server or the tool"),
        ("other(Frobnicate)", "name the tool alone"),
        ("Edit:*", "write the tool alone"),
        ("Write(.env:*)", "write `*` for any text"),
        ("Write({.env,src/**})", "write one rule for each"),
        ("Read([.]env)", "write one rule for each"),
        ("Edit(!src)", "name the files that the rule is about"),
        ("Bash(git push *|git pull *)", "write one rule for each command"),
        ("Bash(git push && git pull)", "write one rule for each command"),
        ("Bash(git pu{sh,ll} *)", "write one rule for each command"),
        ("Bash(/git push.*/)", "write the command"),
        ("Bash(^git push)", "write the command"),
    ] {
        for list in ["allow", "deny", "ask"] {
            let told = complaints(vec![user(&format!("[permissions]\n{list} = ['{rule}']\n"))]).join("\n");
            assert!(
                told.starts_with("user.toml:2:") && told.contains("has a rule that never applies"),
                "{rule}: {told}"
            );
            assert!(told.contains(rule) && told.contains(hint), "{rule}: {told}");
        }
    }
    for rule in [
        "a/b",
        "a/*",
        "WebFetch(x.com)",
        "Write(src)",
        "Bash(find * -exec rm {} *)",
        "Bash(./x/)",
        "Grep([a-z])",
    ] {
        assert_eq!(complaints(vec![user(&format!("[permissions]\ndeny = ['{rule}']\n"))]), [""; 0], "{rule}");
    }
}

#[test]
fn the_built_in_file_sets_everything_that_has_a_default() {
    let resolved = resolve(vec![]);
    assert_eq!(resolved.diagnostics, []);
    let unset: Vec<&str> =
        key::KEYS.iter().map(|key| key.name).filter(|name| !resolved.sources.contains_key(*name)).collect();
    assert_eq!(unset, ["model", "timeout"]);
    let settings = resolved.settings;
    assert_eq!((settings.driver.as_str(), settings.isolation), ("claude", Isolation::Minimal));
    assert_eq!(settings.max_iterations, windlass_core::looping::DEFAULT_MAX_ITERATIONS);
    assert_eq!(settings.stuck_after, 5);
    let limits = TimeLimits::default();
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap();
    assert_eq!(ms(settings.check_timeout), limits.check_ms);
    assert_eq!(ms(settings.grace), limits.grace_ms);
    assert_eq!(ms(settings.retry_delay), limits.retry_ms);
    assert_eq!(ms(settings.rate_limit_wait), limits.rate_limit_ms);
}

#[test]
fn every_key_is_described() {
    let described: Vec<&str> =
        REFERENCE.iter().map(|setting| setting.key.split('.').next().unwrap()).collect();
    for name in key::known_names() {
        assert!(described.contains(&name), "`{name}` is missing in settings/reference.rs");
    }
    for name in described {
        assert!(key::known_names().any(|known| known == name), "`{name}` is described and is no key");
    }
}

#[test]
fn every_example_is_valid() {
    let examples: Vec<String> =
        page().split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect();
    assert_eq!(examples.len(), REFERENCE.len());
    for example in examples {
        assert_eq!(complaints(vec![user(&example)]), Vec::<String>::new(), "{example}");
    }
}

/// Compares a file with what this crate writes for it. With `WINDLASS_TEST_UPDATE` set, writes it.
fn assert_is_written(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("WINDLASS_TEST_UPDATE").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let update = "WINDLASS_TEST_UPDATE=1 cargo test -p windlass-forms settings";
    assert!(found == expected, "{file} is not what settings/reference.rs describes: run `{update}`");
}

#[test]
fn the_built_in_file_is_the_one_described() {
    assert_is_written("src/settings/default.toml", &default_file());
}

#[test]
fn the_page_about_the_configuration_is_the_one_described() {
    assert_is_written("../../docs/configuration.md", &page());
}

#[test]
fn a_higher_layer_wins_whatever_the_order_given() {
    let layers = vec![
        Layer::Flags(pairs(&[("mode", "resume")])),
        Layer::Environment(pairs(&[
            ("WINDLASS_MODE", "plugin"),
            ("WINDLASS_DRIVER", "codex"),
            ("PATH", "x"),
        ])),
        project("driver = \"sim\"\nmax_iterations = 3\n"),
        user("max_iterations = 9\nmodel = \"opus\"\ntimeout = \"2h30m\"\n"),
    ];
    let resolved = resolve(layers);
    assert_eq!(resolved.diagnostics, []);
    let settings = &resolved.settings;
    assert_eq!(
        (settings.mode, settings.driver.as_str(), settings.max_iterations),
        (LoopMode::Resume, "codex", 3)
    );
    assert_eq!(
        (settings.model.as_deref(), settings.timeout),
        (Some("opus"), Some(Duration::from_secs(9000)))
    );
    let source = |key: &str| resolved.sources[key].to_string();
    assert_eq!(source("mode"), "--mode");
    assert_eq!(source("driver"), "WINDLASS_DRIVER");
    assert_eq!(source("max_iterations"), "project.toml:2");
    assert_eq!(source("timeout"), "user.toml:3");
    assert_eq!(source("grace"), "built-in");
    assert!(resolved.is_asked_for("mode") && !resolved.is_asked_for("max_iterations"));
}

#[test]
fn lists_grow_and_tables_merge() {
    let resolved = resolve(vec![
        user(
            "plugins = [\"~/p\"]\n[permissions]\ndeny = [\"WebFetch\"]\n[checks]\ntest = \"a\"\nlint = \"b\"\n",
        ),
        trusted(
            "plugins = [\"tools/p\"]\n[permissions]\ndeny = [\"WebFetch\", \"Bash(rm *)\"]\n[checks]\nz = \"z\"\na = \"a\"\ntest = \"c\"\n",
        ),
        Layer::Environment(pairs(&[
            ("WINDLASS_PLUGINS", "/x:/y"),
            ("WINDLASS_PERMISSIONS_ASK", "Bash(git push*), Write"),
        ])),
        Layer::Flags(pairs(&[("plugins", "a:b"), ("plugins", "c"), ("checks.check 1", "true")])),
    ]);
    assert_eq!(resolved.diagnostics, []);
    let plugins: Vec<(&str, LayerKind)> =
        resolved.settings.plugins.iter().map(|p| (p.path.as_str(), p.source.layer)).collect();
    let expected = [
        ("~/p", LayerKind::User),
        ("tools/p", LayerKind::Project),
        ("/x", LayerKind::Environment),
        ("/y", LayerKind::Environment),
        ("a:b", LayerKind::Flag),
        ("c", LayerKind::Flag),
    ];
    assert_eq!(plugins, expected);
    assert_eq!(resolved.settings.permissions.deny, ["WebFetch", "Bash(rm *)"]);
    assert_eq!(resolved.settings.permissions.ask, ["Bash(git push*)", "Write"]);
    let checks: Vec<(&str, &str)> =
        resolved.settings.checks.iter().map(|c| (c.name.as_str(), c.command.as_str())).collect();
    // The order of the files; the project's `test` takes the place of the user's.
    assert_eq!(checks, [("test", "c"), ("lint", "b"), ("z", "z"), ("a", "a"), ("check 1", "true")]);
}

#[test]
fn every_mistake_is_answered_where_it_is() {
    let text = "drvier = \"sim\"
driver = \"claud\"
max_iterations = \"15\"
stuck_after = -1
timeout = 90
grace = \"soon\"
plugins = \"x\"
isolation = { a = 1 }
mode = 1.5
checks = 3
check_timeout = \"0s\"
retry_delay = 2020-01-01
[permissions]
alow = []
deny = [\"a\", 3]
[agents.claud]
program = \"x\"
[agents.claude]
progam = \"x\"
";
    let expected = [
        "user.toml:1:1 warning: unknown key `drvier` is ignored (did you mean `driver`?)",
        "user.toml:2:10 error: `driver` must be one of `claude`, `codex`, `opencode`, `copilot`, `gemini`, `acp`, `sim`, found `claud` (did you mean `claude`?)",
        "user.toml:3:18 error: `max_iterations` must be a whole number, found a string (write it without quotes)",
        "user.toml:4:15 error: `stuck_after` must not be negative, found `-1`",
        "user.toml:5:11 error: `timeout` must be a duration such as \"90m\", found a number (write the unit: \"90s\", \"15m\", \"2h30m\")",
        "user.toml:6:9 error: `grace` must be a duration: `soon` is not a time such as `45s`, `90m` or `2h30m`",
        "user.toml:7:11 error: `plugins` must be a list, found a string (put it in square brackets)",
        "user.toml:8:13 error: `isolation` must be a string, found a table",
        "user.toml:9:8 error: `mode` must be a string, found a fraction",
        "user.toml:10:10 error: `checks` must be a table",
        "user.toml:11:17 error: `check_timeout` must be longer than zero",
        "user.toml:12:15 error: `retry_delay` must be a duration such as \"90m\", found a date",
        "user.toml:14:1 error: unknown key `permissions.alow`: ignoring it could drop a limit (did you mean `allow`?)",
        "user.toml:15:14 error: `permissions.deny` must be a string, found a number",
        "user.toml:17:11 error: `agents.claud.program` names an unknown driver: it must be one of `claude`, `codex`, `opencode`, `copilot`, `gemini`, `acp`, `sim`, found `claud` (did you mean `claude`?)",
        "user.toml:19:1 warning: unknown key `agents.claude.progam` is ignored (did you mean `program`?)",
    ];
    assert_eq!(complaints(vec![user(text)]), expected);
    // An invalid value leaves the value of the layer below.
    assert_eq!(resolve(vec![user(text)]).settings.max_iterations, 15);
}

#[test]
fn broken_toml_is_answered_with_a_place() {
    let resolved = resolve(vec![user("\u{feff}driver = \"sim\"\nmode = \n")]);
    let place = resolved.diagnostics[0].place.as_ref().unwrap();
    assert_eq!((place.line, resolved.diagnostics[0].is_error()), (2, true));
    let twice = resolve(vec![user("driver = \"sim\"\ndriver = \"acp\"\n")]);
    assert_eq!(twice.diagnostics[0].place.as_ref().unwrap().line, 2);
}

#[test]
fn variables_and_flags_are_answered_by_name() {
    let environment = Layer::Environment(pairs(&[
        ("WINDLASS_MAX_ITERATION", "3"),
        ("WINDLASS_STUCK_AFTER", "x"),
        ("WINDLASS_TIMEOUT", ""),
        ("WINDLASS_SOCKET", "/s"),
        ("WINDLASS_CRASH_AT", "3"),
        ("WINDLASS_AGENTS_CLAUDE_PROGRAM", "/bin/claude"),
    ]));
    let flags =
        Layer::Flags(pairs(&[("max_iterations", "-3"), ("on_permission", "alow"), ("nonsense", "1")]));
    let expected = [
        "WINDLASS_MAX_ITERATION warning: this variable is not a setting and is ignored (did you mean `max_iterations`?)",
        "WINDLASS_STUCK_AFTER error: `stuck_after` must be a whole number, found `x`",
        "--max-iterations error: `max_iterations` must not be negative, found `-3`",
        "--on-permission error: `on_permission` must be one of `deny`, `allow`, `fail`, `ask`, found `alow` (did you mean `allow`?)",
        "--nonsense warning: unknown key `nonsense` is ignored",
    ];
    assert_eq!(complaints(vec![environment.clone(), flags]), expected);
    let program = resolve(vec![environment]).settings.agents["claude"].program.clone();
    assert_eq!(program.as_deref(), Some("/bin/claude"));
}

/// Everything that needs trust, and some that does not.
const WIDENING: &str = r#"isolation = "permissive"
max_isolation = "permissive"
plugins = ["tools/p"]
on_permission = "allow"
on_question = "empty"
driver = "sim"
[entities]
user_path = "prompts"
[permissions]
allow = ["Bash", "Read"]
deny = ["WebFetch"]
[agents.claude]
program = "./evil"
args = ["--dangerously-skip-permissions"]
[checks]
test = "make test"
"#;

#[test]
fn a_project_widens_nothing_until_it_is_trusted() {
    let mine = "isolation = \"strict\"\nmax_isolation = \"minimal\"\non_permission = \"fail\"\n";
    let expected = [
        r#"1 isolation = "permissive": it lets agents do more"#,
        r#"2 max_isolation = "permissive": it lets workflows ask for more"#,
        r#"3 plugins = ["tools/p"]: its hooks and MCP servers run unasked"#,
        r#"4 on_permission = "allow": it lets agents do more"#,
        r#"5 on_question = "empty": it answers questions for you"#,
        r#"8 entities.user_path = "prompts": it replaces your own prompts"#,
        r#"10 permissions.allow = ["Bash", "Read"]: it lets agents do more"#,
        r#"13 agents.claude.program = "./evil": it names a program to run"#,
        r#"14 agents.claude.args = ["--dangerously-skip-permissions"]: it names a program to run"#,
    ];
    assert_eq!(requests(vec![project(WIDENING), user(mine)]), expected);
    assert_eq!(requests(vec![trusted(WIDENING), user(mine)]), expected);
    assert_eq!(requests(vec![user(WIDENING)]), [""; 0]);

    let left_out = resolve(vec![project(WIDENING), user(mine)]);
    assert_eq!(left_out.diagnostics, []);
    let warnings: Vec<String> = left_out.withheld().map(|request| told(request.warning.clone())).collect();
    assert_eq!(warnings.len(), expected.len());
    assert_eq!(
        warnings[6],
        "project.toml:10:1 warning: `permissions.allow` needs your trust: it lets agents do more"
    );
    let settings = left_out.settings;
    let without = resolve(vec![user(mine)]).settings;
    assert_eq!((settings.isolation, settings.max_isolation), (Isolation::Strict, Isolation::Minimal));
    assert_eq!((settings.on_permission, settings.on_question), (OnPermission::Fail, OnQuestion::Fail));
    assert_eq!((settings.plugins, settings.agents), (without.plugins, without.agents));
    assert_eq!((settings.entities, settings.permissions.allow), (without.entities, vec![]));
    // The rest of the file applies.
    assert_eq!((settings.driver.as_str(), &settings.permissions.deny[..]), ("sim", &["WebFetch".into()][..]));
    assert_eq!(settings.checks[0].command, "make test");

    let granted = resolve(vec![trusted(WIDENING), user(mine)]);
    assert_eq!((granted.withheld().count(), granted.diagnostics.len()), (0, 0));
    assert_eq!(granted.settings.isolation, Isolation::Permissive);
    assert_eq!(granted.settings.permissions.allow, ["Bash", "Read"]);
    assert_eq!(granted.settings.agents["claude"].program.as_deref(), Some("./evil"));
}

#[test]
fn trust_is_about_the_values_that_widen() {
    let mine = "isolation = \"minimal\"\n[permissions]\nallow = [\"Read\"]\n";
    for same_or_stricter in [
        "isolation = \"minimal\"\n",
        "isolation = \"strict\"\nmax_isolation = \"minimal\"\n",
        "on_permission = \"ask\"\non_question = \"wait\"\n",
        "[permissions]\ndeny = [\"Bash\"]\nask = [\"Write\"]\n",
        "driver = \"sim\"\nmodel = \"m\"\nmax_iterations = 0\ntimeout = \"9h\"\n[checks]\na = \"b\"\n",
    ] {
        assert_eq!(requests(vec![project(same_or_stricter), user(mine)]), [""; 0], "{same_or_stricter}");
    }
    // The user's own settings decide what a higher value is.
    let asked = requests(vec![project("isolation = \"minimal\"\n"), user("isolation = \"strict\"\n")]);
    assert_eq!(asked, [r#"1 isolation = "minimal": it lets agents do more"#]);
}

#[test]
fn a_wrong_value_is_an_error_whether_it_is_trusted_or_not() {
    let text = "on_permission = \"alow\"\nplugins = \"p\"\n[permissions]\nallow = [3]\n";
    let errors = complaints(vec![trusted(text)]);
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert_eq!(complaints(vec![project(text)]), errors);
    assert_eq!(requests(vec![project(text)]), [""; 0]);
}

#[test]
fn every_key_says_whether_it_needs_trust() {
    let tables = [
        ("notify", key::NOTIFY_KEYS),
        ("permissions", key::RULE_LISTS),
        ("entities", key::ENTITY_KEYS),
        ("agents", key::AGENT_KEYS),
        ("budgets", BUDGET_KEYS),
        (PRICES, PRICE_KEYS),
    ];
    let mut paths: Vec<Vec<&str>> = key::KEYS.iter().map(|key| vec![key.name]).collect();
    for (table, keys) in tables {
        let path = |key: &&'static str| match table {
            "agents" | "budgets" | PRICES => vec![table, "claude", *key],
            _ => vec![table, *key],
        };
        paths.extend(keys.iter().map(path));
    }
    paths.push(vec!["checks", "test"]);
    for path in &paths {
        assert!(described(path).is_some(), "{path:?} is missing in settings/reference.rs");
    }
    assert_eq!(paths.len(), REFERENCE.len());
    let known: Vec<&str> = paths.iter().map(|path| path[0]).collect();
    assert!(key::known_names().all(|name| known.contains(&name)), "a table is missing in this test");
}

#[test]
fn a_project_may_tighten() {
    let text = "max_isolation = \"strict\"\non_permission = \"fail\"\non_question = \"wait\"\n";
    let resolved = resolve(vec![project(text)]);
    assert_eq!(resolved.diagnostics, []);
    let settings = resolved.settings;
    assert_eq!((settings.isolation, settings.max_isolation), (Isolation::Strict, Isolation::Strict));
    assert_eq!((settings.on_permission, settings.on_question), (OnPermission::Fail, OnQuestion::Wait));
}

#[test]
fn a_project_may_make_the_isolation_stricter_and_never_looser() {
    let of = |mine: &str, theirs: &str| {
        let layer = |word: &str| format!("isolation = \"{word}\"\n");
        resolve(vec![user(&layer(mine)), project(&layer(theirs))])
    };
    assert_eq!(of("minimal", "strict").settings.isolation, Isolation::Strict);
    let looser = of("strict", "permissive");
    assert_eq!(looser.settings.isolation, Isolation::Strict);
    assert_eq!(looser.withheld().count(), 1, "{looser:?}");
    let alone = resolve(vec![project("isolation = \"permissive\"\n")]);
    assert_eq!(alone.settings.isolation, Isolation::Minimal);
}

#[test]
fn nobody_gets_more_than_the_most_isolation_allows() {
    let most = || user("max_isolation = \"strict\"\n");
    let above = "`isolation` `permissive` is above `max_isolation`, which is `strict`";
    let by_flag = vec![most(), Layer::Flags(pairs(&[("isolation", "permissive")]))];
    assert_eq!(resolve(by_flag.clone()).settings.isolation, Isolation::Strict);
    assert_eq!(complaints(by_flag), [format!("--isolation error: {above}")]);
    let by_project = vec![most(), project("isolation = \"permissive\"\n")];
    assert_eq!(resolve(by_project.clone()).settings.isolation, Isolation::Strict);
    assert_eq!(resolve(by_project).withheld().count(), 1);
    let by_trusted = vec![most(), trusted("isolation = \"permissive\"\n")];
    assert_eq!(resolve(by_trusted.clone()).settings.isolation, Isolation::Strict);
    assert_eq!(complaints(by_trusted), [format!("project.toml:1 warning: {above}")]);
    assert_eq!(complaints(vec![most()]), Vec::<String>::new());
}

#[test]
fn every_value_is_shown_with_its_source() {
    let resolved = resolve(vec![user(
        "model = \"a\\\"b\"\nplugins = [\"p\"]\n[checks]\ntest = \"a\\nb\"\n[agents.sim]\nargs = [\"-x\"]\nmodel = \"m\"\n",
    )]);
    let shown: Vec<String> =
        resolved.show().into_iter().map(|s| format!("{} = {}  # {}", s.key, s.value, s.source)).collect();
    let expected = [
        "driver = \"claude\"  # built-in",
        "model = \"a\\\"b\"  # user.toml:1",
        "fallback = []  # built-in",
        "switch_back = false  # built-in",
        "isolation = \"minimal\"  # built-in",
        "max_isolation = \"permissive\"  # built-in",
        "plugins = [\"p\"]  # user.toml:2",
        "max_iterations = 15  # built-in",
        "mode = \"fresh\"  # built-in",
        "stuck_after = 5  # built-in",
        "check_timeout = \"10m\"  # built-in",
        "grace = \"5s\"  # built-in",
        "retry_delay = \"2s\"  # built-in",
        "rate_limit_wait = \"5m\"  # built-in",
        "on_permission = \"deny\"  # built-in",
        "on_question = \"fail\"  # built-in",
        "durability = \"full\"  # built-in",
        "checks.test = \"a\\nb\"  # user.toml:4",
        "permissions.allow = []  # built-in",
        "permissions.deny = []  # built-in",
        "permissions.ask = []  # built-in",
        "entities.providers = [\"windlass\", \"claude\", \"opencode\", \"copilot\", \"codex\", \"gemini\", \"shared\", \"atomic\"]  # built-in",
        "notify.command = []  # built-in",
        "notify.bell = false  # built-in",
        "notify.osc9 = false  # built-in",
        "agents.sim.args = [\"-x\"]  # user.toml:6",
        "agents.sim.model = \"m\"  # user.toml:7",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_value_that_needs_trust_is_shown_as_trusted_or_left_out() {
    let mine = user("[permissions]\nallow = [\"Read\"]\n");
    let theirs = "[permissions]\nallow = [\"Bash\"]\n[agents.sim]\nargs = [\"-x\"]\n";
    let about = |layer: Layer| -> Vec<String> {
        let lines = resolve(vec![mine.clone(), layer]).show().into_iter();
        let lines = lines.filter(|s| s.key == "permissions.allow" || s.key == "agents.sim.args");
        lines.map(|s| format!("{} = {}  # {} {:?}", s.key, s.value, s.source, s.trusted)).collect()
    };
    assert_eq!(
        about(project(theirs)),
        [
            r#"permissions.allow = ["Read"]  # user.toml:2 None"#,
            r#"permissions.allow = ["Bash"]  # project.toml:2 Some(false)"#,
            r#"agents.sim.args = ["-x"]  # project.toml:4 Some(false)"#,
        ]
    );
    assert_eq!(
        about(trusted(theirs)),
        [
            r#"permissions.allow = ["Read", "Bash"]  # project.toml:2 Some(true)"#,
            r#"agents.sim.args = ["-x"]  # project.toml:4 Some(true)"#,
        ]
    );
}

#[test]
fn where_entities_are_looked_for_is_set_by_layers_and_not_led_astray_by_a_project() {
    use windlass_core::entity::Provider;
    assert_eq!(resolve(vec![]).settings.entities.providers, Provider::ALL);
    let theirs = "[entities]\nproviders = [\"gemini\"]\nproject_path = \"..\"\nuser_path = \"evil\"\n";
    let mine = "[entities]\nuser_path = \"/mine\"\nproviders = [\"claude\", \"codex\", \"claude\"]\n";
    let layers = vec![user(mine), project(theirs)];
    assert_eq!(requests(layers.clone()), [r#"4 entities.user_path = "evil": it replaces your own prompts"#]);
    let resolved = resolve(layers);
    let entities = &resolved.settings.entities;
    assert_eq!(entities.providers, [Provider::Gemini]);
    assert_eq!(entities.project_path.as_deref(), Some(".."));
    assert_eq!(entities.user_path.as_deref(), Some("/mine"));
    assert_eq!(resolved.sources["entities.project_path"].to_string(), "project.toml:3");

    let environment = Layer::Environment(pairs(&[
        ("WINDLASS_ENTITIES_PROVIDERS", "claude, codex"),
        ("WINDLASS_ENTITIES_USER_PATH", "/x"),
    ]));
    let flags = Layer::Flags(pairs(&[("entities.providers", "atomic,shared")]));
    let resolved = resolve(vec![user(mine), environment.clone()]);
    assert_eq!(resolved.settings.entities.providers, [Provider::Claude, Provider::Codex]);
    assert_eq!(resolved.settings.entities.user_path.as_deref(), Some("/x"));
    let resolved = resolve(vec![environment, flags]);
    assert_eq!(resolved.settings.entities.providers, [Provider::Atomic, Provider::Shared]);
}

#[test]
fn a_command_to_notify_is_a_list_and_the_terminal_has_switches() {
    let mine = "[notify]\ncommand = [\"tell\", \"a b\"]\nbell = true\n";
    let theirs = "[notify]\ncommand = [\"./evil\"]\nosc9 = true\n";
    let resolved = resolve(vec![user(mine), project(theirs)]);
    let notify = &resolved.settings.notify;
    assert_eq!((notify.command.join("|").as_str(), notify.bell, notify.osc9), ("tell|a b", true, true));
    assert_eq!(
        requests(vec![project(theirs)]),
        [r#"2 notify.command = ["./evil"]: it names a program to run"#]
    );
    let variables = Layer::Environment(pairs(&[
        ("WINDLASS_NOTIFY_COMMAND", "tell me"),
        ("WINDLASS_NOTIFY_BELL", "false"),
        ("WINDLASS_NOTIFY_OSC9", "yes"),
    ]));
    let notify = resolve(vec![user(mine), variables.clone()]).settings.notify;
    assert_eq!((notify.command.join("|").as_str(), notify.bell), ("tell|me", false));
    assert_eq!(
        complaints(vec![variables]),
        ["WINDLASS_NOTIFY_OSC9 error: `notify.osc9` must be true or false, found `yes`"]
    );
    assert_eq!(
        complaints(vec![user("[notify]\ncommand = \"tell me\"\nbell = \"true\"\nosc = true\n")]),
        [
            "user.toml:2:11 error: `notify.command` must be a list, found a string (put it in square brackets)",
            "user.toml:3:8 error: `notify.bell` must be true or false, found a string (write it without quotes)",
            "user.toml:4:1 warning: unknown key `notify.osc` is ignored (did you mean `osc9`?)",
        ]
    );
}

#[test]
fn mistakes_about_entities_are_answered_where_they_are() {
    let text = "[entities]\nproviders = [\"claude\", \"claud\"]\nuser_path = 3\nproject_pth = \"x\"\n";
    let known = "`windlass`, `claude`, `opencode`, `copilot`, `codex`, `gemini`, `shared`, `atomic`";
    let expected = [
        format!(
            "user.toml:2:24 error: `entities.providers` must be one of {known}, found `claud` (did you mean `claude`?)"
        ),
        "user.toml:3:13 error: `entities.user_path` must be a string, found a number".to_owned(),
        "user.toml:4:1 warning: unknown key `entities.project_pth` is ignored (did you mean `project_path`?)"
            .to_owned(),
    ];
    assert_eq!(complaints(vec![user(text)]), expected);
    assert_eq!(
        complaints(vec![user("entities = 3\n")]),
        ["user.toml:1:12 error: `entities` must be a table"]
    );
}

#[test]
fn a_limit_with_a_typo_in_its_key_is_an_error_in_every_layer() {
    let hold = "ignoring it could drop a limit";
    for (text, expected) in [
        ("[permissions]\ndenny = [\"Write\"]\n", format!("user.toml:2:1 error: unknown key `permissions.denny`: {hold} (did you mean `deny`?)")),
        ("[permissions]\nwhatever = 1\n", format!("user.toml:2:1 error: unknown key `permissions.whatever`: {hold}")),
        ("[permissions.deny]\nx = 1\n", "user.toml:1:1 error: `permissions.deny` must be a list of strings, found a table".to_owned()),
        ("[permission]\ndeny = [\"Write\"]\n", format!("user.toml:1:2 error: unknown key `permission`: {hold} (did you mean `permissions`?)")),
        ("on_permision = \"deny\"\n", format!("user.toml:1:1 error: unknown key `on_permision`: {hold} (did you mean `on_permission`?)")),
        ("isolaton = \"strict\"\n", format!("user.toml:1:1 error: unknown key `isolaton`: {hold} (did you mean `isolation`?)")),
        ("on_permission = \"dney\"\n", "user.toml:1:17 error: `on_permission` must be one of `deny`, `allow`, `fail`, `ask`, found `dney` (did you mean `deny`?)".to_owned()),
    ] {
        assert_eq!(complaints(vec![user(text)]), [expected], "{text}");
    }
    let of_project = project("[permissions]\ndenny = [\"Write\"]\n");
    assert_eq!(
        complaints(vec![of_project]),
        [format!("project.toml:2:1 error: unknown key `permissions.denny`: {hold} (did you mean `deny`?)")]
    );
    let pair = |name: &str, value: &str| Layer::Environment(pairs(&[(name, value)]));
    assert_eq!(
        complaints(vec![pair("WINDLASS_PERMISSIONS_DENNY", "Write")]),
        [format!(
            "WINDLASS_PERMISSIONS_DENNY error: unknown key `permissions.denny`: {hold} (did you mean `deny`?)"
        )]
    );
    assert_eq!(
        complaints(vec![pair("WINDLASS_PERMISSION_DENY", "Write")]),
        [format!(
            "WINDLASS_PERMISSION_DENY error: this variable is not a setting: {hold} (did you mean `permissions_deny`?)"
        )]
    );
    assert_eq!(
        complaints(vec![pair("WINDLASS_PERMISSIONS_DENY", "Read, Bsh(git *)")]),
        [
            "WINDLASS_PERMISSIONS_DENY error: `permissions.deny` has a rule about a tool that no agent CLI has: `Bsh(git *)` (did you mean `Bash`?)"
        ]
    );
}

#[test]
fn a_rule_that_could_never_match_is_an_error() {
    let rule = |list: &str, rule: &str| {
        complaints(vec![user(&format!("[permissions]\n{list} = [\"Read\", '{rule}']\n"))])
    };
    for good in [
        "Write",
        "write",
        "write_file",
        "Bash(git push:*)",
        "Bash(git *)",
        "Edit(src/**)",
        "WebFetch(domain:x.org)",
        "mcp__github",
        "mcp__github__*",
        "mcp__github__get",
        "mcp_*",
        "Web*",
        "*",
        "Task(explore)",
        "BrandNew*",
        "NotebookEdit",
    ] {
        for list in ["allow", "deny", "ask"] {
            assert_eq!(rule(list, good), [""; 0], "{list} {good}");
        }
    }
    for (bad, why) in [
        ("Bsh(git *)", "has a rule about a tool that no agent CLI has: `Bsh(git *)` (did you mean `Bash`?)"),
        (
            "Teleport",
            "has a rule about a tool that no agent CLI has: `Teleport` (write `NAME*` for a tool that Windlass does not know)",
        ),
        (
            "Bash(git",
            "has a rule that cannot be understood: `Bash(git` (write a tool, with a pattern in brackets or without: `Bash(git push:*)`)",
        ),
        (
            "Bash()",
            "has a rule that cannot be understood: `Bash()` (write a tool, with a pattern in brackets or without: `Bash(git push:*)`)",
        ),
        (
            "git push",
            "has a rule about a tool that no agent CLI has: `git push` (write `NAME*` for a tool that Windlass does not know)",
        ),
        ("TodoWrite", "has a rule that never applies: `TodoWrite` is always allowed"),
    ] {
        assert_eq!(rule("deny", bad), [format!("user.toml:2:17 error: `permissions.deny` {why}")]);
        assert_eq!(rule("ask", bad), [format!("user.toml:2:16 error: `permissions.ask` {why}")]);
    }
}
