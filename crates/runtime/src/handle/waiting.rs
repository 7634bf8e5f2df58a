//! Moves calls that may wait for another process, a lock or the disk to a separate thread, so that the caller
//! is free meanwhile.

use super::Handle;
use crate::error::RunError;

impl Handle {
    /// Runs a blocking function on a separate thread and returns its result.
    pub(crate) async fn waiting<T, E>(
        &self,
        work: impl FnOnce(&Handle) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<RunError> + Send + 'static,
    {
        let handle = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&handle)).await;
        done.unwrap_or_else(|_| Err(RunError::Abandoned.into()))
    }
}
