//! The event log, inbox and leases of runs, stored in SQLite.
//!
//! Everything starts with [`Store::open`]. [`Store::create_run`] creates a run, [`Store::append`]
//! extends its log and [`Store::load`] reads the log back. [`Store::acquire`] makes a process the owner
//! of a run. Every other process sends requests to the owner with [`Store::put`].
//!
//! [`RunFolders`] needs no database: it locates the files of a run and finds the live process that owns
//! it.
//!
//! The store treats bodies as opaque bytes; `core` and `runtime` create and interpret events. Only
//! `open.rs` opens the database, and a process writes through a single connection (`writer.rs`).

mod checkpoint;
mod error;
mod folders;
mod forget;
mod inbox;
mod lease;
mod log;
mod migrate;
mod open;
mod os;
mod pack;
mod presence;
mod projection;
mod spending;
mod store;
mod witness;
mod writer;

pub use checkpoint::Cadence;
pub use error::{ReadError, StoreError};
pub use folders::{RunFolders, RunLock, RunLockError, owner_of};
pub use forget::ForgetError;
pub use inbox::{InboxError, InboxRequest, PutResult};
pub use lease::{Lease, LeaseError};
pub use log::{Append, AppendError, LoadedRun, StoredRecord};
pub use open::OpenError;
pub use projection::{CreateError, NewRun, Projection, RunMatch, RunRow};
pub use spending::SpendingChange;
pub use store::Store;
pub use witness::LostFile;
pub use writer::Durability;
