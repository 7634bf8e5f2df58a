//! Plans what to remove. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use windlass_core::id::RunId;
use windlass_core::snapshot::SnapshotName;
use windlass_core::time::Moment;
use windlass_peers::files::{checkout, dead_drafts};
use windlass_store::RunRow;

use super::branches::{FamilyBranches, KnownRepositories};
use super::families::{FamilyStanding, RunFamily};
use super::item::{GcFile, GcItem, GcKept, GcPlan, GcRequest, GcRun, GcThing};
use super::run_files::{TrackerFolder, committed, size};
use crate::clock::now;
use crate::error::RunError;
use crate::handle::Handle;
use crate::tidy::WRITTEN;
use crate::view::FolderFilter;

/// The folder in the state folder for what is being removed.
pub(super) const ASIDE: &str = "gc";

impl GcRequest {
    /// Returns the last moment at which a run that goes may have ended, in milliseconds since 1970.
    pub(super) fn latest_ms(&self) -> i64 {
        now().0.saturating_sub(i64::try_from(self.older_than_ms).unwrap_or(i64::MAX))
    }

    fn is_about(&self, workspace: &str) -> bool {
        let workspace = Path::new(workspace);
        match &self.folder {
            FolderFilter::Anywhere => true,
            FolderFilter::Below(folder) => workspace.starts_with(folder),
            FolderFilter::Around(folder) => folder.starts_with(workspace),
        }
    }
}

/// Returns the beginning of the names of all snapshots of a run.
pub(super) fn snapshots_of(run: &RunId) -> String {
    let start = SnapshotName::Start.reference(run);
    start.strip_suffix("run/start").unwrap_or(&start).to_owned()
}

impl Handle {
    /// Finds what nobody needs any more, and the reasons why the rest stays.
    pub fn plan_gc(&self, request: &GcRequest) -> Result<GcPlan, RunError> {
        let mut plan = GcPlan::default();
        let mut known = KnownRepositories::default();
        let latest = request.latest_ms();
        let families = self.run_families()?;
        // In the order in which they started, so that the numbers of forks are higher.
        let mut going: Vec<&RunFamily> = Vec::new();
        for family in &families {
            let Some(root) = family.root().filter(|root| request.is_about(&root.projection.workspace)) else {
                continue;
            };
            if family.standing == FamilyStanding::Open {
                plan.open.push(root.id.clone());
                continue;
            }
            let FamilyBranches { items, kept } = self.branches_of(family, &mut known);
            let has_kept = !kept.is_empty();
            plan.items.extend(items.into_iter().map(GcItem::Branch));
            plan.kept.extend(kept);
            match family.standing {
                FamilyStanding::Open | FamilyStanding::Continuable => plan.open.push(root.id.clone()),
                FamilyStanding::Final(_) if family.updated_ms() > latest => plan.young.push(root.id.clone()),
                FamilyStanding::Final(_) if has_kept => {
                    let why = "a branch of it is kept".to_owned();
                    plan.kept.push(kept_run(&root.id, why));
                }
                FamilyStanding::Final(_) => going.push(family),
            }
        }
        self.keep_origins_of_forks(&families, &mut going, &mut plan)?;
        self.plan_runs(&going, &mut known, &mut plan);
        plan.items.extend(self.dead_files(&families, request).into_iter().map(GcItem::File));
        Ok(plan)
    }

