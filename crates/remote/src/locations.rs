//! From the name that a user gives a file to its locations.

use crate::Remote;
use crate::address::{Address, FileLocations, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::activity::Activity;
use crate::fetch::ledger::Phase;
use crate::metalink::{self, Metalink};

impl Remote {
    /// The locations of an address: one, or those that a Metalink lists.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no address; why a Metalink cannot be read.
    pub async fn locations(&self, address: &str) -> Result<FileLocations> {
        let mut locations = FileLocations::default();
        for url in parse(address)? {
            if !metalink::is_metalink(&url) {
                locations.urls.push(url);
                continue;
            }
            let shown = url.to_string();
            let document = self.document(url.clone()).await?;
            let metalink =
                Metalink::parse(&document, &url).map_err(|error| error.with_url(shown))?;
            locations.add(metalink.into());
        }
        Ok(locations)
    }

    /// A short document, whole.
    async fn document(&self, url: Address) -> Result<Vec<u8>> {
        let activity = Activity::begin(self.trace(), Phase::Connecting, None);
        let locations = FileLocations::from(vec![url]);
        let mut file =
            self.inner.fetcher.open(locations, metalink::BYTES_MAX, 0, &activity).await?;
        let size = file.info().size;
        let bytes = file.take_delivered().into_iter().find(|(offset, _)| *offset == 0);
        let bytes = bytes.map(|(_, bytes)| bytes.to_vec()).unwrap_or_default();
        if bytes.len() as u64 != size {
            let text = format!("a Metalink of {size} bytes, of which {} came", bytes.len());
            return Err(Error::new(ErrorKind::LimitReached, text).with_url(file.url()));
        }
        Ok(bytes)
    }
}
