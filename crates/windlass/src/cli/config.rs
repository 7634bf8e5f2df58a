//! `windlass config`: shows the settings and where each comes from.

use serde_json::json;
use windlass_runtime::config::{SettingLine, show};

use super::feed::{envelope, words};
use super::fit;
use super::invocation::{Invocation, print};
use super::report::{Report, note, tell};
use super::sanitize::{columns, plain_line};
use super::terminal::TextTone;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass config show";

/// Show the settings and where each comes from
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    /// Show every setting that has a value, and the layer it comes from
    Show {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
}

/// Runs `windlass config`.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let ConfigCommand::Show { json } = args.what;
    let invocation = Invocation::look()?;
    let (lines, diagnostics) = show(&invocation.home, &invocation.cwd)?;
    tell(&diagnostics);
    let shown: Vec<String> =
        if json { lines.iter().map(object).collect() } else { table(&invocation, &lines) };
    let printed = print(&shown)?;
    if !json && lines.iter().any(|line| line.trusted == Some(false)) {
        note("`windlass trust` shows what this repository asks for and lets you trust it");
    }
    Ok(if diagnostics.iter().any(|diagnostic| diagnostic.is_error()) { Exit::Configuration } else { printed })
}

fn object(line: &SettingLine) -> String {
    let mut data = json!({"key": line.key, "value": line.value, "source": line.source});
    if let (Some(trusted), Some(fields)) = (line.trusted, data.as_object_mut()) {
        fields.insert("trusted".to_owned(), trusted.into());
    }
    envelope("setting", words::now(), None, data)
}

fn table(invocation: &Invocation, lines: &[SettingLine]) -> Vec<String> {
    let source = |line: &SettingLine| match line.trusted {
        Some(false) => format!("{}, not trusted: left out", line.source),
        Some(true) => format!("{}, trusted", line.source),
        None => line.source.clone(),
    };
    let shown: Vec<(String, String)> = lines
        .iter()
        .map(|line| (format!("{} = {}", line.key, plain_line(&line.value)), source(line)))
        .collect();
    let width =
        shown.iter().map(|(text, _)| text.chars().count()).filter(|width| *width <= 50).max().unwrap_or(0);
    let limit = invocation.screen.limit();
    let line = |(text, source): &(String, String)| {
        let source = format!("# {}", plain_line(source));
        let painted = invocation.screen.paint(TextTone::Faint, &source);
        if limit.is_none_or(|limit| columns(text).max(width) + 2 + columns(&source) <= limit) {
            return vec![format!("{text:width$}  {painted}")];
        }
        let mut lines = fit::wrap(text, "    ", limit);
        lines.push(format!("    {painted}"));
        lines
    };
    shown.iter().flat_map(line).collect()
}
