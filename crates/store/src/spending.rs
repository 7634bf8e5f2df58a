//! The spending of all runs on each day, by driver.
//!
//! An owner adds to it in the commit that records the spending in its log, so that each amount counts
//! exactly once, whatever crashes. A turn counts from the commit that starts it.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use windlass_core::run::DaySpent;

use crate::error::ReadError;
use crate::log::{signed, unsigned};
use crate::store::Store;

/// The spending of the records of one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct SpendingChange {
    /// The local calendar day, as `2026-11-19`.
    pub day: String,
    /// The amounts to add, by driver.
    pub added: BTreeMap<String, DaySpent>,
    /// The spending of the day on which the commit depends. The commit is refused if it changed.
    pub based_on: Option<BTreeMap<String, DaySpent>>,
}

impl Store {
    /// Returns what all runs spent on a day, by driver.
    pub fn spent_on(&self, day: &str) -> Result<BTreeMap<String, DaySpent>, ReadError> {
        self.read(|conn| Ok(read(conn, day)?))
    }
}

/// Adds to the spending of a day. Returns false if it is not what the change depends on.
pub(crate) fn apply(conn: &Connection, change: &SpendingChange) -> rusqlite::Result<bool> {
    if let Some(expected) = &change.based_on
        && read(conn, &change.day)? != *expected
    {
        return Ok(false);
    }
    let mut add = conn.prepare_cached(
        "INSERT INTO spending (day, driver, turns, tokens, cost_usd, time_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (day, driver) DO UPDATE
             SET turns = turns + excluded.turns, tokens = tokens + excluded.tokens,
                 cost_usd = cost_usd + excluded.cost_usd, time_ms = time_ms + excluded.time_ms",
    )?;
    for (driver, spent) in &change.added {
        // An agent reports these numbers and may report anything: they must not overflow the sums.
        let (turns, tokens) = (signed(spent.turns), signed(spent.tokens.min(MOST_TOKENS)));
        let cost = if spent.cost_usd.is_finite() { spent.cost_usd } else { 0.0 };
        let time = signed(spent.time_ms.min(MOST_TIME));
        add.execute(params![change.day, driver, turns, tokens, cost, time])?;
    }
    Ok(true)
}

/// The most tokens that one commit adds.
const MOST_TOKENS: u64 = 1 << 40;
/// The most milliseconds that one commit adds.
const MOST_TIME: u64 = 1 << 40;

fn read(conn: &Connection, day: &str) -> rusqlite::Result<BTreeMap<String, DaySpent>> {
    conn.prepare_cached("SELECT driver, turns, tokens, cost_usd, time_ms FROM spending WHERE day = ?1")?
        .query_map([day], |row| {
            let (turns, tokens) = (unsigned(row.get(1)?), unsigned(row.get(2)?));
            Ok((
                row.get(0)?,
                DaySpent { turns, tokens, cost_usd: row.get(3)?, time_ms: unsigned(row.get(4)?) },
            ))
        })?
        .collect()
}
