//! Reports changes in a set of folders.
//!
//! The system reports changes as long as it has room for watches. Otherwise the caller is woken
//! regularly and checks for itself. Changes close together are one report. A report does not say what
//! changed: checking again is cheap and always correct.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use crate::os::{FolderNotices, NoticeKind, WantedNotices};

/// Changes this close together are one report.
const TOGETHER: Duration = Duration::from_millis(50);
/// The longest wait for changes to pause.
const AT_MOST: Duration = Duration::from_secs(1);
/// The interval for checks when the system cannot report changes.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A folder or file to watch, and the name in it that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchPoint {
    pub path: PathBuf,
    /// The only name that matters; `None` for all names.
    pub name: Option<OsString>,
}

/// Returns the points to watch in order to notice when a path appears, disappears or is replaced: its
/// folders up to `base`, or up to the nearest existing folder above `base`.
pub fn approach(base: &Path, path: &Path) -> Vec<WatchPoint> {
    let mut points = Vec::new();
    let mut below = path;
    for folder in path.ancestors().skip(1) {
        if folder.is_dir() {
            points.push(WatchPoint { path: folder.to_owned(), name: below.file_name().map(OsStr::to_owned) });
            if base.starts_with(folder) {
                break;
            }
        }
        below = folder;
    }
    points
}

/// A watch over folders, on the tokio runtime on which it was started.
#[derive(Debug)]
pub struct FolderWatch {
    notices: Option<AsyncFd<FolderNotices>>,
    names: HashMap<i32, WatchedNames>,
    is_whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum WatchedNames {
    All,
    These(Vec<OsString>),
}

impl WatchedNames {
    fn add(&mut self, name: Option<&OsString>) {
        match (&mut *self, name) {
            (WatchedNames::All, _) => {}
            (WatchedNames::These(_), None) => *self = WatchedNames::All,
            (WatchedNames::These(names), Some(name)) if !names.contains(name) => names.push(name.clone()),
            (WatchedNames::These(_), Some(_)) => {}
        }
    }

    fn matter(&self, name: Option<&[u8]>) -> bool {
        match (self, name) {
            // A change of the folder itself.
            (_, None) | (WatchedNames::All, _) => true,
            (WatchedNames::These(names), Some(name)) => names.iter().any(|known| known.as_bytes() == name),
        }
    }
}

/// Registers the notices with the runtime. Returns `None` if the runtime cannot wait for them.
#[expect(unsafe_code, reason = "tokio has no safe way to wait for a descriptor of another kind")]
fn waited_for(notices: FolderNotices) -> Option<AsyncFd<FolderNotices>> {
    // SAFETY: the `AsyncFd` owns the descriptor, closes it when dropped, and lets nobody else close it.
    unsafe { AsyncFd::register(notices) }.ok()
}

impl FolderWatch {
    /// Starts without any watched folder.
    pub fn start() -> FolderWatch {
        let notices = FolderNotices::start().ok().and_then(waited_for);
        FolderWatch { notices, ..FolderWatch::looking() }
    }

    /// Creates a watch without system notices, which only wakes regularly.
    pub fn looking() -> FolderWatch {
        FolderWatch { notices: None, names: HashMap::new(), is_whole: false }
    }

    /// Watches exactly these points. Skips folders that do not exist.
    pub fn follow(&mut self, points: &[WatchPoint]) {
        let Some(notices) = &self.notices else { return };
        let before = std::mem::take(&mut self.names);
        self.is_whole = true;
        for point in points {
            // Requested again each time: a replaced folder needs a new watch.
            match notices.get_ref().follow(&point.path, WantedNotices::Everything) {
                Ok(watch) => {
                    self.names
                        .entry(watch)
                        .or_insert(WatchedNames::These(Vec::new()))
                        .add(point.name.as_ref());
                }
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                Err(_) => self.is_whole = false,
            }
        }
        for gone in before.keys().filter(|watch| !self.names.contains_key(watch)) {
            notices.get_ref().forget(*gone);
        }
    }

