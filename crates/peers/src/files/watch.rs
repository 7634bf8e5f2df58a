//! Tells when something changes in a set of folders.
//!
//! inotify where there is room for it; where there is none left, whoever waits is woken from
//! time to time and looks for itself. Changes that come together are told together. What
//! changed is not told: looking again is cheap and cannot be wrong.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

/// Changes this close together are one.
const TOGETHER: Duration = Duration::from_millis(50);
/// But nobody waits longer than this for them to end.
const AT_MOST: Duration = Duration::from_secs(1);
/// How often to look where inotify cannot tell.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What to watch: a folder (or a file), and which of its names matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The folder.
    pub path: PathBuf,
    /// The one name in it that matters; all of them without.
    pub name: Option<OsString>,
}

/// The points from which a path that may not exist yet is noticed when it comes, goes or is
/// replaced: its folders up to `base`, or to the nearest one above that there is.
pub fn approach(base: &Path, path: &Path) -> Vec<Point> {
    let mut points = Vec::new();
    let mut below = path;
    for folder in path.ancestors().skip(1) {
        if folder.is_dir() {
            points.push(Point { path: folder.to_owned(), name: below.file_name().map(OsStr::to_owned) });
            if base.starts_with(folder) {
                break;
            }
        }
        below = folder;
    }
    points
}

/// A watch over folders, on the tokio runtime it was started on.
#[derive(Debug)]
pub struct Watch {
    inotify: Option<AsyncFd<OwnedFd>>,
    names: HashMap<i32, Names>,
    is_whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Names {
    All,
    These(Vec<OsString>),
}

impl Names {
    fn add(&mut self, name: Option<&OsString>) {
        match (&mut *self, name) {
            (Names::All, _) => {}
            (Names::These(_), None) => *self = Names::All,
            (Names::These(names), Some(name)) if !names.contains(name) => names.push(name.clone()),
            (Names::These(_), Some(_)) => {}
        }
    }

    fn matter(&self, name: Option<&CStr>) -> bool {
        match (self, name) {
            // About the folder itself.
            (_, None) | (Names::All, _) => true,
            (Names::These(names), Some(name)) => {
                names.iter().any(|known| known.as_bytes() == name.to_bytes())
            }
        }
    }
}

/// Makes inotify known to the runtime; nothing where that cannot wait for it.
#[expect(unsafe_code, reason = "tokio has no safe way to wait for a descriptor of another kind")]
fn waited_for(inotify: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned by the `AsyncFd`, which closes it when it is dropped and
    // gives nobody else the chance to.
    unsafe { AsyncFd::register(inotify) }.ok()
}

impl Watch {
    /// Starts to watch, nothing yet.
    pub fn start() -> Watch {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
        let inotify = inotify.ok().and_then(waited_for);
        Watch { inotify, ..Watch::looking() }
    }

    /// Uses no inotify, only regular looks.
    pub fn looking() -> Watch {
        Watch { inotify: None, names: HashMap::new(), is_whole: false }
    }

    /// Watches these and no others. Folders that are not there are passed over.
    pub fn follow(&mut self, points: &[Point]) {
        let Some(inotify) = &self.inotify else { return };
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        let before = std::mem::take(&mut self.names);
        self.is_whole = true;
        for point in points {
            // Asked for anew each time: a folder that was replaced is another one.
            match inotify::add_watch(inotify.get_ref(), &point.path, flags) {
                Ok(watch) => {
                    self.names.entry(watch).or_insert(Names::These(Vec::new())).add(point.name.as_ref());
                }
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                Err(_) => self.is_whole = false,
            }
        }
        for gone in before.keys().filter(|watch| !self.names.contains_key(watch)) {
            // The folder may be gone already, and its watch with it.
            let _ = inotify::remove_watch(inotify.get_ref(), *gone);
        }
    }

    /// Waits until something changed, or may have.
    pub async fn changed(&mut self) {
        loop {
            let Some(inotify) = &self.inotify else { return sleep(LOOK_EVERY).await };
            tokio::select! {
                ready = inotify.readable() => match ready {
                    Ok(mut ready) => ready.clear_ready(),
                    // The runtime cannot tell any more: look regularly.
                    Err(_) => return sleep(LOOK_EVERY).await,
                },
                () = sleep(LOOK_EVERY), if !self.is_whole => return,
            }
            // Before anything is read, so that a busy folder next to ours wakes us seldom.
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

    /// Reads what inotify has to say. Whether any of it matters.
    fn drain(&mut self) -> bool {
        let Some(inotify) = &self.inotify else { return true };
        let mut matters = false;
        let mut space = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(inotify.get_ref().as_fd(), &mut space);
        while let Ok(event) = reader.next() {
            // More happened than there was room to tell.
            matters |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            if event.events().contains(ReadFlags::IGNORED) {
                matters |= self.names.remove(&event.wd()).is_some();
            } else if let Some(names) = self.names.get(&event.wd()) {
                matters |= names.matter(event.file_name());
            }
        }
        matters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    async fn heard(watch: &mut Watch) -> bool {
        tokio::time::timeout(Duration::from_secs(20), watch.changed()).await.is_ok()
    }

    fn all(path: &Path) -> Point {
        Point { path: path.to_owned(), name: None }
    }

    #[test]
    fn a_path_is_approached_from_what_there_is() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("home");
        let place = base.join(".claude/skills");
        let names = |points: Vec<Point>| -> Vec<(PathBuf, OsString)> {
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
        let mut watch = Watch::start();
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
        let mut watch = Watch::start();
        watch.follow(&[Point { path: dir.path().to_owned(), name: Some(".claude".into()) }]);
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
        let points = [all(&place), Point { path: dir.path().to_owned(), name: Some("place".into()) }];
        let mut watch = Watch::start();
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
        assert!(heard(&mut Watch::looking()).await);
    }
}
