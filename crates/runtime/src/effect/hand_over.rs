//! Describes unfinished work for the driver that takes it over.

use std::path::Path;

use windlass_core::event::{Event, PrepareEnd, WorkSoFar};
use windlass_core::id::EffectId;
use windlass_peers::git;

use super::SessionSite;

/// The maximum number of commits in the description.
const COMMITS: &str = "--max-count=20";

/// Reads the commits and changed files since the start of the run. Outside a repository there are none to name.
pub(super) fn look(site: &SessionSite, effect: EffectId, base: Option<&str>) -> Event {
    let folder = Path::new(&site.workspace);
    let work = base.map_or_else(WorkSoFar::default, |base| WorkSoFar {
        commits: lines(folder, &["log", COMMITS, "--format=%h %s", &format!("{base}..HEAD"), "--"]),
        files: changed(folder, base),
    });
    let end = PrepareEnd::Ready { texts: None, fingerprint: String::new(), work: Some(work) };
    Event::Prepared { effect, end, base: None, odd: Vec::new() }
}

/// Returns the files that differ from a commit, with their numbers of changed lines, and then the new ones.
fn changed(folder: &Path, base: &str) -> Vec<String> {
    let counted = lines(folder, &["diff", "--numstat", "--no-renames", base, "--"]);
    let counted = counted.iter().filter_map(|line| {
        let mut parts = line.splitn(3, '\t');
        let (added, removed, name) = (parts.next()?, parts.next()?, parts.next()?);
        Some(format!("{name} +{added} -{removed}"))
    });
    let new = lines(folder, &["ls-files", "--others", "--exclude-standard"]);
    counted.chain(new.into_iter().map(|name| format!("{name} (new)"))).collect()
}

fn lines(folder: &Path, args: &[&str]) -> Vec<String> {
    let said = git::git(folder, args).unwrap_or_default();
    String::from_utf8_lossy(&said).lines().map(str::to_owned).collect()
}
