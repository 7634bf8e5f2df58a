//! Prevents starts for a node that is being cleaned up, and remembers hosts that were just started.
//!
//! A host is found by the files in its folder. A host that was just started has written none yet, so a
//! cleanup at that moment would miss it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::id::NodeId;
use windlass_peers::process::HostStart;

/// The hosts that a run has started, and the nodes for which it starts no more.
#[derive(Debug, Default)]
pub(crate) struct Gate(Mutex<StartedHosts>);

#[derive(Debug, Default)]
struct StartedHosts {
    put_away: HashSet<NodeId>,
    hosts: HashMap<PathBuf, HostStart>,
}

impl Gate {
    /// Starts a host, unless its node is being cleaned up.
    pub(super) fn start<E>(
        &self,
        node: &NodeId,
        dir: &Path,
        start: impl FnOnce() -> Result<HostStart, E>,
    ) -> Result<Option<HostStart>, E> {
        // Locked until the host is started, so that a cleanup either finds the host here or comes first.
        let mut known = self.known();
        if known.put_away.contains(node) {
            return Ok(None);
        }
        let host = start()?;
        known.hosts.retain(|_, host| !host.is_gone());
        known.hosts.insert(dir.to_owned(), host.clone());
        Ok(Some(host))
    }

    /// Prevents all further starts for a node.
    pub(super) fn close_for(&self, node: &NodeId) {
        self.known().put_away.insert(node.clone());
    }

    /// Decides whether a host was started in a folder and has not ended.
    pub(super) fn has_host(&self, dir: &Path) -> bool {
        self.known().hosts.get(dir).is_some_and(|host| !host.is_gone())
    }

    fn known(&self) -> MutexGuard<'_, StartedHosts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_begins_for_a_node_that_is_put_away() {
        let gate = Gate::default();
        let begins = |node: &str| gate.start(&NodeId::new(node), Path::new("/x"), || Err("it begins"));
        assert_eq!(begins("a").unwrap_err(), "it begins");
        gate.close_for(&NodeId::new("a"));
        assert!(begins("a").is_ok_and(|host| host.is_none()));
        assert_eq!(begins("a~2").unwrap_err(), "it begins", "another try is another node");
    }
}
