//! Brings a stored record of an older version to the present form.
//!
//! Pure: takes and returns the JSON of one record. One file a step (`from_3` makes a record of version 4 out of
//! one of version 3), one function an event. A step is never changed once a newer version is released: it only
//! knows the two forms it stands between, and none of the types of today.

mod from_3;

use serde_json::Value;

use super::RECORD_VERSION;

/// The oldest version that can be read.
pub const OLDEST_VERSION: u32 = 3;

/// Why a record cannot be brought to the present form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpcastError {
    /// It does not say which version it is.
    #[error("it says no version")]
    NoVersion,
    /// It is older than everything that is read, or newer than this build.
    #[error("it is of version {found}, and versions {OLDEST_VERSION} to {RECORD_VERSION} can be read")]
    OtherVersion {
        /// The version it says.
        found: u32,
    },
    /// It is not what a record of its version is.
    #[error("it is of version {version}, but {what}")]
    Malformed {
        /// The version it says.
        version: u32,
        /// What is wrong with it.
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

/// Returns the version that a record says it is of.
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
        assert_eq!(refused.to_string(), "it is of version 3, but it has no event");
    }
}
