//! Wakes the subscribers in this process after a write.

use tokio::sync::watch;

/// The sending end. Clones wake the same subscribers.
#[derive(Debug, Clone)]
pub(crate) struct Pulse(watch::Sender<()>);

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Heartbeat(watch::Receiver<()>);

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse(watch::channel(()).0)
    }
}

impl Pulse {
    /// Wakes every subscriber.
    pub(crate) fn beat(&self) {
        self.0.send_modify(|()| {});
    }

    /// Decides whether there is a subscriber.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn listen(&self) -> Heartbeat {
        Heartbeat(self.0.subscribe())
    }
}

impl Heartbeat {
    /// Takes a beat since the last call, if there was one.
    pub(crate) fn take(&mut self) -> bool {
        let is_beat = self.0.has_changed().unwrap_or_default();
        self.0.mark_unchanged();
        is_beat
    }

    /// Waits for a beat since the last call. A beat between two calls is not lost.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
