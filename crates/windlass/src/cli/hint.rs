//! `windlass hint`: shows the arguments of an entity or a verb.

use std::path::PathBuf;

use serde_json::json;
use windlass_core::registry::hint;

use super::complete;
use super::entities::{load, unknown};
use super::feed::{envelope, words};
use super::invocation::{Invocation, print};
use super::report::Report;
use super::sanitize::plain_line;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass hint commit                           [message] | --amend
  windlass hint e2e:add-tests --plugin ./e2e";

/// Show the arguments of a command, skill, agent or verb
///
/// Prints an empty line if there are no arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of an entity or of a verb of Windlass; a leading slash is ignored
    #[arg(value_name = "NAME", add = complete::entities_and_verbs())]
    name: String,

    /// Also load the plugin in DIR (may be repeated)
    #[arg(long = "plugin", value_name = "DIR")]
    plugins: Vec<PathBuf>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Runs `windlass hint`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let loaded = load(&invocation, &args.plugins)?;
    let name = args.name.strip_prefix('/').unwrap_or(&args.name);
    let hint = match hint(&loaded.registry, name) {
        Some(hint) => hint.text,
        // The entity exists and declares no arguments.
        None if !loaded.registry.find(name).is_empty() => "",
        None => return Err(unknown(&loaded, name)),
    };
    if args.json {
        return print(&[envelope("hint", words::now(), None, json!({ "name": name, "hint": hint }))]);
    }
    print(&[plain_line(hint)])
}
