//! `PUT` and `DELETE`, and `MOVE` and `MKCOL` as WebDAV has them (RFC 4918).

use std::ffi::OsStr;
use std::future::poll_fn;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_RANGE, HeaderMap, LOCATION};
use hyper::{Method, Request, StatusCode, Uri};
use remote::address::{Address, Scheme};
use tokio::time::timeout;

use super::body::Serving;
use super::listing::percent_decoded;
use super::{Answer, failure, plain, set};
use crate::files::Name;
use crate::folder::WriteMode;
use crate::guest::Guest;

/// Whether requests of this kind change files.
pub fn is_change(method: &Method) -> bool {
    matches!(method.as_str(), "PUT" | "DELETE" | "MOVE" | "MKCOL")
}

/// Changes files, and answers with the status.
pub async fn answer(serving: &Arc<Serving>, guest: &Guest, request: Request<Incoming>) -> Answer {
    let Some(path) = percent_decoded(request.uri().path()) else {
        return plain(serving, StatusCode::BAD_REQUEST, "the path has a % without two digits\n");
    };
    let headers = request.headers();
    let Serving { files, client, .. } = &**serving;
    let name = OsStr::from_bytes(&path);
    let is_removal = request.method() == Method::DELETE;
    let written = request.uri().path_and_query().map_or("", |written| written.as_str());
    let file_name = Name { path: Path::new(name), written, is_encoded: true };
    if files.are_far() {
        let origin = files.to_write(guest, file_name).await;
        return elsewhere(serving, request.method(), origin);
    }
    let Ok(files) = files.folder() else {
        return plain(serving, StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here\n");
    };
    let done = match request.method().as_str() {
        "PUT" if headers.contains_key(CONTENT_RANGE) => {
            return plain(serving, StatusCode::BAD_REQUEST, "a file is put as a whole\n");
        }
        "PUT" => put(serving, name, request.into_body()).await,
        // RFC 4918, section 9.3: there is no content that says what to make.
        "MKCOL" if !request.body().is_end_stream() => {
            let text = "a folder is made without any content\n";
            return plain(serving, StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
        }
        "MKCOL" => match files.make_folder(client, name, false).await {
            Err(error) if is_missing(&error) => {
                return plain(serving, StatusCode::CONFLICT, "the folder above is not there\n");
            }
            made => made,
        },
        "MOVE" => {
            let may_replace = headers.get("overwrite").is_none_or(|value| value != "F");
            let Some(target) = destination(headers) else {
                return plain(serving, StatusCode::BAD_REQUEST, "no Destination that is a path\n");
            };
            let moved = files.rename(client, name, OsStr::from_bytes(&target), may_replace).await;
            if moved.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
                return plain(serving, StatusCode::PRECONDITION_FAILED, "it is there already\n");
            }
            moved
        }
        _ => match files.remove(client, name, Vec::new()).await {
            // WebDAV removes all that is in it; here it has to be empty.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                files.remove_folder(client, name).await
            }
            removed => removed,
        },
    };
    match done {
        Ok(()) if is_removal => plain(serving, StatusCode::OK, ""),
        Ok(()) => plain(serving, StatusCode::CREATED, ""),
        Err(error) => refused(serving, &error),
    }
}

/// The answer to a change that was not made.
fn refused(serving: &Arc<Serving>, error: &io::Error) -> Answer {
    match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::IsADirectory => {
            plain(serving, StatusCode::METHOD_NOT_ALLOWED, "it is there already, or a folder\n")
        }
        io::ErrorKind::DirectoryNotEmpty => {
            plain(serving, StatusCode::CONFLICT, "the folder is not empty\n")
        }
        io::ErrorKind::ResourceBusy => {
            plain(serving, StatusCode::LOCKED, "another client writes it: try again later\n")
        }
        io::ErrorKind::StorageFull => {
            plain(serving, StatusCode::INSUFFICIENT_STORAGE, "the disk is full\n")
        }
        io::ErrorKind::InvalidInput => {
            plain(serving, StatusCode::BAD_REQUEST, "the content of the request is malformed\n")
        }
        _ => failure(serving, error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Sends the client of a proxy, which writes nothing, to the file's own server.
fn elsewhere(serving: &Arc<Serving>, method: &Method, origin: io::Result<Address>) -> Answer {
    let origin = match origin {
        Ok(origin) => origin,
        Err(error) => return failure(serving, &error),
    };
    if method.as_str() == "MOVE" || !matches!(origin.scheme(), Scheme::Http | Scheme::Https) {
        let text = "a proxy changes nothing: do this at the file's own server\n";
        return plain(serving, StatusCode::METHOD_NOT_ALLOWED, text);
    }
    let text = "a proxy changes nothing: the file's own server does\n";
    let mut answer = plain(serving, StatusCode::TEMPORARY_REDIRECT, text);
    set(answer.headers_mut(), LOCATION, origin.as_str());
    answer
}

/// Writes a body as it comes; the file has its name when all of it is there.
async fn put(serving: &Arc<Serving>, path: &OsStr, body: Incoming) -> io::Result<()> {
    let Serving { files, client, .. } = &**serving;
    let files = files.folder()?;
    let mode = WriteMode::Create { may_replace: true, make_path: true };
    let file = files.open_to_write(client, path, mode).await?;
    let mut body = pin!(body);
    let mut offset = 0;
    let stalled = client.limits().stalled;
    // A client that sends no more keeps the name from others.
    while let Some(frame) =
        timeout(stalled, poll_fn(|context| body.as_mut().poll_frame(context))).await?
    {
        let wrong = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let Ok(bytes) = frame.map_err(wrong)?.into_data() else { continue };
        let count = bytes.len() as u64;
        files.write(client, &file, offset, bytes).await?;
        offset += count;
    }
    files.finish(client, file).await
}

/// The path of the `Destination` of a `MOVE`.
fn destination(headers: &HeaderMap) -> Option<Vec<u8>> {
    let target: Uri = headers.get("destination")?.to_str().ok()?.parse().ok()?;
    percent_decoded(target.path())
}
