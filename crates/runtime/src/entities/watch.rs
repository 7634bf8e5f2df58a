//! Notifies subscribers when the entities change.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch::{self, Receiver, Sender};
use tokio::task::spawn_blocking;
use windlass_peers::files::watch::{FolderWatch, WatchPoint};

use super::load::{LoadedEntities, load_and_points};
use crate::home::Home;
use crate::user_error::UserError;

/// Loads all entities, and loads them again whenever a file in one of the places changes, until no receiver
/// is left. Sends nothing if a person would see no difference.
pub(crate) fn subscribe(
    home: Arc<Home>,
    cwd: PathBuf,
    plugins: Vec<PathBuf>,
) -> Result<Receiver<Arc<LoadedEntities>>, UserError> {
    let (loaded, points) = load_and_points(&home, &cwd, &plugins)?;
    let (sender, receiver) = watch::channel(Arc::new(loaded));
    let context = Arc::new(WatchContext { home, cwd, plugins });
    tokio::spawn(follow(context, sender, FolderWatch::start(), points));
    Ok(receiver)
}

struct WatchContext {
    home: Arc<Home>,
    cwd: PathBuf,
    plugins: Vec<PathBuf>,
}

async fn follow(
    context: Arc<WatchContext>,
    sender: Sender<Arc<LoadedEntities>>,
    mut watch: FolderWatch,
    mut points: Vec<WatchPoint>,
) {
    watch.follow(&points);
    loop {
        // Reload at the start, because something may have changed before the watch began.
        let reloading = Arc::clone(&context);
        let reload = move || load_and_points(&reloading.home, &reloading.cwd, &reloading.plugins);
        // Settings that are broken for the moment leave the last result in place.
        if let Ok(Ok((loaded, now))) = spawn_blocking(reload).await {
            publish(&sender, loaded);
            watch.follow(&now);
            if std::mem::replace(&mut points, now) != points {
                continue;
            }
        }
        tokio::select! {
            () = watch.changed() => {}
            () = sender.closed() => return,
        }
    }
}

fn publish(sender: &Sender<Arc<LoadedEntities>>, loaded: LoadedEntities) {
    sender.send_if_modified(|before| {
        let is_new = !before.says_the_same(&loaded);
        if is_new {
            *before = Arc::new(loaded);
        }
        is_new
    });
}
