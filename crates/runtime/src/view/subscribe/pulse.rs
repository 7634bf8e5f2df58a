//! Wakes the listeners of this process: something was written, look now.

use tokio::sync::watch;

/// The end that wakes. Its clones wake the same listeners.
#[derive(Debug, Clone)]
pub(crate) struct Pulse(watch::Sender<()>);

/// The end that is woken.
#[derive(Debug)]
pub(crate) struct Heartbeat(watch::Receiver<()>);

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse(watch::channel(()).0)
    }
}

impl Pulse {
    /// Wakes every listener.
    pub(crate) fn beat(&self) {
        self.0.send_modify(|()| {});
    }

    pub(crate) fn listen(&self) -> Heartbeat {
        Heartbeat(self.0.subscribe())
    }
}

impl Heartbeat {
    /// Waits for a beat since the last call; one that came meanwhile is not missed.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
