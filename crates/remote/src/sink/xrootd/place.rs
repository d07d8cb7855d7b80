//! The path of a file that is written, and its temporary names.

use std::sync::Arc;
use std::time::Duration;

use xrootd::client::Answer;
use xrootd::error::ErrorCode;

use super::refused;
use crate::address::Address;
use crate::checksum::{Algorithm, Checksum};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::sink::{Content, random_name};
use crate::source::network::Network;
use crate::source::one_shot;
use crate::source::servers::config_for;
use crate::source::xrootd::XrootdServer;
use crate::source::xrootd::asking::{Answered, Asking, FileRequest, Notes, Reply, RequestFailure};

/// How often a rename may be sent elsewhere.
const REDIRECTIONS_MAX: usize = 16;

/// The place of a file, its name, and the one under which it is written.
pub struct UploadPlace {
    /// As the caller named it.
    url: Address,
    /// Where it is written: another server, once a redirector has sent there.
    at: Address,
    server: Arc<XrootdServer>,
    /// The name until it is whole, in the folder of the other.
    part: Option<String>,
    config: Config,
    network: Arc<dyn Network>,
    notes: Notes,
}

impl UploadPlace {
    /// # Errors
    /// `InvalidArgument` for an address that names no file.
    pub fn new(
        url: &Address,
        config: &Config,
        network: Arc<dyn Network>,
        notes: Notes,
    ) -> Result<Self> {
        let server = server(url, config, &network)?;
        let at = url.clone();
        let url = url.clone();
        let config = config.clone();
        Ok(UploadPlace { url, at, server, part: None, config, network, notes })
    }

    /// The file is written under a name beside its own.
    pub fn write_beside(&mut self) {
        self.part = Some(random_name(&self.url));
    }

    /// Whether the file is written under another name, which no other writer uses.
    pub fn is_beside(&self) -> bool {
        self.part.is_some()
    }

    /// Without secrets.
    pub fn address(&self) -> String {
        self.url.to_string()
    }

    pub fn retry_timeout(&self) -> Duration {
        self.config.retry_timeout
    }

    /// Bytes of the memory budget.
    pub fn memory_bytes_max(&self) -> u64 {
        self.config.memory_bytes_max
    }

    /// Most connections to one server.
    pub fn connections_max(&self) -> usize {
        self.config.connections_max as usize
    }

    /// A connection to where the file is written.
    pub fn connect(&self) -> Asking {
        let server = self.server.clone();
        let url = self.at.clone();
        Asking::start(server, url, self.config.checksums, self.notes.clone())
    }

    /// The file is to be written there.
    pub fn go_to(&mut self, at: Address) -> Result<()> {
        self.server = server(&at, &self.config, &self.network)?;
        self.at = at;
        Ok(())
    }

    /// The path under which it is written, with the query that a redirector has added.
    pub fn part_path(&self) -> String {
        path_of(&self.at, self.part.as_deref())
    }

    /// Compares the server's checksum with that of the bytes that were sent.
    pub async fn compare(
        &self,
        asking: &Asking,
        answer: Answered<Reply>,
        content: &Content,
    ) -> Result<Option<Checksum>> {
        let ours = content.checksum(Algorithm::Adler32);
        if ours.is_none() {
            return Ok(None);
        }
        let mut theirs = match answer {
            // A server that has to read the whole file may be silent for long.
            Err(RequestFailure::Lost(_)) => self.checksum_asked_anew().await,
            answer => checksum_of(answer),
        };
        let ours_of = |sum: &Checksum| content.checksum(sum.algorithm());
        if theirs.as_ref().is_some_and(|sum| ours_of(sum).is_none()) {
            theirs = self.checksum_of_kind(asking, Algorithm::Adler32).await;
        }
        if theirs.as_ref().is_some_and(|sum| ours_of(sum).as_ref() != Some(sum)) {
            // A server may remember that of a file which had this name a moment ago.
            theirs = self.checksum_of_kind(asking, Algorithm::Crc32c).await.or(theirs);
        }
        let Some(theirs) = theirs else {
            let text = format!("{} gives no checksum to compare with", self.address());
            (self.notes)(text);
            return Ok(ours);
        };
        match content.checksum(theirs.algorithm()) {
            Some(ours) if ours != theirs => {
                let text = format!("the server has {theirs}, and {ours} was sent");
                let advice = "write it again; if it happens again, tell the site";
                Err(Error::new(ErrorKind::Corrupt, text).with_advice(advice))
            }
            ours => Ok(ours),
        }
    }

