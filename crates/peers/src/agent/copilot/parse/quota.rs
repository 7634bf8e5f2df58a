//! The limits of an account, as the service reports them with an error.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use windlass_core::agent::RateLimit;
use windlass_core::time::Moment;

use crate::agent::stamp;

/// The maximum size of the limits in bytes: their parsed form takes many times as much.
const LARGEST: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuotaSnapshot<'a> {
    #[serde(default)]
    is_unlimited_entitlement: bool,
    #[serde(default)]
    has_quota: Option<bool>,
    #[serde(default)]
    remaining_percentage: f64,
    #[serde(default)]
    usage_allowed_with_exhausted_quota: bool,
    #[serde(borrow, default)]
    reset_date: Option<Cow<'a, str>>,
}

/// Returns the limit that is used up, the one that resets last.
pub(super) fn exhausted(snapshots: &str) -> Option<RateLimit> {
    if snapshots.len() > LARGEST {
        return None;
    }
    let snapshots: BTreeMap<Cow<'_, str>, QuotaSnapshot<'_>> = serde_json::from_str(snapshots).ok()?;
    let used_up = snapshots.into_iter().filter(|(_, quota)| quota.is_used_up());
    let limits = used_up.map(|(name, quota)| RateLimit {
        rejected: true,
        resets_at: quota.reset_date.as_deref().and_then(moment),
        limit: Some(name.into_owned()),
    });
    limits.max_by_key(|limit| limit.resets_at.map(|at| at.0))
}

impl QuotaSnapshot<'_> {
    fn is_used_up(&self) -> bool {
        let is_left = self.has_quota.unwrap_or(self.remaining_percentage > 0.0);
        !self.is_unlimited_entitlement && !self.usage_allowed_with_exhausted_quota && !is_left
    }
}

/// Reads a date, with or without a time.
fn moment(text: &str) -> Option<Moment> {
    stamp::moment(text).or_else(|| stamp::moment(&format!("{text}T00:00:00Z")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_used_up_limit_that_resets_last_counts() {
        let text = r#"{
            "chat": { "isUnlimitedEntitlement": true, "remainingPercentage": 0, "resetDate": "2027-01-01" },
            "completions": { "remainingPercentage": 40.5, "resetDate": "2027-01-01" },
            "weekly": { "remainingPercentage": 0, "resetDate": "2026-11-22T10:00:00.000Z" },
            "premium_interactions": { "hasQuota": false, "remainingPercentage": 0, "resetDate": "2026-12-01" }
        }"#;
        let limit = exhausted(text).unwrap();
        assert_eq!(limit.limit.as_deref(), Some("premium_interactions"));
        assert_eq!(limit.resets_at, stamp::moment("2026-12-01T00:00:00Z"));
    }

    #[test]
    fn limits_in_another_form_are_unknown() {
        for text in ["{}", "[]", r#"{"a":7}"#, r#"{"a":{"remainingPercentage":1}}"#] {
            assert_eq!(exhausted(text), None, "{text}");
        }
        let undated = exhausted(r#"{"a":{"resetDate":"soon"}}"#).unwrap();
        assert_eq!((undated.rejected, undated.resets_at), (true, None));
    }
}
