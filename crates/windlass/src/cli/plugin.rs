//! `windlass plugin`: lists the loaded plugins and what they contain.

use std::path::PathBuf;

use serde_json::json;
use windlass_runtime::catalog::{PluginEntry, catalog};

use super::feed::{envelope, words};
use super::invocation::{Invocation, print};
use super::report::{Report, note};
use super::sanitize::plain_line;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass plugin list
  windlass plugin list --plugin ./e2e";

/// List the loaded plugins
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: PluginCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PluginCommand {
    /// List the plugins of the settings and of --plugin
    List {
        /// Also load the plugin in DIR (may be repeated)
        #[arg(long = "plugin", value_name = "DIR")]
        plugins: Vec<PathBuf>,

        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
}

/// Runs `windlass plugin`.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let PluginCommand::List { plugins, json } = args.what;
    let invocation = Invocation::look()?;
    let found = catalog(&invocation.home, &invocation.cwd, &plugins)?;
    for problem in &found.problems {
        note(&problem.to_string());
    }
    if found.plugins.is_empty() && !json {
        note("no plugins: load one with --plugin DIR, or name its folder under `plugins` in the settings");
    }
    let lines: Vec<String> = match json {
        true => found.plugins.iter().map(object).collect(),
        false => found.plugins.iter().flat_map(describe).collect(),
    };
    let printed = print(&lines)?;
    Ok(if found.problems.iter().any(|problem| problem.is_error()) { Exit::Configuration } else { printed })
}

fn object(plugin: &PluginEntry) -> String {
    let data = json!({
        "name": plugin.name,
        "dir": plugin.dir,
        "version": plugin.version,
        "description": plugin.description,
        "has_workflow": plugin.has_workflow,
        "mcp_servers": plugin.mcp_servers,
    });
    envelope("plugin", words::now(), None, data)
}

fn describe(plugin: &PluginEntry) -> Vec<String> {
    let version =
        plugin.version.as_deref().map(|version| format!(" {}", plain_line(version))).unwrap_or_default();
    let mut lines = vec![format!("{}{version}", plain_line(&plugin.name))];
    lines.extend(plugin.description.iter().map(|text| format!("  {}", plain_line(text))));
    lines.push(format!("  in {}", plain_line(&plugin.dir.display().to_string())));
    if plugin.has_workflow {
        lines.push("  has a workflow".to_owned());
    }
    if !plugin.mcp_servers.is_empty() {
        lines.push(format!("  MCP servers: {}", plain_line(&plugin.mcp_servers.join(", "))));
    }
    lines
}
