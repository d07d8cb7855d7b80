//! Whether a file whose bytes can be read is a ROOT file, and all of it is there.

use std::time::Instant;

use bytes::Bytes;
use rootfile::header::Header;

use crate::located::Located;
use crate::read::file::Speculation;
use crate::read::file::session::Session;
use remote::address::{self, Address};
use remote::source::diagnose::{Finding, Step, fault, fine};
use remote::{ErrorKind, Result};

/// First bytes of a ROOT file.
const MAGIC: &[u8] = b"root";

/// Kinds of content that were found.
enum Content {
    Root(String),
    /// Another kind of file, which a user may want to copy.
    Other(String),
    Damaged(String),
}

/// Goes the way to a file step by step: [`Engine::examine`](crate::Engine::examine).
pub(crate) async fn examine(session: &Session, address: &str) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for url in address::parse(address)? {
        let (way, is_read) = session.remote().examine(&url).await;
        findings.extend(way);
        if is_read {
            findings.push(examine_content(session, &url).await);
        }
    }
    Ok(findings)
}

/// Looks for the parts that every read needs: the header, the list of keys, and the end of the
/// file.
async fn examine_content(session: &Session, address: &Address) -> Finding {
    let begun = Instant::now();
    let content = content(session, address).await;
    let seconds = begun.elapsed().as_secs_f64();
    let place = address.to_string();
    let damaged = |text| {
        let advice = "the copy that is there is not whole, or is still being written: compare it \
                      with where it comes from, and copy it again";
        fault(Step::File, &place, seconds, text, advice.into())
    };
    match content {
        Ok(Content::Root(text) | Content::Other(text)) => fine(Step::File, &place, seconds, text),
        Ok(Content::Damaged(text)) => damaged(text),
        Err(error) if error.kind() == ErrorKind::Corrupt => damaged(error.message().to_owned()),
        Err(error) => {
            let advice = error.advice().unwrap_or("try again, or another replica").to_owned();
            fault(Step::File, &place, seconds, error.message().to_owned(), advice)
        }
    }
}

async fn content(session: &Session, address: &Address) -> Result<Content> {
    let file = session.remote().open_bytes(address.as_str()).await?;
    let size = file.info().size;
    if size == 0 {
        return Ok(Content::Damaged("the file is empty".into()));
    }
    let start = file.fetch(&[0..size.min(rootfile::header::HEADER_LEN)]).await?;
    let start: Vec<u8> = start.into_iter().flat_map(|(_, bytes)| bytes).collect();
    if !start.starts_with(MAGIC) {
        let text = match !remote::is_metalink(address) {
            true => "not a ROOT file: it can be copied, and nothing of it read",
            false => "a Metalink",
        };
        return Ok(Content::Other(text.into()));
    }
    let header = Header::read(&Bytes::from(start)).located(address.to_string())?;
    if header.end > size {
        let text = format!(
            "the file is cut: {size} bytes are there of {} that its header announces",
            header.end
        );
        return Ok(Content::Damaged(text));
    }
    drop(file);
    let file = session.open(address.as_str(), Speculation::Eager).await?;
    let keys = file.keys(true).await?;
    if let Some(problem) = keys.iter().find_map(|key| key.problem.as_ref()) {
        return Ok(Content::Damaged(problem.message().to_owned()));
    }
    if file.is_recovered() {
        let text = "the file was never closed, and has only what had been saved before";
        return Ok(Content::Damaged(text.into()));
    }
    let after = match size - header.end {
        0 => String::new(),
        more => format!(", and {more} bytes behind its end"),
    };
    Ok(Content::Root(format!("a ROOT file of {} keys, whole{after}", keys.len())))
}
