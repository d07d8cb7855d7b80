//! The choice of a sink by its address: the one place that knows all of them.

use std::sync::Arc;

use super::{CreateOptions, Sink, Upload, UploadNotes, http, local, s3, xrootd};
use crate::Remote;
use crate::address::{self, Address, Scheme};
use crate::error::{Error, ErrorKind, Result};

impl Remote {
    /// Begins a file at an address. Under its name there is nothing, or the earlier file, until
    /// [`Upload::finish`].
    ///
    /// # Errors
    /// `InvalidArgument` for several addresses, where a file is there that may not be replaced, and
    /// where another writer has it; `Unsupported` for places that cannot be written to; why it
    /// cannot be made.
    pub async fn create(&self, address: &str, options: CreateOptions) -> Result<Upload> {
        let url = only(address)?;
        let notes = UploadNotes::new(Some(self.trace().clone()));
        let sink = self.begin(&url, options, &notes).await;
        let sink = sink.map_err(|error| error.with_url(url.to_string()))?;
        Ok(self.upload(&url, sink, 0, notes))
    }

    /// Opens an existing file, to write behind its end and then over its bytes. The bytes behind
    /// its end are removed where the caller gives up before any were replaced.
    ///
    /// # Errors
    /// `NotFound`; else as [`Remote::create`].
    pub async fn append_to(&self, address: &str) -> Result<Upload> {
        let url = only(address)?;
        let notes = UploadNotes::new(Some(self.trace().clone()));
        let opened = self.open_behind(&url, &notes).await;
        let (sink, before) = opened.map_err(|error| error.with_url(url.to_string()))?;
        Ok(self.upload(&url, sink, before, notes))
    }

    async fn begin(
        &self,
        url: &Address,
        options: CreateOptions,
        notes: &UploadNotes,
    ) -> Result<Box<dyn Sink>> {
        match (url.scheme(), url.to_local()) {
            (_, Some(path)) => Ok(Box::new(local::create(path.to_owned(), options).await?)),
            (Scheme::Root | Scheme::Roots, _) => {
                Ok(Box::new(xrootd::XrootdFile::create(self.xrootd_place(url, notes)?, options)))
            }
            (Scheme::Http | Scheme::Https, _) => {
                let file = http::HttpFile::create(url, options, self.changer(), notes.clone());
                Ok(Box::new(file.await?))
            }
            (Scheme::S3, _) => {
                let settings = self.settings();
                let network = settings.network.clone();
                Ok(Box::new(s3::S3File::create(url, options, &settings.config, network).await?))
            }
            _ => Err(not_written(url)),
        }
    }

    async fn open_behind(
        &self,
        url: &Address,
        notes: &UploadNotes,
    ) -> Result<(Box<dyn Sink>, u64)> {
        match (url.scheme(), url.to_local()) {
            (_, Some(path)) => {
                let (sink, before) = local::append_to(path.to_owned()).await?;
                Ok((Box::new(sink), before))
            }
            (Scheme::Root | Scheme::Roots, _) => {
                let place = self.xrootd_place(url, notes)?;
                let (sink, before) = xrootd::XrootdFile::append_to(place).await?;
                Ok((Box::new(sink), before))
            }
            _ => Err(not_appended(url)),
        }
    }

    fn xrootd_place(&self, url: &Address, notes: &UploadNotes) -> Result<xrootd::UploadPlace> {
        let settings = self.settings();
        let notes = notes.clone();
        let notes = Arc::new(move |text| notes.add(text));
        xrootd::UploadPlace::new(url, &settings.config, settings.network.clone(), notes)
    }

    /// Takes messages for the user.
    pub(crate) fn notes(&self) -> Arc<dyn Fn(String) + Send + Sync> {
        let trace = self.trace().clone();
        Arc::new(move |text| trace.note(None, text))
    }

    fn upload(
        &self,
        url: &Address,
        sink: Box<dyn Sink>,
        before: u64,
        notes: UploadNotes,
    ) -> Upload {
        let mut upload = Upload::new(url.to_string(), sink, before);
        upload.notes = notes;
        upload.failed_opens = Some(self.fetcher().failed().clone());
        upload
    }
}

fn only(address: &str) -> Result<Address> {
    match <[Address; 1]>::try_from(address::parse(address)?) {
        Ok([url]) => Ok(url),
        Err(_) => {
            let error = Error::new(ErrorKind::InvalidArgument, "a file is written to one address");
            Err(error.with_url(address).with_advice("copy it from there to the others"))
        }
    }
}

fn not_written(url: &Address) -> Error {
    let text = format!("this version cannot write to {}:// addresses", url.scheme().name());
    let error = Error::new(ErrorKind::Unsupported, text).with_url(url.to_string());
    error.with_advice("write to a local disk, and copy the file")
}

fn not_appended(url: &Address) -> Error {
    let text = format!("files at {}:// addresses cannot be appended to", url.scheme().name());
    let error = Error::new(ErrorKind::Unsupported, text).with_url(url.to_string());
    error.with_advice("write the file anew, or append to a copy on a local disk")
}
