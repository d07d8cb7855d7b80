//! Copies to servers: a file is read in its order, wherever it is, and written as it comes.

use std::path::PathBuf;

use super::options::{Copied, CopyOptions};
use super::pour::{Claimed, InOrder};
use super::target::{CopyJob, NamedSource};
use crate::Remote;
use crate::address::{self, Address};
use crate::checksum::{Algorithm, Checksum};
use crate::error::{Error, ErrorKind, Result};
use crate::sink::{CreateOptions, Upload, Written};

/// One file to an address, or any number below one that ends with a slash.
///
/// # Errors
/// `InvalidArgument` for several files and an address without a slash at its end, for sources of
/// the same name, and for those whose address ends without one.
pub fn jobs(sources: Vec<NamedSource>, target: &str) -> Result<Vec<CopyJob>> {
    let wrong = |text: String| Error::new(ErrorKind::InvalidArgument, text);
    let place = target.split('?').next().unwrap_or_default();
    if !place.ends_with('/') {
        return match <[NamedSource; 1]>::try_from(sources) {
            Ok([NamedSource { source, .. }]) => {
                Ok(vec![CopyJob::new(source, PathBuf::from(target))])
            }
            Err(_) => Err(wrong("the target of several files ends with a /".into())
                .with_url(address::parse(target)?.swap_remove(0).to_string())),
        };
    }
    let mut jobs: Vec<CopyJob> = Vec::with_capacity(sources.len());
    for named in sources {
        let name = named.file_name()?;
        let source = named.source;
        let Some(name) = name.to_str() else {
            let text = format!("{name:?} cannot be the name of a file on a server");
            return Err(wrong(text).with_url(source).with_advice("name the target file"));
        };
        let target = PathBuf::from(below(target, name)?);
        if jobs.iter().any(|job| job.target == target) {
            let text = format!("two of the files are called {name:?}");
            return Err(wrong(text).with_advice("copy them into different directories"));
        }
        jobs.push(CopyJob::new(source, target));
    }
    Ok(jobs)
}

/// The address of a name in a directory of a server.
///
/// # Errors
/// `Unsupported` where the protocol has none for it; `InvalidArgument` for several addresses.
pub fn below(directory: &str, name: &str) -> Result<String> {
    match &address::parse(directory)?[..] {
        [url] => Ok(url.child(name)?.as_str().to_owned()),
        several => {
            let text = "a file is copied to one place at a time";
            Err(Error::new(ErrorKind::InvalidArgument, text).with_url(several[0].to_string()))
        }
    }
}

