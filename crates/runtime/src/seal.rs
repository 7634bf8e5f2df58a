//! Seals requests in the inbox, to show that Windlass put them there after it checked the sender.
//!
//! While a run has an owner, requests come through its socket and the owner checks who sends them. A request
//! to a run without an owner waits in the database, where nobody can check its sender any more. So Windlass
//! seals it with a key of the user. A row that somebody wrote by hand has no seal. But any process that can
//! read the key can make a seal: this prevents accidents and shortcuts, not a determined attack
//! (docs/design/0005).

use std::fs::{File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::id::{InboxId, RunId};

use crate::inbox::InboxMessage;

/// The key file, in the state folder.
const FILE: &str = "inbox.key";

/// A row of the inbox.
#[derive(Debug, Serialize, Deserialize)]
struct SealedRequest {
    seal: String,
    /// The message as it was sealed, byte for byte.
    body: String,
}

/// The key of a state folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InboxKey(u64, u64);

impl InboxKey {
    /// Reads the key of a state folder, and creates it if it does not exist.
    pub(crate) fn of(state: &Path) -> io::Result<InboxKey> {
        let path = InboxKey::path(state);
        match read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            key => return key,
        }
        // Written to a draft and linked into place: if several processes create a key, one wins and none
        // reads half.
        let draft = state.join(format!("{FILE}.{}", crate::random::token()));
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&draft)?;
        file.write_all(crate::random::token().as_bytes())?;
        let _ = std::fs::hard_link(&draft, &path);
        std::fs::remove_file(&draft)?;
        read(&path)
    }

    /// Seals a message into a row.
    pub(crate) fn seal(
        self,
        run: &RunId,
        id: &InboxId,
        message: &InboxMessage,
    ) -> serde_json::Result<Vec<u8>> {
        let body = serde_json::to_string(message)?;
        serde_json::to_vec(&SealedRequest { seal: self.sign(run, id, &body), body })
    }

    /// Returns the message of a row if its seal is valid.
    pub(crate) fn open(self, run: &RunId, id: &InboxId, row: &[u8]) -> Option<InboxMessage> {
        let row: SealedRequest = serde_json::from_slice(row).ok()?;
        let is_ours = row.seal == self.sign(run, id, &row.body);
        is_ours.then(|| serde_json::from_str(&row.body).ok()).flatten()
    }

    /// Returns the message of a row that has the form of a sealed one, without checking the seal.
    pub(crate) fn read_unverified(row: &[u8]) -> Option<InboxMessage> {
        let row: SealedRequest = serde_json::from_slice(row).ok()?;
        serde_json::from_str(&row.body).ok()
    }

    /// Returns the path of the key file.
    pub(crate) fn path(state: &Path) -> PathBuf {
        state.join(FILE)
    }

    fn sign(self, run: &RunId, id: &InboxId, body: &str) -> String {
        self.digest([run.as_str(), id.as_str(), body].map(str::as_bytes))
    }

    /// Returns a digest that nobody can predict without the key.
    pub(crate) fn digest<'a>(self, parts: impl IntoIterator<Item = &'a [u8]>) -> String {
        #[expect(deprecated, reason = "the one keyed hash of the standard library whose result is fixed")]
        let mut hasher = std::hash::SipHasher::new_with_keys(self.0, self.1);
        for part in parts {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part);
        }
        format!("{:016x}", hasher.finish())
    }
}

fn read(path: &PathBuf) -> io::Result<InboxKey> {
    let mut text = String::new();
    File::open(path)?.take(64).read_to_string(&mut text)?;
    let half = |range| text.get(range).and_then(|part| u64::from_str_radix(part, 16).ok());
    let key = half(0..16).zip(half(16..32)).map(|(first, second)| InboxKey(first, second));
    key.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it contains no key; remove it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn ids() -> (RunId, InboxId) {
        (RunId::new("r1"), InboxId::new("reply/h1/"))
    }

    #[test]
    fn a_sealed_request_is_opened_as_it_was() {
        let (run, id) = ids();
        let message = InboxMessage::Tell { name: "e".into(), text: "ü\n".into() };
        let row = InboxKey(1, 2).seal(&run, &id, &message).unwrap();
        assert_eq!(InboxKey(1, 2).open(&run, &id, &row), Some(message));
    }

    #[test]
    fn what_was_written_by_hand_copied_or_changed_is_not_opened() {
        let (run, id) = ids();
        let row = InboxKey(1, 2).seal(&run, &id, &InboxMessage::Cancel).unwrap();
        assert_eq!(InboxKey(1, 3).open(&run, &id, &row), None, "another key");
        assert_eq!(InboxKey(1, 2).open(&RunId::new("r2"), &id, &row), None, "another run");
        assert_eq!(InboxKey(1, 2).open(&run, &InboxId::new("other"), &row), None, "another id");
        let changed = String::from_utf8(row).unwrap().replace("cancel", "pause");
        assert_eq!(InboxKey(1, 2).open(&run, &id, changed.as_bytes()), None, "another message");
        assert_eq!(InboxKey(1, 2).open(&run, &id, br#"{"ask":"cancel"}"#), None, "no seal");
    }

    #[test]
    fn a_key_is_made_once_and_is_the_users_alone() {
        let dir = tempfile::tempdir().unwrap();
        let keys: Vec<InboxKey> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| InboxKey::of(dir.path()).unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_ne!(keys[0], InboxKey::of(tempfile::tempdir().unwrap().path()).unwrap());
        let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{files:?}");
        assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
