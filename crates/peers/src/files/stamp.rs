//! The state of a file, to detect later that it changed.

use rustix::fs::Stat;

/// A file's size, times and inode. A change of the content changes one of them, unless it happens within
/// one clock step of the previous change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    pub size: u64,
    /// The time of the last change of the content, in nanoseconds. Any user can set it.
    pub mtime: i64,
    /// The time of the last change of any kind. Only the system sets it.
    pub ctime: i64,
    pub inode: u64,
}

impl Stamp {
    #[allow(clippy::useless_conversion, reason = "the fields' types differ between architectures")]
    pub(crate) fn of(stat: &Stat) -> Stamp {
        let time = |seconds: i64, nanos: u64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(nanos).unwrap_or_default())
        };
        Stamp {
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            mtime: time(stat.st_mtime.into(), stat.st_mtime_nsec.into()),
            ctime: time(stat.st_ctime.into(), stat.st_ctime_nsec.into()),
            inode: stat.st_ino,
        }
    }

    /// Decides whether the file may have changed unnoticed after it was read at `read` (nanoseconds
    /// since 1970): because it changed just before, or because the clock went back.
    pub fn is_fresh(&self, read: i64) -> bool {
        const STEP: i64 = 100_000_000;
        // Somebody set a modification time in the future, so it proves nothing.
        let content = self.mtime <= read && self.mtime > read.saturating_sub(STEP);
        content || self.ctime > read.saturating_sub(STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_a_moment_before_it_was_read_is_fresh() {
        let at = |mtime: i64, ctime: i64| Stamp { size: 1, mtime, ctime, inode: 1 };
        let now = 1_000_000_000_000;
        assert!(at(now - 1, now - 1).is_fresh(now));
        assert!(at(5, now - 99_000_000).is_fresh(now));
        assert!(at(5, now + 1).is_fresh(now), "the clock went back");
        assert!(!at(now - 200_000_000, now - 200_000_000).is_fresh(now));
        assert!(!at(now + 1_000_000_000, now - 200_000_000).is_fresh(now), "a time from an archive");
    }
}
