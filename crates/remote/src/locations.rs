//! The locations of a file by the address that a user gives, and the servers that have it.

use std::collections::BTreeMap;

use crate::Remote;
use crate::address::{Address, FileLocations, parse};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::activity::Activity;
use crate::fetch::ledger::Phase;
use crate::metalink::{self, Metalink};
use crate::source::locating::locate_all;
use crate::source::xrootd::server_name;

impl Remote {
    /// The locations of an address: one, or those that a Metalink lists.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that is no address; why a Metalink cannot be read.
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

    /// The servers that have each of these files, as `root://host:port`, each once, by kXR_locate:
    /// a redirector names all servers that have the file now, a data server names itself. Empty for
    /// an address of another protocol, and where the server does not support the request.
    ///
    /// # Errors
    /// As [`Remote::locations`]; for the first file for which no server is named, `NotFound`, the
    /// error of the request, or `LimitReached` where more than 32 redirectors are named for it.
    pub async fn servers(&self, addresses: &[String]) -> Result<Vec<Vec<String>>> {
        let mut numbers = Vec::new();
        let mut urls = Vec::new();
        for (number, address) in addresses.iter().enumerate() {
            let locations = self.locations(address).await?.urls.into_iter();
            for url in locations.filter(|url| url.to_xrootd().is_some()) {
                numbers.push(number);
                urls.push(url);
            }
        }
        let settings = self.settings();
        let found = locate_all(urls, &settings.config, &settings.network).await;
        let mut servers: Vec<Vec<String>> = addresses.iter().map(|_| Vec::new()).collect();
        let mut failures = BTreeMap::new();
        for (number, found) in numbers.into_iter().zip(found) {
            match found {
                Ok(found) => {
                    for name in found.iter().filter_map(server_name) {
                        // Several locations may lead to one server.
                        if !servers[number].contains(&name) {
                            servers[number].push(name);
                        }
                    }
                }
                Err(error) => {
                    failures.entry(number).or_insert(error);
                }
            }
        }
        // A location may fail where another one of the same file names servers.
        match failures.into_iter().find(|(number, _)| servers[*number].is_empty()) {
            Some((_, error)) => Err(error),
            None => Ok(servers),
        }
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
