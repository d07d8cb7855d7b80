//! Answers in words, and the statuses of errors.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use remote::ErrorKind;

use super::body::{Body, Rest, Serving};
use crate::access::Denial;

/// Seconds after which a refused client may try again.
pub const RETRY_SECONDS: &str = "10";

pub type Answer = Response<Body>;

/// The status of an error at an origin in answers.
pub fn status_of(error: &remote::Error) -> StatusCode {
    match error.kind() {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::PermissionDenied | ErrorKind::Unauthenticated => StatusCode::FORBIDDEN,
        ErrorKind::InvalidArgument => StatusCode::BAD_REQUEST,
        ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
        ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Cancelled | ErrorKind::LimitReached => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_GATEWAY,
    }
}

pub fn plain(serving: &Arc<Serving>, status: StatusCode, text: &'static str) -> Answer {
    text_answer(serving, status, Bytes::from_static(text.as_bytes()))
}

pub fn text_answer(serving: &Arc<Serving>, status: StatusCode, text: Bytes) -> Answer {
    let rest = Rest::Text(text);
    let mut answer = Response::new(Body::new(serving.clone(), rest));
    *answer.status_mut() = status;
    set(answer.headers_mut(), header::CONTENT_TYPE, "text/plain");
    answer
}

pub fn set(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    // All values are made here of visible ASCII.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// The answer to who may not read something.
pub fn denied(serving: &Arc<Serving>, denial: &Denial) -> Answer {
    let fault = match denial {
        Denial::Forbidden(_) => {
            return text_answer(serving, StatusCode::FORBIDDEN, format!("{denial}\n").into());
        }
        Denial::Unknown(fault) => *fault,
    };
    if !serving.guard.has_http_proofs() {
        return plain(serving, StatusCode::FORBIDDEN, "to be read by root://, with a ticket\n");
    }
    if !serving.peer.is_encrypted {
        return plain(serving, StatusCode::FORBIDDEN, "to be read by https\n");
    }
    let mut answer = text_answer(serving, StatusCode::UNAUTHORIZED, format!("{denial}\n").into());
    for challenge in serving.guard.challenges(fault) {
        if let Ok(value) = HeaderValue::from_str(&challenge) {
            answer.headers_mut().append(header::WWW_AUTHENTICATE, value);
        }
    }
    answer
}
