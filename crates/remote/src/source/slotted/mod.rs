//! Slots for connections that the driver does not make: of one-shot requests and of uploads.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep};
use tokio_util::io::InspectReader;

use super::network::{Network, Stream};
use crate::config::Config;
use crate::slots::{LOOK_AFTER, Slot, Slots, WAIT_MAX, Waits};

/// A network whose connections each have a slot of their server while they are open.
struct SlottedNetwork {
    network: Arc<dyn Network>,
    folder: PathBuf,
    most: u32,
}

/// The network with connections that count towards `connections_shared`, where the settings limit
/// these.
pub fn shared(network: Arc<dyn Network>, config: &Config) -> Arc<dyn Network> {
    match &config.runtime_folder {
        Some(folder) if config.connections_shared > 0 => {
            let folder = folder.clone();
            let most = config.connections_shared;
            Arc::new(SlottedNetwork { network, folder, most })
        }
        _ => network,
    }
}

impl Network for SlottedNetwork {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        // Where slots cannot be shared, the driver warns of it.
        let slots = Slots::open_brief(&self.folder, (host, port), self.most).ok();
        let connecting = self.network.connect(host, port);
        Box::pin(async move {
            let slot = match slots {
                Some(slots) => slot(&slots).await,
                None => None,
            };
            let stream = connecting.await?;
            // The stream drops this function, and with it the slot, when it is closed.
            let keep = move |_: &[u8]| {
                let _ = &slot;
            };
            Ok(Box::new(InspectReader::new(stream, keep)) as Box<dyn Stream>)
        })
    }

    fn reached(&self, host: &str, port: u16) -> Option<std::net::IpAddr> {
        self.network.reached(host, port)
    }
}

/// Waits for a slot; `None` after [`WAIT_MAX`].
async fn slot(slots: &Arc<Slots>) -> Option<Slot> {
    let began = Instant::now();
    while began.elapsed() < WAIT_MAX {
        if let Some(slot) = slots.take(began.elapsed()) {
            slots.set_waiting(Waits::No);
            return Some(slot);
        }
        slots.set_waiting(Waits::ForFirst);
        sleep(LOOK_AFTER).await;
    }
    slots.set_waiting(Waits::No);
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
