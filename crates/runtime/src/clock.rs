//! The wall clock, as data for events.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_core::time::Moment;

pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Returns the time until a moment, or zero if it has passed.
pub(crate) fn until(moment: Moment) -> Duration {
    Duration::from_millis(moment.since(now()))
}
