//! A simulated HTTP server that selects entries of its files, by the production engine.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::near::{BufferCompression, SelectRequest};
use engine::{AnswerForm, Engine, SelectBounds, Selected, SelectedStream};
use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_ENCODING, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use crate::link::{End, Link};
use crate::network::World;
use crate::xrootd_host::{self, Behaviour};
use crate::{Files, http_host};

type Body = UnsyncBoxBody<Bytes, Infallible>;

const BOUNDS: SelectBounds = SelectBounds {
    bytes: 1 << 30,
    time: Duration::from_secs(1800),
    step_time: Duration::from_secs(600),
    step_bytes: 8 << 20,
};

/// As a client of farroot asks.
const FORM: AnswerForm =
    AnswerForm { compression: BufferCompression::Zstd, may_be_coded: true, may_begin_early: true };

/// Requests that are answered or wait at a time: as `farroot serve` has it.
const REQUESTS_MAX: usize = 32;

/// The processors of a server: virtual time does not pass while code runs.
#[derive(Clone)]
pub struct Processors {
    cores: Arc<Semaphore>,
    places: Arc<Semaphore>,
    /// Of one request.
    time: Duration,
}

impl Processors {
    /// So many cores, on each of which a request takes this time.
    pub fn new(cores: usize, time: Duration) -> Self {
        let places = Arc::new(Semaphore::new(REQUESTS_MAX));
        Processors { cores: Arc::new(Semaphore::new(cores)), places, time }
    }

    /// Does the work of a request; false where there is no place for it.
    async fn work(&self) -> bool {
        let Ok(_place) = self.places.try_acquire() else { return false };
        let _turn = self.cores.acquire().await;
        tokio::time::sleep(self.time).await;
        true
    }
}

/// Serves `files` to every connection that comes, until the world ends, and selects their entries.
pub fn serve(mut accepted: mpsc::UnboundedReceiver<End>, files: Files, processors: Processors) {
    let disk = World::default();
    let host = disk.host("disk", 1094, Link::delay(Duration::ZERO));
    xrootd_host::serve(host, files.clone(), Behaviour::default());
    let engine = crate::engine(&disk);
    tokio::spawn(async move {
        while let Some(end) = accepted.recv().await {
            let files = files.clone();
            let engine = engine.clone();
            let processors = processors.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let files = files.clone();
                let engine = engine.clone();
                let processors = processors.clone();
                async move {
                    if let Some(part) = metadata(&engine, &request).await {
                        return Ok(part);
                    }
                    if request.uri().path() == "/select" {
                        let asked = Instant::now();
                        let mut answer = match processors.work().await {
                            true => selected(&engine, request).await,
                            false => refusal(StatusCode::SERVICE_UNAVAILABLE, "no place".into()),
                        };
                        let delay = format!("{:.6}", asked.elapsed().as_secs_f64());
                        if let Ok(delay) = delay.parse() {
                            answer.headers_mut().insert("farroot-delay", delay);
                        }
                        return Ok::<_, Infallible>(answer);
                    }
                    let mut answer = http_host::answer(&files, &request, None);
                    answer.headers_mut().insert("farroot-select", HeaderValue::from_static("1"));
                    Ok(answer.map(|body| body.boxed_unsync()))
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(end), service));
        }
    });
}

/// A part of the metadata of a file, if that is asked for.
async fn metadata(engine: &Engine, request: &Request<Incoming>) -> Option<Response<Body>> {
    let query = request.uri().query()?.strip_prefix("metadata=")?;
    let (file, part) = query.split_once("&part=")?;
    let address = format!("root://disk:1094/{}", file.replace("%2F", "/").replace("%2E", "."));
    let metadata = engine.metadata_to_send(&address).await.ok()?;
    let part = metadata.part(part.parse().ok()?);
    Some(Response::new(Full::new(part.into()).boxed_unsync()))
}

async fn selected(engine: &Engine, request: Request<Incoming>) -> Response<Body> {
    let answer = async {
        let text = request.into_body().collect().await.map_err(|error| error.to_string())?;
        let request = SelectRequest::parse(&text.to_bytes()).map_err(|error| error.to_string())?;
        let address = |file: String| format!("root://disk:1094/{file}");
        let addresses = request.files.iter().map(|file| address(file.known().file)).collect();
        let selected = engine.selected(&request, addresses, BOUNDS, FORM).await;
        selected.map_err(|error| error.to_string())
    };
    match answer.await {
        Ok(Selected::Text(text, _)) => Response::new(Full::new(text.into()).boxed_unsync()),
        Ok(Selected::Stream(answer)) => streamed(*answer),
        Err(text) => refusal(StatusCode::INTERNAL_SERVER_ERROR, text),
    }
}

fn refusal(status: StatusCode, text: String) -> Response<Body> {
    let mut refusal = Response::new(Full::new(text.into()).boxed_unsync());
    *refusal.status_mut() = status;
    refusal
}

/// An answer as it is made; one that fails has no end mark.
fn streamed(answer: SelectedStream) -> Response<Body> {
    let is_coded = answer.is_coded();
    let frames = stream::unfold(answer, |mut answer| async move {
        let bytes = answer.next().await.ok().flatten()?;
        Some((Ok(Frame::data(bytes.into())), answer))
    });
    let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
    if is_coded {
        answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("zstd"));
    }
    answer
}
