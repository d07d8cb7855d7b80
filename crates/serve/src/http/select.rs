//! `POST /select`, and `GET /select?request=`: entries that the server selects.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header;
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode;
use remote::{Error, ErrorKind};
use tokio::time::timeout;

use super::answers::{Answer, RETRY_SECONDS, denied, plain, set, status_of, text_answer};
use super::body::{Body, Rest, Serving};
use crate::guest::Guest;
use crate::select::{Answering, Selector};

const PATH: &str = "/select";
const PARAMETER: &str = "request=";
const STREAM: &str = "application/vnd.apache.arrow.stream";
/// The line with the seconds from the request until the answer began.
const DELAY: header::HeaderName = header::HeaderName::from_static("farroot-delay");
/// The lines that follow a stream.
const TRAILERS: &str = "farroot-entries, farroot-selected, farroot-bytes, farroot-seconds";

/// Whether a request wants entries. A file may be called so, too.
pub fn is_asked<B>(request: &Request<B>) -> bool {
    request.uri().path() == PATH
        && (request.method() == Method::POST
            || request.method() == Method::GET && parameter(request).is_some())
}

fn parameter<B>(request: &Request<B>) -> Option<&str> {
    request.uri().query()?.split('&').find_map(|one| one.strip_prefix(PARAMETER))
}

/// Answers a request.
pub async fn answer(
    serving: &Arc<Serving>,
    guest: &Guest,
    selector: &Selector,
    request: Request<Incoming>,
) -> Answer {
    let text = match parameter(&request).filter(|_| request.method() == Method::GET) {
        // As forms have it, and curl: + is a space.
        Some(text) => Ok(percent_decode(text.replace('+', " ").as_bytes()).collect()),
        None => body(serving, selector, request.into_body()).await,
    };
    let text = match text {
        Ok(text) => text,
        Err(refusal) => return refusal,
    };
    match selector.answer(guest, &text).await {
        Ok(Answering::Text(text)) => {
            let mut answer = text_answer(serving, StatusCode::OK, text);
            set(answer.headers_mut(), header::CONTENT_TYPE, "application/json");
            answer
        }
        Ok(Answering::Stream(stream)) => {
            let delay = format!("{:.6}", stream.seconds());
            let mut answer = Response::new(Body::new(serving.clone(), Rest::Selected(stream)));
            set(answer.headers_mut(), DELAY, &delay);
            set(answer.headers_mut(), header::CONTENT_TYPE, STREAM);
            set(answer.headers_mut(), header::TRAILER, TRAILERS);
            answer
        }
        Ok(Answering::Denied(denial)) => denied(serving, &denial),
        Err(error) => refusal(serving, &error),
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
        ErrorKind::Corrupt | ErrorKind::Io => StatusCode::INTERNAL_SERVER_ERROR,
        _ => status_of(error),
    };
    let mut answer = text_answer(serving, status, format!("{}\n", error.message()).into());
    if status == StatusCode::SERVICE_UNAVAILABLE {
        set(answer.headers_mut(), header::RETRY_AFTER, RETRY_SECONDS);
    }
    answer
}
