//! When to stop: on SIGTERM, SIGINT, or when the parent process is gone.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

/// How often the parent's presence is looked at. A parent killed with SIGKILL cannot tell us, and a parent-death signal
/// follows the thread that started us rather than the process, so the parent's id is polled.
const PARENT_POLL: Duration = Duration::from_millis(200);

pub struct Watch {
    runtime: tokio::runtime::Runtime,
    parent: Option<u32>,
}

impl Watch {
    pub fn new(exit_with_parent: bool) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| format!("cannot start the signal loop: {e}"))?;
        Ok(Watch { runtime, parent: exit_with_parent.then(std::os::unix::process::parent_id) })
    }

    /// Blocks until there is a reason to stop and returns it.
    pub fn wait(&self) -> &'static str {
        self.runtime.block_on(async {
            let (Ok(mut terminate), Ok(mut interrupt)) =
                (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
            else {
                return "signals cannot be handled here";
            };
            loop {
                tokio::select! {
                    _ = terminate.recv() => return "SIGTERM",
                    _ = interrupt.recv() => return "SIGINT",
                    () = tokio::time::sleep(PARENT_POLL) => {
                        if self.parent.is_some_and(|p| p != std::os::unix::process::parent_id()) {
                            return "the parent process is gone";
                        }
                    }
                }
            }
        })
    }
}