    /// Waits until something changed or may have changed.
    pub async fn changed(&mut self) {
        loop {
            let Some(notices) = &self.notices else { return sleep(LOOK_EVERY).await };
            tokio::select! {
                ready = notices.readable() => match ready {
                    Ok(mut ready) => ready.clear_ready(),
                    // The runtime cannot report any more: check regularly.
                    Err(_) => return sleep(LOOK_EVERY).await,
                },
                () = sleep(LOOK_EVERY), if !self.is_whole => return,
            }
            // Before reading, so that a busy folder beside ours wakes us rarely.
            sleep(TOGETHER).await;
            if self.drain() {
                return self.settle().await;
            }
        }
    }

    /// Waits until the changes pause.
    async fn settle(&mut self) {
        let start = Instant::now();
        while start.elapsed() < AT_MOST {
            sleep(TOGETHER).await;
            if !self.drain() {
                return;
            }
        }
    }

    /// Reads the waiting notices and returns whether any of them matters.
    fn drain(&mut self) -> bool {
        let FolderWatch { notices, names, .. } = self;
        let Some(notices) = notices else { return true };
        let mut matters = false;
        notices.get_ref().each(|notice| {
            matters |= match notice.kind {
                NoticeKind::Overflow => true,
                NoticeKind::Forgotten => names.remove(&notice.folder).is_some(),
                NoticeKind::Changed => {
                    names.get(&notice.folder).is_some_and(|names| names.matter(notice.name))
                }
            };
        });
        matters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    async fn heard(watch: &mut FolderWatch) -> bool {
        tokio::time::timeout(Duration::from_secs(20), watch.changed()).await.is_ok()
    }

    fn all(path: &Path) -> WatchPoint {
        WatchPoint { path: path.to_owned(), name: None }
    }

    #[test]
    fn a_path_is_approached_from_what_there_is() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("home");
        let place = base.join(".claude/skills");
        let names = |points: Vec<WatchPoint>| -> Vec<(PathBuf, OsString)> {
            points.into_iter().map(|point| (point.path, point.name.unwrap())).collect()
        };
        assert_eq!(names(approach(&base, &place)), [(dir.path().to_owned(), "home".into())]);
        fs::create_dir_all(base.join(".claude")).unwrap();
        let expected = [(base.join(".claude"), "skills".into()), (base.clone(), ".claude".into())];
        assert_eq!(names(approach(&base, &place)), expected);
    }

    #[tokio::test]
    async fn files_that_come_change_and_go_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a.md"), dir.path().join("b.md"));
        let mut watch = FolderWatch::start();
        watch.follow(&[all(dir.path())]);
        fs::write(&a, "1").unwrap();
        assert!(heard(&mut watch).await);
        fs::write(&a, "2").unwrap();
        assert!(heard(&mut watch).await);
        fs::rename(&a, &b).unwrap();
        assert!(heard(&mut watch).await);
        fs::remove_file(&b).unwrap();
        assert!(heard(&mut watch).await);
    }

    #[tokio::test]
    async fn only_the_names_that_matter_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut watch = FolderWatch::start();
        watch.follow(&[WatchPoint { path: dir.path().to_owned(), name: Some(".claude".into()) }]);
        fs::write(dir.path().join("other"), "").unwrap();
        let quiet = tokio::time::timeout(Duration::from_millis(300), watch.changed()).await;
        assert!(quiet.is_err());
        fs::create_dir(dir.path().join(".claude")).unwrap();
        assert!(heard(&mut watch).await);
    }

    #[tokio::test]
    async fn a_folder_that_is_replaced_is_watched_again() {
        let dir = tempfile::tempdir().unwrap();
        let (place, other) = (dir.path().join("place"), dir.path().join("other"));
        fs::create_dir(&place).unwrap();
        let points = [all(&place), WatchPoint { path: dir.path().to_owned(), name: Some("place".into()) }];
        let mut watch = FolderWatch::start();
        watch.follow(&points);
        fs::rename(&place, &other).unwrap();
        fs::create_dir(&place).unwrap();
        assert!(heard(&mut watch).await);
        watch.follow(&points);
        fs::write(place.join("a"), "").unwrap();
        assert!(heard(&mut watch).await);
        fs::write(other.join("a"), "").unwrap();
        let quiet = tokio::time::timeout(Duration::from_millis(300), watch.changed()).await;
        assert!(quiet.is_err(), "the old folder is watched no more");
    }

    #[tokio::test]
    async fn without_inotify_one_is_woken_to_look() {
        assert!(heard(&mut FolderWatch::looking()).await);
    }
}
