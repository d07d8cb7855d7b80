//! `PUT` and `DELETE`, and `MOVE` and `MKCOL` as WebDAV has them (RFC 4918).

use std::ffi::OsStr;
use std::future::poll_fn;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{
    CONTENT_ENCODING, CONTENT_RANGE, HOST, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION,
};
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode, Uri};
use remote::address::{Address, Scheme};
use tokio::time::timeout;

use super::asked::may_be_changed;
use super::body::Serving;
use super::listing::percent_decoded;
use super::{Answer, failure, plain, set};
use crate::clients::Client;
use crate::files::Name;
use crate::folder::{FolderFiles, WriteMode};
use crate::guest::Guest;

/// The text of a precondition that fails (412).
const NOT_AS_MEANT: &str = "what is there is not what the request takes it for\n";

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
    if let Some((status, text)) = unsuitable(&request, serving.peer.is_encrypted) {
        return plain(serving, status, text);
    }
    // Where nothing can be seen the change itself says why it cannot be made.
    let present = files.stat(guest, name).await.ok();
    if !may_be_changed(headers, present.as_ref()) {
        return plain(serving, StatusCode::PRECONDITION_FAILED, NOT_AS_MEANT);
    }
    let done = match request.method().as_str() {
        "PUT" => {
            let is_new_only = headers.get_all(IF_NONE_MATCH).iter().any(|tags| tags == "*");
            match put(serving, name, !is_new_only, request.into_body()).await {
                // Another client was faster.
                Err(error) if is_new_only && error.kind() == io::ErrorKind::AlreadyExists => {
                    return plain(serving, StatusCode::PRECONDITION_FAILED, NOT_AS_MEANT);
                }
                done => done,
            }
        }
        "MKCOL" => match files.make_folder(client, name, false).await {
            Err(error) if is_missing(&error) => {
                return plain(serving, StatusCode::CONFLICT, "the folder above is not there\n");
            }
            made => made,
        },
        "MOVE" => {
            let may_replace = headers.get("overwrite").is_none_or(|value| value != "F");
            let target = destination(headers).and_then(|target| percent_decoded(target.path()));
            let target = target.unwrap_or_default();
            let moved = files.rename(client, name, OsStr::from_bytes(&target), may_replace).await;
            match moved.as_ref().map_err(io::Error::kind) {
                Err(io::ErrorKind::AlreadyExists) => {
                    let text = "it is there already\n";
                    return plain(serving, StatusCode::PRECONDITION_FAILED, text);
                }
                // RFC 4918, section 9.9.4.
                Err(io::ErrorKind::InvalidInput) => {
                    let text = "nothing moves onto itself, or into itself\n";
                    return plain(serving, StatusCode::FORBIDDEN, text);
                }
                _ => moved,
            }
        }
        _ => remove(files, client, name).await,
    };
    match done {
        Ok(()) if is_removal => plain(serving, StatusCode::OK, ""),
        Ok(()) => plain(serving, StatusCode::CREATED, ""),
        Err(error) => refused(serving, &error),
    }
}

/// Removes a file, or a folder: WebDAV removes all that is in it; here it has to be empty.
async fn remove(files: &FolderFiles, client: &Client, name: &OsStr) -> io::Result<()> {
    match files.remove(client, name, Vec::new()).await {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            files.remove_folder(client, name).await
        }
        removed => removed,
    }
}

/// Why a request is none for a change that is made here, whatever is there.
fn unsuitable(
    request: &Request<Incoming>,
    is_encrypted: bool,
) -> Option<(StatusCode, &'static str)> {
    let headers = request.headers();
    let is_coded = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    match request.method().as_str() {
        "PUT" if headers.contains_key(CONTENT_RANGE) => {
            Some((StatusCode::BAD_REQUEST, "a file is put as a whole\n"))
        }
        // RFC 9110, section 8.4: the content is not the file, but has to be decoded first.
        "PUT" if headers.get_all(CONTENT_ENCODING).iter().any(is_coded) => {
            let text = "a file is put as it is, without a Content-Encoding\n";
            Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
        }
        // RFC 4918, section 9.3: no content describes the folder to make.
        "MKCOL" if !request.body().is_end_stream() => {
            let text = "a folder is made without any content\n";
            Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
        }
        "MOVE" => {
            let Some(target) = destination(headers) else {
                return Some((StatusCode::BAD_REQUEST, "no Destination that is a path\n"));
            };
            let host = headers.get(HOST).and_then(|host| host.to_str().ok());
            let text = "a file moves within this server: the Destination names another one\n";
            (!is_here(&target, host, is_encrypted)).then_some((StatusCode::BAD_GATEWAY, text))
        }
        _ => None,
    }
}

/// Whether a `Destination` is a path of the server that the client calls by this `Host`.
fn is_here(target: &Uri, host: Option<&str>, is_encrypted: bool) -> bool {
    let Some(there) = target.authority() else { return true };
    let usual = |is_encrypted: bool| if is_encrypted { 443 } else { 80 };
    let is_there_encrypted = target
        .scheme_str()
        .map_or(is_encrypted, |scheme| matches!(scheme, "https" | "davs" | "roots"));
    let Some(here) = host.and_then(|host| host.parse::<Authority>().ok()) else { return false };
    there.host().eq_ignore_ascii_case(here.host())
        && there.port_u16().unwrap_or_else(|| usual(is_there_encrypted))
            == here.port_u16().unwrap_or_else(|| usual(is_encrypted))
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
async fn put(
    serving: &Arc<Serving>,
    path: &OsStr,
    may_replace: bool,
    body: Incoming,
) -> io::Result<()> {
    let Serving { files, client, .. } = &**serving;
    let files = files.folder()?;
    let mode = WriteMode::Create { may_replace };
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

/// The `Destination` of a `MOVE`, if its path is one.
fn destination(headers: &HeaderMap) -> Option<Uri> {
    let target: Uri = headers.get("destination")?.to_str().ok()?.parse().ok()?;
    percent_decoded(target.path()).map(|_| target)
}
