//! Brings stored records of older versions to the current form.
//!
//! Pure: takes and returns the JSON of one record. Each step has its own file (`from_3` turns
//! version 3 into version 4) with one function for each event. A step never changes once a newer
//! version is released. It knows only its two forms and uses none of the current types.

mod from_3;

use serde_json::Value;

use super::RECORD_VERSION;

/// The oldest version that can be read.
pub const OLDEST_VERSION: u32 = 3;

/// The reason why a record cannot be brought to the current form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpcastError {
    /// The record has no version.
    #[error("it has no version")]
    NoVersion,
    /// The version is older than any that this build reads, or newer than this build.
    #[error("its version is {found}, and this build reads versions {OLDEST_VERSION} to {RECORD_VERSION}")]
    OtherVersion { found: u32 },
    /// The record does not have the form of its version.
    #[error("its version is {version}, but {what}")]
    Malformed {
        version: u32,
        /// The problem, for people.
        what: String,
    },
}

/// Returns the record in the form of [`RECORD_VERSION`].
pub fn upcast(mut record: Value) -> Result<Value, UpcastError> {
    let mut version = version(&record)?;
    while version < RECORD_VERSION {
        record = match version {
            3 => from_3::step(record).map_err(|what| UpcastError::Malformed { version, what })?,
            found => return Err(UpcastError::OtherVersion { found }),
        };
        version += 1;
        if let Some(fields) = record.as_object_mut() {
            fields.insert("v".to_owned(), version.into());
        }
    }
    match version {
        RECORD_VERSION => Ok(record),
        found => Err(UpcastError::OtherVersion { found }),
    }
}

fn version(record: &Value) -> Result<u32, UpcastError> {
    let found = record.get("v").and_then(Value::as_u64).ok_or(UpcastError::NoVersion)?;
    Ok(u32::try_from(found).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_of_this_version_stays_as_it_is() {
        let record = json!({"v": RECORD_VERSION, "at": 5, "event": {"type": "owner_changed"}});
        assert_eq!(upcast(record.clone()), Ok(record));
    }

    #[test]
    fn a_record_of_the_oldest_version_becomes_one_of_this_version() {
        let record = |v: u32| json!({"v": v, "at": 5, "event": {"type": "owner_changed"}});
        assert_eq!(upcast(record(OLDEST_VERSION)), Ok(record(RECORD_VERSION)));
    }

    #[test]
    fn older_and_newer_records_are_refused_by_their_version() {
        for found in [0, 1, OLDEST_VERSION - 1, RECORD_VERSION + 1, u32::MAX] {
            assert_eq!(upcast(json!({"v": found, "at": 5})), Err(UpcastError::OtherVersion { found }));
        }
        for record in [json!({}), json!({"v": "3"}), json!(7)] {
            assert_eq!(upcast(record), Err(UpcastError::NoVersion));
        }
    }

    #[test]
    fn a_record_without_an_event_is_malformed() {
        let refused = upcast(json!({"v": 3, "at": 5})).unwrap_err();
        assert_eq!(refused.to_string(), "its version is 3, but it has no event");
    }
}