impl Remote {
    /// Copies one file to a server.
    pub(super) async fn copy_up(
        &self,
        job: &CopyJob,
        options: &CopyOptions,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Copied> {
        let target = job.target.to_string_lossy().into_owned();
        let (locations, claims) = self.locations_of(job, options).await?;
        let mut claimed = Claimed::new(claims);
        let urls = locations.urls.clone();
        let file = self.open_bytes_at(locations).await?;
        let size = file.info().size;
        let CopyOptions { overwrite, in_place, .. } = *options;
        let create = CreateOptions { overwrite, in_place, shared: false, size: Some(size) };
        let mut upload = self.create(&target, create).await?;
        progress(size, 0);
        let mut bytes = InOrder::of(&file, self.config().memory_bytes_max);
        loop {
            match bytes.next().await {
                Ok(Some((bytes, _reservation))) => {
                    claimed.update(&bytes);
                    upload.write(upload.len(), bytes, false).await?;
                    progress(size, upload.len());
                }
                Ok(None) => break,
                Err(error) => return given_up(upload, error).await,
            }
        }
        if let Err(error) = claimed.compare() {
            return given_up(upload, error.with_url(file.url())).await;
        }
        if options.verify {
            let sums = [Algorithm::Adler32, Algorithm::Crc32c].map(|kind| upload.checksum(kind));
            if let Err(error) = self.compare_with_source(&urls, sums).await {
                return given_up(upload, error).await;
            }
        }
        let written = upload.finish().await?;
        let checksum = match options.verify {
            true => Some(self.verified(&target, &written).await?),
            false => None,
        };
        let source = file.url().to_owned();
        let Written { address, warnings, .. } = written;
        let target = PathBuf::from(address);
        Ok(Copied { source, target, size, resumed: 0, checksum, is_same: false, warnings })
    }

    /// Compares the bytes read with the source server's checksum. Passes if the source is on a disk
    /// or its server has no checksum of these kinds.
    async fn compare_with_source(
        &self,
        urls: &[Address],
        sums: [Option<Checksum>; 2],
    ) -> Result<()> {
        for ours in sums.into_iter().flatten() {
            match self.checksum_at(urls, Some(ours.algorithm())).await {
                Ok(theirs) => {
                    let source = urls[0].to_string();
                    return compared(&ours, &theirs).map_err(|error| error.with_url(source));
                }
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Compares the target server's checksum with that of the sent bytes, and returns it.
    async fn verified(&self, target: &str, written: &Written) -> Result<Checksum> {
        let advice = "without a checksum of the server's a copy cannot be verified";
        let Some(ours) = written.checksum.clone() else {
            let error = Error::new(ErrorKind::Unsupported, "no checksum was made of what was sent");
            return Err(error.with_url(&*written.address).with_advice(advice));
        };
        let theirs = self.checksum(target, Some(ours.algorithm())).await;
        let theirs = theirs.map_err(|error| error.with_advice(advice))?;
        compared(&ours, &theirs).map_err(|error| error.with_url(&*written.address))?;
        Ok(ours)
    }
}

/// Compares the checksum of the sent bytes with a server's checksum.
///
/// # Errors
/// `Corrupt` if they differ; `Unsupported` if the server's is of another kind.
fn compared(ours: &Checksum, theirs: &Checksum) -> Result<()> {
    if theirs.algorithm() != ours.algorithm() {
        let text = format!("{ours} was sent, and the server made another kind of sum, {theirs}");
        let advice = "this copy cannot be verified: read it back, or ask for a server's setting";
        return Err(Error::new(ErrorKind::Unsupported, text).with_advice(advice));
    }
    match theirs == ours {
        true => Ok(()),
        false => {
            let text = format!("{ours} was sent, and a server has {theirs}");
            let advice = "copy it again with -f, or compare the sources";
            Err(Error::new(ErrorKind::Corrupt, text).with_advice(advice))
        }
    }
}

/// The written part of a file that cannot be read to its end is removed.
async fn given_up<T>(upload: Upload, error: Error) -> Result<T> {
    upload.abandon().await;
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Hasher;

    fn targets(sources: &[&str], target: &str) -> Result<Vec<String>> {
        let named = |&source: &&str| NamedSource { source: source.to_owned(), name: None };
        let jobs = jobs(sources.iter().map(named).collect(), target)?;
        Ok(jobs.into_iter().map(|job| job.target.to_string_lossy().into_owned()).collect())
    }

    /// A server that made a sum of another kind was taken for one that agrees.
    #[test]
    fn only_equal_checksums_of_one_kind_verify_a_copy() {
        let sum = |algorithm, bytes: &[u8]| {
            let mut hasher = Hasher::new(algorithm);
            hasher.update(bytes);
            hasher.finish()
        };
        let ours = sum(Algorithm::Adler32, b"bytes");
        let same = ours.clone();
        let wrong = sum(Algorithm::Adler32, b"other");
        let of_another_kind = sum(Algorithm::Md5, b"bytes");
        let kind = |theirs| compared(&ours, theirs).map_err(|error| error.kind());
        assert_eq!(kind(&same), Ok(()));
        assert_eq!(kind(&wrong), Err(ErrorKind::Corrupt));
        assert_eq!(kind(&of_another_kind), Err(ErrorKind::Unsupported));
    }

    #[test]
    fn files_go_below_an_address_that_ends_with_a_slash() {
        let one = targets(&["/d/a.root"], "root://h//x/b.root?k=v").unwrap();
        assert_eq!(one, ["root://h//x/b.root?k=v"]);
        let two = targets(&["/d/a.root", "root://g//e/b.root?x=y"], "root://h//x/?k=v").unwrap();
        assert_eq!(two, ["root://h//x/a.root?k=v", "root://h//x/b.root?k=v"]);
        for (sources, target) in [
            (&["/a", "/b"][..], "root://h//x"),
            (&["/a/c", "/b/c"], "root://h//x/"),
            (&["root://g//d/"], "root://h//x/"),
        ] {
            assert_eq!(targets(sources, target).unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
    }
}
