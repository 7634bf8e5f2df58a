//! Remembers: the event log, inbox and leases, in SQLite.
//!
//! Everything starts with [`Store::open`]. A run is born with [`Store::create_run`], grows by
//! [`Store::append`] and is read back with [`Store::load`]; [`Store::acquire`] makes a process
//! its owner, and [`Store::put`] is how everyone else speaks to it.
//!
//! [`RunFolders`] knows no database: where a run has its files, and which living process owns it.
//!
//! Bodies are opaque bytes: what an event means, when one is made and what is done about it is
//! left to `core` and `runtime`. There is one door to the database, `open.rs`, and one connection
//! a process that writes, `writer.rs`.

mod checkpoint;
mod error;
mod folders;
mod inbox;
mod lease;
mod log;
mod migrate;
mod open;
mod os;
mod pack;
mod presence;
mod projection;
mod store;
mod witness;
mod writer;

pub use checkpoint::Cadence;
pub use error::{ReadError, StoreError};
pub use folders::{RunFolders, RunLock, RunLockError, owner_of};
pub use inbox::{InboxError, InboxRequest, PutResult};
pub use lease::{Lease, LeaseError};
pub use log::{Append, AppendError, LoadedRun, StoredRecord};
pub use open::OpenError;
pub use projection::{CreateError, NewRun, Projection, RunMatch, RunRow};
pub use store::Store;
pub use witness::LostFile;
pub use writer::Durability;
