//! `POST /select`, and `GET /select?request=`: entries that the server selects.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use engine::AnswerForm;
use engine::near::BufferCompression;
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode;
use remote::near::PARTS;
use remote::near::headers::{CODING, DELAY, TRAILERS};
use remote::{Error, ErrorKind};
use tokio::time::timeout;

use super::answers::{Answer, RETRY_SECONDS, denied, plain, set, status_of, text_answer};
use super::body::{Body, Rest, SelectedEntries, Serving};
use crate::guest::Guest;
use crate::select::{Answering, Selector};

const PATH: &str = "/select";
const PARAMETER: &str = "request=";
/// Of a client that is about to open a file: its name, and which part of its metadata it wants.
const METADATA: &str = "metadata=";
const PART: &str = "part=";
const STREAM: &str = "application/vnd.apache.arrow.stream";

/// Whether a request wants entries. A file may be called so, too.
pub fn is_asked<B>(request: &Request<B>) -> bool {
    let is_read = request.method() == Method::GET || request.method() == Method::HEAD;
    let is_named = parameter(request, PARAMETER).or_else(|| parameter(request, METADATA)).is_some();
    request.uri().path() == PATH && (request.method() == Method::POST || is_read && is_named)
}

/// The answer about a file of that name: where there is none, a server that selects says what a
/// request has to have.
pub fn about_file<B>(serving: &Arc<Serving>, request: &Request<B>, mut answer: Answer) -> Answer {
    if !serving.selects || request.uri().path() != PATH {
        return answer;
    }
    match answer.status() {
        StatusCode::NOT_FOUND => {
            let text = "no request: POST /select takes it in JSON, GET has it behind ?request=\n";
            plain(serving, StatusCode::BAD_REQUEST, text)
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            let others = answer.headers().get(header::ALLOW).and_then(|line| line.to_str().ok());
            let methods = format!("{}, POST", others.unwrap_or("GET, HEAD"));
            set(answer.headers_mut(), header::ALLOW, &methods);
            answer
        }
        _ => answer,
    }
}

fn parameter<'a, B>(request: &'a Request<B>, name: &str) -> Option<&'a str> {
    request.uri().query()?.split('&').find_map(|one| one.strip_prefix(name))
}

/// Answers a request.
pub async fn answer(
    serving: &Arc<Serving>,
    guest: &Guest,
    selector: &Selector,
    request: Request<Incoming>,
) -> Answer {
    let form = form_for(request.headers());
    if request.method() == Method::HEAD {
        // Only the work itself tells whether it can be done.
        let text = "a request is sent by GET or POST\n";
        let mut answer = plain(serving, StatusCode::METHOD_NOT_ALLOWED, text);
        set(answer.headers_mut(), header::ALLOW, "GET, POST");
        return answer;
    }
    if request.method() == Method::GET && parameter(&request, METADATA).is_some() {
        return metadata(serving, guest, selector, &request).await;
    }
    let text = match parameter(&request, PARAMETER).filter(|_| request.method() == Method::GET) {
        // As forms have it, and curl: + is a space.
        Some(text) => Ok(percent_decode(text.replace('+', " ").as_bytes()).collect()),
        None => body(serving, selector, request.into_body()).await,
    };
    let text = match text {
        Ok(text) => text,
        Err(refusal) => return refusal,
    };
    match selector.answer(guest, &text, form).await {
        Ok(Answering::Text(text)) => {
            let mut answer = text_answer(serving, StatusCode::OK, text);
            set(answer.headers_mut(), header::CONTENT_TYPE, "application/json");
            answer
        }
        Ok(Answering::Stream(answer)) => {
            let takes_trailers = form.may_begin_early;
            let delay = format!("{:.6}", answer.delay());
            let is_coded = answer.is_coded();
            let entries = Rest::Selected(Box::new(SelectedEntries { answer, takes_trailers }));
            let mut answer = Response::new(Body::new(serving.clone(), entries));
            if !takes_trailers {
                set(answer.headers_mut(), HeaderName::from_static(DELAY), &delay);
            }
            if is_coded {
                set(answer.headers_mut(), header::CONTENT_ENCODING, CODING);
            }
            set(answer.headers_mut(), header::CONTENT_TYPE, STREAM);
            set(answer.headers_mut(), header::TRAILER, &TRAILERS.join(", "));
            answer
        }
        Ok(Answering::Denied(denial)) => denied(serving, &denial),
        Err(error) => refusal(serving, &error),
    }
}

