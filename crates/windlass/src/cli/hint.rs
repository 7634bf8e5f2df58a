//! `windlass hint`: what to type after a name.

use std::path::PathBuf;

use serde_json::json;
use windlass_core::registry::hint;

use super::complete;
use super::entities::{load, miss, unknown};
use super::feed::{envelope, words};
use super::invocation::{Invocation, print};
use super::report::Report;
use super::sanitize::plain_line;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass hint commit                           [message] | --amend
  windlass hint e2e:add-tests --plugin ./e2e";

/// Say what to type after a command, a skill, an agent or a verb of Windlass
///
/// Prints an empty line where nothing has to be typed.
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
    let invocation = Invocation::look()?;
    let loaded = load(&invocation, &args.plugins)?;
    let name = args.name.strip_prefix('/').unwrap_or(&args.name);
    let hint = match hint(&loaded.registry, name) {
        Some(hint) => hint.text,
        // It does not say, so nothing has to be typed.
        None if !loaded.registry.find(name).is_empty() => "",
        None => return Err(miss(&loaded, name, &unknown(&loaded.registry, name))),
    };
    if args.json {
        return print(&[envelope("hint", words::now(), None, json!({ "name": name, "hint": hint }))]);
    }
    print(&[plain_line(hint)])
}
