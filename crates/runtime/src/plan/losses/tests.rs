//! The files of every provider on every driver: what each session gets and loses. The table in `docs/entities.md` is
//! the one of this test; with `WINDLASS_TEST_UPDATE` set, the test writes it.

use std::fs;

use windlass_core::entity::{EntityKind, Provider};
use windlass_core::registry::losses::{LostPart, losses, model_on};
use windlass_forms::entity::{Origin, parse};

use super::*;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/entities.md");
const BEGIN: &str = "<!-- models -->\n";
const END: &str = "<!-- end of models -->\n";

/// A file of each provider, with a model, a limit with a pattern, and the keys that only its own tool uses.
const FILES: &[(Provider, EntityKind, &str)] = &[
    (
        Provider::Claude,
        EntityKind::Agent,
        "---\nname: x\ndescription: d\nmodel: opus\ntools: Read, Bash(git log:*)\nmcpServers: [db]\nhooks: {}\nskills: [a]\nmaxTurns: 3\nmemory: user\neffort: high\n---\nRead @a.md.\n",
    ),
    (
        Provider::Opencode,
        EntityKind::Agent,
        "---\nname: x\ndescription: d\nmodel: anthropic/claude-sonnet-4-5\npermission: { bash: { \"*\": deny, \"git *\": allow } }\ntemperature: 0.1\nsteps: 3\n---\nText.\n",
    ),
    (
        Provider::Copilot,
        EntityKind::Agent,
        "---\nname: x\ndescription: d\nmodel: gpt-5\ntools: [read, search]\nmcp-servers: { db: { command: x } }\nhandoffs: []\n---\nText.\n",
    ),
    (
        Provider::Codex,
        EntityKind::Agent,
        "name = \"x\"\ndescription = \"d\"\ndeveloper_instructions = \"Text.\"\nmodel = \"gpt-5.3-codex\"\nmodel_reasoning_effort = \"high\"\nsandbox_mode = \"read-only\"\n",
    ),
    (
        Provider::Gemini,
        EntityKind::Agent,
        "---\nname: x\ndescription: d\nmodel: gemini-2.5-pro\ntools: [read_file]\nmcpServers: { db: { command: x } }\ntemperature: 0.1\nmax_turns: 3\ntimeout_mins: 5\n---\nText.\n",
    ),
    (Provider::Shared, EntityKind::Skill, "---\nname: x\ndescription: d\nlicense: MIT\n---\nText.\n"),
    (
        Provider::Windlass,
        EntityKind::Agent,
        "---\nname: x\ndescription: d\nmodel: haiku\ntools: read, shell(git log *)\n---\nText.\n",
    ),
    (
        Provider::Atomic,
        EntityKind::Agent,
        "---\nname: x\ndescription: d\nmodel: sonnet\ntools: [Read]\n---\nText.\n",
    ),
];

fn entity(provider: Provider, kind: EntityKind, text: &str) -> Entity {
    let origin = Origin {
        provider,
        kind: Some(kind),
        level: Level::Project,
        distance: 0,
        path: "x",
        name: "x",
        plugin: None,
    };
    let read = parse(&origin, text);
    read.entities.into_iter().next().unwrap_or_else(|| panic!("{provider}: {:?}", read.diagnostics))
}

fn names(agents: &Agents) -> Vec<&'static str> {
    agents.iter().map(|dialect| dialect.name()).collect()
}

/// Returns the table of the models that each driver gets.
fn table(agents: &Agents) -> String {
    let names = names(agents);
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let mut text =
        format!("| file of | `model` | {} |\n|---|---|{}\n", quoted.join(" | "), "---|".repeat(names.len()));
    for (provider, kind, file) in FILES {
        let entity = entity(*provider, *kind, file);
        let Some(model) = &entity.model else { continue };
        let cell = |name: &&str| {
            let used = model_on(model, *provider, &entity_driver(agents, name));
            used.map_or_else(|| "default".to_owned(), |model| format!("`{model}`"))
        };
        let cells: Vec<String> = names.iter().map(cell).collect();
        text += &format!("| {provider} | `{}` | {} |\n", model.original, cells.join(" | "));
    }
    text
}

#[test]
fn the_page_has_the_models_that_each_driver_gets() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (found, after) = rest.split_once(END).expect("the table has an end");
    let expected = table(&Agents::default());
    if std::env::var_os("WINDLASS_TEST_UPDATE").is_some() {
        fs::write(PAGE, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    let update = "WINDLASS_TEST_UPDATE=1 cargo test -p windlass-runtime losses";
    assert!(found == expected, "docs/entities.md is not what the code says: run `{update}`");
}

/// The keys that each provider's file loses on every driver, also on its own.
#[test]
fn every_provider_loses_the_same_keys_on_every_driver_and_each_driver_keeps_or_refuses_limits() {
    let agents = Agents::default();
    let expected: &[(Provider, &[&str])] = &[
        (Provider::Claude, &["mcpServers", "hooks", "skills", "maxTurns", "effort", "memory"]),
        (Provider::Opencode, &["steps", "temperature"]),
        (Provider::Copilot, &["mcp-servers", "handoffs"]),
        (Provider::Codex, &["model_reasoning_effort"]),
        (Provider::Gemini, &["mcpServers", "max_turns", "timeout_mins", "temperature"]),
        (Provider::Shared, &[]),
        (Provider::Windlass, &[]),
        (Provider::Atomic, &[]),
    ];
    for (provider, keys) in expected {
        let (_, kind, file) =
            FILES.iter().find(|(of, _, _)| of == provider).expect("every provider has a file");
        let entity = entity(*provider, *kind, file);
        for name in names(&agents) {
            let driver = entity_driver(&agents, name);
            let all = losses(&entity, &driver, None);
            let of = |part: LostPart| all.iter().filter(move |loss| loss.part == part);
            let lost: Vec<&str> = of(LostPart::Key).filter_map(|loss| loss.key).collect();
            assert_eq!(lost, *keys, "{provider} on {name}");
            assert_eq!(of(LostPart::Tool).count(), 0, "{provider} on {name}: {all:?}");
            let is_unkept = *kind == EntityKind::Agent && !driver.keeps_tools;
            assert_eq!(of(LostPart::Limit).count(), usize::from(is_unkept), "{provider} on {name}: {all:?}");
            let model = entity.model.as_ref().map(|model| model_on(model, *provider, &driver));
            let is_lost = of(LostPart::Model).count() == 1;
            assert_eq!(is_lost, model == Some(None), "{provider} on {name}: no model is lost in silence");
        }
    }
}

#[test]
fn a_loss_has_its_place_and_says_which_model_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.md");
    let (provider, kind, text) = FILES[0];
    fs::write(&file, text).unwrap();
    let mut entity = entity(provider, kind, text);
    entity.source.path = file.display().to_string();
    let agents = Agents::default();
    let all = losses(&entity, &entity_driver(&agents, "codex"), Some("gpt-5"));
    let told: Vec<String> = all.iter().map(|loss| warning(&entity, loss).to_string()).collect();
    let first = format!(
        "agent `x` asks for model `opus`, which `codex` does not know, so `codex` uses `gpt-5`\n  at {}:4:1\n     4 | model: opus\n       | ^\n  hint: set `agents.codex.model` in your settings, or `model` of the node",
        file.display()
    );
    assert_eq!(told[0], first);
    assert!(told[1].contains("x.md:6:1") && told[1].contains("`mcpServers`"), "{}", told[1]);
}