/// A part of the metadata of a file.
async fn metadata(
    serving: &Arc<Serving>,
    guest: &Guest,
    selector: &Selector,
    request: &Request<Incoming>,
) -> Answer {
    let part = parameter(request, PART).unwrap_or("0").parse().ok().filter(|part| *part < PARTS);
    let file = parameter(request, METADATA).unwrap_or_default();
    let file = percent_decode(file.as_bytes()).decode_utf8().ok();
    let Some((part, file)) = part.zip(file) else {
        return plain(serving, StatusCode::BAD_REQUEST, "no part of a file's metadata\n");
    };
    match selector.metadata(guest, &file, part).await {
        Ok(Ok(part)) => {
            let mut answer = text_answer(serving, StatusCode::OK, part.into());
            set(answer.headers_mut(), header::CONTENT_TYPE, "application/octet-stream");
            answer
        }
        Ok(Err(denial)) => denied(serving, &denial),
        Err(error) => refusal(serving, &error),
    }
}

/// Clients that take trailers learn there of an error behind the types; those that take the coding
/// and want buffers without compression get all of the stream compressed.
fn form_for(headers: &HeaderMap) -> AnswerForm {
    let names = |name: HeaderName, wanted: &str| {
        let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(',')).any(|one| one.trim().eq_ignore_ascii_case(wanted))
    };
    AnswerForm {
        compression: BufferCompression::Zstd,
        may_be_coded: names(header::ACCEPT_ENCODING, CODING),
        may_begin_early: names(header::TE, "trailers"),
    }
}

/// The content of a request, up to the limit.
async fn body(
    serving: &Arc<Serving>,
    selector: &Selector,
    body: Incoming,
) -> Result<Vec<u8>, Answer> {
    let most = selector.request_bytes();
    let too_long = || {
        let text = "the request is too long\n";
        plain(serving, StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    if body.size_hint().lower() > most as u64 {
        return Err(too_long());
    }
    let broken =
        || plain(serving, StatusCode::BAD_REQUEST, "the request does not come to its end\n");
    let mut body = pin!(body);
    let mut text = Vec::new();
    let opening = serving.client.limits().opening;
    let all = async {
        while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
            let bytes = frame.map_err(|_| broken())?.into_data().unwrap_or_default();
            if text.len() + bytes.len() > most {
                return Err(too_long());
            }
            text.extend_from_slice(&bytes);
        }
        Ok(())
    };
    timeout(opening, all).await.map_err(|_| broken())??;
    Ok(text)
}

fn refusal(serving: &Arc<Serving>, error: &Error) -> Answer {
    let status = match error.kind() {
        ErrorKind::NotInFile => StatusCode::NOT_FOUND,
        ErrorKind::Changed => StatusCode::CONFLICT,
        // The request itself is too much: later it would be, too.
        ErrorKind::LimitReached if !error.is_busy() => StatusCode::PAYLOAD_TOO_LARGE,
        // The file that the request names is no ROOT file, or a damaged one.
        ErrorKind::Corrupt => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::Io => StatusCode::INTERNAL_SERVER_ERROR,
        _ => status_of(error),
    };
    let mut answer = text_answer(serving, status, format!("{}\n", error.message()).into());
    if status == StatusCode::SERVICE_UNAVAILABLE {
        set(answer.headers_mut(), header::RETRY_AFTER, RETRY_SECONDS);
    }
    answer
}
