//! `windlass hint`: what to type after a name.

use std::path::PathBuf;

use serde_json::json;
use windlass_core::registry::hint;
use windlass_runtime::entities;

use super::complete;
use super::feed::{envelope, words};
use super::here::{Here, print};
use super::plain::plain_line;
use super::report::Report;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass hint commit                           [message] | --amend
  windlass hint e2e:add-tests --plugin ./e2e";

/// Say what to type after a command, a skill, an agent or a verb of Windlass
///
/// Prints an empty line where it takes no arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The name, with or without a leading slash
    #[arg(value_name = "NAME", add = complete::entities(None))]
    name: String,

    /// Load the plugin in DIR, too (may be repeated)
    #[arg(long = "plugin", value_name = "DIR")]
    plugins: Vec<PathBuf>,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Says it.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let here = Here::look()?;
    let plugins: Vec<PathBuf> = args.plugins.iter().map(|dir| here.cwd.join(dir)).collect();
    let loaded = entities::load(&here.home, &here.cwd, &plugins)?;
    let name = args.name.strip_prefix('/').unwrap_or(&args.name);
    let Some(hint) = hint(&loaded.registry, name) else {
        let text = match super::entities::any(&loaded.registry, name) {
            Some(entity) => format!("{} `{}` does not say what to type after it", entity.kind, entity.name),
            None => super::entities::unknown(&loaded.registry, name),
        };
        return Err(Report::new(Exit::Configuration, plain_line(&text))
            .hint("`windlass entities` lists everything that can be called by its name"));
    };
    if args.json {
        return print(&[envelope("hint", words::now(), None, json!({ "name": name, "hint": hint.text }))]);
    }
    print(&[plain_line(hint.text)])
}