    async fn checksum_of_kind(&self, asking: &Asking, kind: Algorithm) -> Option<Checksum> {
        let path = self.part_path();
        let sign = if path.contains('?') { '&' } else { '?' };
        let question = FileRequest::Checksum(format!("{path}{sign}cks.type={}", kind.name()));
        checksum_of(asking.reply(asking.ask(question)).await)
    }

    async fn checksum_asked_anew(&self) -> Option<Checksum> {
        let url = match &self.part {
            Some(part) => self.at.beside(part).ok()?,
            None => self.at.clone(),
        };
        let algorithm = Some(Algorithm::Adler32);
        one_shot::checksum(&url, algorithm, &self.config, self.network.clone()).await.ok()
    }

    /// Gives the file its name, where it has another one yet.
    pub async fn give_name(&self, asking: &Asking) -> Result<()> {
        if self.part.is_none() {
            return Ok(());
        }
        let from = self.part_path();
        let to = path_of(&self.at, None);
        let mut refusal = if self.at == self.url {
            match asking.reply(asking.ask(FileRequest::Move { from, to })).await {
                Ok(_) => return Ok(()),
                Err(RequestFailure::Lost(_)) => RequestFailure::Elsewhere(self.url.clone()),
                Err(refusal) => refusal,
            }
        } else {
            // The redirector knows of the names.
            RequestFailure::Elsewhere(self.url.clone())
        };
        for _ in 0..REDIRECTIONS_MAX {
            let RequestFailure::Elsewhere(at) = refusal else { break };
            let from = path_of(&at, self.part.as_deref());
            let to = path_of(&at, None);
            let server = server(&at, &self.config, &self.network)?;
            let checksums = self.config.checksums;
            let asking = Asking::start(server, at, checksums, self.notes.clone());
            refusal = match asking.reply(asking.ask(FileRequest::Move { from, to })).await {
                Ok(_) => return Ok(()),
                Err(refusal) => refusal,
            };
        }
        Err(cannot_rename(refusal))
    }
}

/// Whether the file was renamed is not known where the connection was lost.
fn cannot_rename(refusal: RequestFailure) -> Error {
    let denied = |code| matches!(code, ErrorCode::NOT_AUTHORIZED | ErrorCode::UNSUPPORTED);
    match refusal {
        RequestFailure::Server(said, error) if denied(said.code) => {
            let text = format!("the server does not rename files: {}", said.message);
            let error = error.source_name().map_or_else(
                || Error::new(ErrorKind::Unsupported, &*text),
                |source| Error::new(ErrorKind::Unsupported, &*text).with_source(source),
            );
            error.with_advice_for(
                "write to another place, and copy that with `farroot cp --in-place`: it writes \
                 under the final name at once",
                "write to another place, and copy that with farroot.copy(..., in_place=True): it \
                 writes under the final name at once",
            )
        }
        refusal => refused(refusal),
    }
}

fn server(url: &Address, config: &Config, network: &Arc<dyn Network>) -> Result<Arc<XrootdServer>> {
    let config = config_for(url, config);
    Ok(Arc::new(XrootdServer::new(url, &config, network.clone())?.for_writing(url)))
}

fn checksum_of(answer: Answered<Reply>) -> Option<Checksum> {
    match answer {
        Ok(Reply::Done(Answer::Text(text))) => text.parse().ok(),
        _ => None,
    }
}

/// The path by which requests name a file, or another one in its folder.
fn path_of(url: &Address, name: Option<&str>) -> String {
    let whole = url.to_xrootd().map(xrootd::url::Url::full_path).unwrap_or_default();
    let Some(name) = name else { return whole };
    let (path, opaque) = match whole.split_once('?') {
        Some((path, opaque)) => (path, Some(opaque)),
        None => (&*whole, None),
    };
    let folder = path.rfind('/').map_or("", |at| &path[..=at]);
    match opaque {
        Some(opaque) => format!("{folder}{name}?{opaque}"),
        None => format!("{folder}{name}"),
    }
}