    /// Takes the families out of which a run that stays was forked.
    fn keep_origins_of_forks(
        &self,
        families: &[RunFamily],
        going: &mut Vec<&RunFamily>,
        plan: &mut GcPlan,
    ) -> Result<(), RunError> {
        let ids = |families: &[&RunFamily]| -> BTreeSet<RunId> {
            families.iter().flat_map(|family| &family.members).map(|row| row.id.clone()).collect()
        };
        let candidates = ids(going);
        let number = |family: &&RunFamily| family.members.iter().map(|row| row.number).min();
        let oldest = going.iter().filter_map(number).min().unwrap_or(u64::MAX);
        let rows = families.iter().flat_map(|family| &family.members);
        let among: Vec<RunId> = rows.filter(|row| row.number > oldest).map(|row| row.id.clone()).collect();
        let forks = self.forks_of(&candidates, &among)?;
        // A family that stays may itself be forked from another one.
        loop {
            let leaving = ids(going);
            let stays = |family: &&RunFamily| {
                let of = |row: &RunRow| {
                    let mut its = forks.iter().filter(|(from, _)| *from == row.id);
                    its.find(|(_, fork)| !leaving.contains(fork)).map(|(_, fork)| fork.clone())
                };
                family.members.iter().find_map(of)
            };
            let before = going.len();
            let (staying, rest): (Vec<_>, Vec<_>) =
                going.drain(..).map(|family| (family, stays(&family))).partition(|(_, fork)| fork.is_some());
            *going = rest.into_iter().map(|(family, _)| family).collect();
            for (family, fork) in staying {
                if let (Some(root), Some(fork)) = (family.root(), fork) {
                    plan.kept.push(kept_run(&root.id, format!("run {fork} is a fork of it")));
                }
            }
            if going.len() == before {
                return Ok(());
            }
        }
    }

    /// Plans the runs of families that go. Children come first.
    fn plan_runs(&self, going: &[&RunFamily], known: &mut KnownRepositories, plan: &mut GcPlan) {
        let mut tracked: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for family in going {
            let FamilyStanding::Final(status) = family.standing else { continue };
            let Some(root) = family.root() else { continue };
            for row in family.members.iter().rev() {
                let workspace = PathBuf::from(&row.projection.workspace);
                let prefix = snapshots_of(&row.id);
                let is_its = |name: &&String| name.starts_with(&prefix);
                let snapshots =
                    known.of(&workspace).map_or(0, |it| it.snapshots.iter().filter(is_its).count());
                let names = tracked.entry(workspace.clone()).or_insert_with(|| committed(&workspace));
                let folder = TrackerFolder::of(&workspace, &row.id, names);
                if let TrackerFolder::Shared { path, why } = &folder {
                    let (thing, name) = (GcThing::Folder, path.display().to_string());
                    plan.kept.push(GcKept { thing, name, run: row.id.clone(), why: why.clone() });
                }
                let trackers = match folder {
                    TrackerFolder::Own(path) => Some(path),
                    TrackerFolder::None | TrackerFolder::Shared { .. } => None,
                };
                let bytes = size(&self.store.run_dir(&row.id));
                plan.items.push(GcItem::Run(GcRun {
                    run: row.id.clone(),
                    root: root.id.clone(),
                    status,
                    ended: Moment(row.projection.updated_ms),
                    input: row.projection.input.clone(),
                    workspace: row.projection.workspace.clone(),
                    snapshots,
                    bytes: bytes.saturating_add(trackers.as_deref().map_or(0, size)),
                    trackers,
                }));
            }
        }
    }

    /// Finds the files that killed processes left: drafts, and what an interrupted `gc` had set aside.
    fn dead_files(&self, families: &[RunFamily], request: &GcRequest) -> Vec<GcFile> {
        let rows = families.iter().flat_map(|family| &family.members);
        let workspaces: BTreeSet<&str> = rows
            .map(|row| row.projection.workspace.as_str())
            .filter(|workspace| request.is_about(workspace))
            .collect();
        let mut folders = BTreeSet::from([self.home.state.clone()]);
        for workspace in workspaces.into_iter().map(Path::new).filter(|workspace| workspace.is_dir()) {
            folders.extend(WRITTEN.map(|folder| workspace.join(folder)));
            folders
                .extend(checkout::own_folder(&workspace.join("file")).map(|own| checkout::drafts_in(&own)));
        }
        let mut paths: Vec<PathBuf> = folders.iter().flat_map(|folder| dead_drafts(folder)).collect();
        let aside = std::fs::read_dir(self.home.state.join(ASIDE)).into_iter().flatten().flatten();
        paths.extend(aside.map(|entry| entry.path()));
        paths.sort();
        paths.dedup();
        paths.into_iter().map(|path| GcFile { bytes: size(&path), path }).collect()
    }
}

fn kept_run(run: &RunId, why: String) -> GcKept {
    GcKept { thing: GcThing::Run, name: run.to_string(), run: run.clone(), why }
}
