//! Checks that end a scene with a message instead of a panic.

/// Returns from the function with a message, unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+));
        }
    };
}

/// Returns from the function with both values and a message, unless the values are equal.
macro_rules! ensure_eq {
    ($found:expr, $expected:expr, $($message:tt)+) => {
        match (&$found, &$expected) {
            (found, expected) if found != expected => {
                let message = format!($($message)+);
                return Err(format!("{found:?} instead of {expected:?}: {message}"));
            }
            _ => {}
        }
    };
}

pub(super) use {ensure, ensure_eq};
