//! The local time zone.

/// A time in the local time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalTime {
    pub(crate) year: i32,
    /// From 0.
    pub(crate) month: usize,
    pub(crate) day: i32,
    pub(crate) hour: i32,
    pub(crate) minute: i32,
}

/// Returns the local time of a moment, in seconds since the epoch.
pub(crate) fn local_time(seconds: i64) -> Option<LocalTime> {
    let mut time = std::mem::MaybeUninit::<libc::tm>::zeroed();
    #[expect(unsafe_code, reason = "std knows no time zones; both pointers are valid for the call")]
    let time = unsafe {
        if libc::localtime_r(&raw const seconds, time.as_mut_ptr()).is_null() {
            return None;
        }
        time.assume_init()
    };
    Some(LocalTime {
        year: time.tm_year + 1900,
        month: usize::try_from(time.tm_mon).ok()?,
        day: time.tm_mday,
        hour: time.tm_hour,
        minute: time.tm_min,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_later_is_the_next_minute() {
        let (before, after) = (local_time(1_795_100_040).unwrap(), local_time(1_795_100_100).unwrap());
        assert_eq!((before.year, after.minute), (2026, (before.minute + 1) % 60));
    }
}
