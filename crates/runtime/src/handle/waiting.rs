//! Calls that may wait for another process, a lock or the disk: they wait on a thread of their own, so that
//! whoever calls can do something else meanwhile.

use super::Handle;
use crate::error::RunError;

impl Handle {
    /// Does something that may wait, and gives what came of it.
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
