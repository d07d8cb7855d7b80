//! From what a user calls a file to the places where it is.

use crate::Remote;
use crate::address::{Address, Places, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::activity::Activity;
use crate::fetch::ledger::Phase;
use crate::metalink::{self, Metalink};

impl Remote {
    /// The places that an address means: those that a Metalink names stand for it.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no address; why a Metalink cannot be read.
    pub async fn places(&self, address: &str) -> Result<Places> {
        let mut places = Places::default();
        for url in parse(address)? {
            if !metalink::is_metalink(&url) {
                places.urls.push(url);
                continue;
            }
            let shown = url.to_string();
            let document = self.document(url.clone()).await?;
            let metalink =
                Metalink::parse(&document, &url).map_err(|error| error.with_url(shown))?;
            places.add(metalink.into());
        }
        Ok(places)
    }

    /// A short document, whole.
    async fn document(&self, url: Address) -> Result<Vec<u8>> {
        let activity = Activity::begin(self.trace(), Phase::Connecting, None);
        let places = Places::from(vec![url]);
        let mut file = self.inner.fetcher.open(places, metalink::BYTES_MAX, 0, &activity).await?;
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
