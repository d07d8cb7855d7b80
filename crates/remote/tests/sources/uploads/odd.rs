//! To a server of HTTP that renames no files, and has other faults.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farroot_remote::{Algorithm, Config, CreateOptions, Error, ErrorKind, Hasher, Remote};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use mutex::Mutex;
use tokio::net::TcpListener;

use super::cut::Cut;
use super::{OVER, content, upload};
use crate::over_tcp;

const NEW: CreateOptions = CreateOptions { overwrite: false, ..OVER };

/// A server's faults.
#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    /// It changes a byte of a file that is put under its final name.
    damages: bool,
    /// It lets no files be removed.
    keeps: bool,
    /// It refuses all bytes.
    refuses: bool,
    /// A file has its name before all bytes have come.
    in_place: bool,
    /// It never says that it has a file.
    hangs: bool,
    /// It says nothing of files that are there.
    says_nothing: bool,
    /// It remembers the Adler-32 of a file that had the name before.
    remembers: bool,
    /// It renames files.
    renames: bool,
    /// It refuses requests with another query than this.
    wants: Option<&'static str>,
    /// It allows only `PUT`.
    puts_only: bool,
}

/// A server of files in memory, and those.
struct Odd {
    faults: Faults,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl Odd {
    /// With the file `old` under the name `there`; also its address.
    async fn start(faults: Faults) -> (Arc<Odd>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}/", listener.local_addr().unwrap());
        let files = Mutex::new(BTreeMap::from([("/there".to_owned(), b"old".to_vec())]));
        let odd = Arc::new(Odd { faults, files });
        let server = odd.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let odd = server.clone();
                let service = service_fn(move |request| {
                    let odd = odd.clone();
                    async move { Ok::<_, Infallible>(odd.answer(request).await) }
                });
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(async move {
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        (odd, origin)
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let name = request.uri().path().to_owned();
        let is_wanted = self.faults.wants.is_none_or(|query| request.uri().query() == Some(query));
        let status = match request.method().as_str() {
            _ if !is_wanted => StatusCode::FORBIDDEN,
            method if self.faults.puts_only && method != "PUT" => StatusCode::FORBIDDEN,
            "MOVE" if self.faults.renames => {
                let to = request.headers()["destination"].to_str().unwrap();
                let to: hyper::Uri = to.parse().unwrap();
                let moved = self.files.lock().remove(&name);
                match moved {
                    Some(content) => {
                        self.files.lock().insert(to.path().to_owned(), content);
                        StatusCode::CREATED
                    }
                    None => StatusCode::NOT_FOUND,
                }
            }
            "PUT" if self.faults.refuses => StatusCode::FORBIDDEN,
            "PUT" => self.put(name, request.into_body()).await,
            "DELETE" if self.faults.keeps => StatusCode::FORBIDDEN,
            "DELETE" => match self.files.lock().remove(&name) {
                Some(_) => StatusCode::NO_CONTENT,
                None => StatusCode::NOT_FOUND,
            },
            "HEAD" if self.faults.says_nothing => StatusCode::FORBIDDEN,
            "HEAD" => return self.head(&name, request.headers().get("want-digest").is_some()),
            _ => StatusCode::METHOD_NOT_ALLOWED,
        };
        Response::builder().status(status).body(Full::default()).unwrap()
    }

    async fn put(&self, name: String, mut body: Incoming) -> StatusCode {
        let mut content = Vec::new();
        if self.faults.in_place {
            self.files.lock().insert(name.clone(), Vec::new());
        }
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return StatusCode::BAD_REQUEST };
            content.extend_from_slice(&frame.into_data().unwrap_or_default());
            // As a disk does with a file that was removed, it drops bytes that arrive afterwards.
            if let Some(file) = self.files.lock().get_mut(&name).filter(|_| self.faults.in_place) {
                file.clone_from(&content);
            }
        }
        if self.faults.damages && !name.ends_with(".part") {
            content[7] ^= 1;
        }
        self.files.lock().insert(name, content);
        if self.faults.hangs {
            std::future::pending::<()>().await;
        }
        StatusCode::CREATED
    }

    fn head(&self, name: &str, with_checksum: bool) -> Response<Full<Bytes>> {
        let files = self.files.lock();
        let Some(content) = files.get(name) else {
            return Response::builder().status(404).body(Full::default()).unwrap();
        };
        let of = |kind| {
            let mut hasher = Hasher::new(kind);
            hasher.update(content);
            hasher.finish().to_string()
        };
        let adler32 = match self.faults.remembers {
            true => "adler32 0badf00d".to_owned(),
            false => of(Algorithm::Adler32),
        };
        let digest = format!("{adler32}, {}", of(Algorithm::Crc32c))
            .replace("32 ", "32=")
            .replace("32c ", "32c=");
        let mut answer = Response::builder().header("content-length", content.len());
        answer = answer.header("etag", format!("\"{}\"", of(Algorithm::Md5)));
        if with_checksum {
            answer = answer.header("digest", digest);
        }
        answer.body(Full::default()).unwrap()
    }

    fn files(&self) -> Vec<(String, usize)> {
        self.files.lock().iter().map(|(name, content)| (name.clone(), content.len())).collect()
    }

    /// The names of its files.
    fn names(&self) -> Vec<String> {
        self.files().into_iter().map(|(name, _)| name).collect()
    }
}

async fn refused(remote: &Remote, address: &str, options: CreateOptions) -> Error {
    upload(remote, address, &content(70_000), 9_000, options).await.unwrap_err()
}

/// Regression: a file whose checksum was wrong stayed under its final name where the server renames
/// no files, and the next reader took it for a good one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_a_server_damages_does_not_keep_its_name() {
    for (name, options) in [("new", NEW), ("there", OVER)] {
        for in_place in [false, true] {
            let faults = Faults { damages: true, ..Faults::default() };
            let (odd, origin) = Odd::start(faults).await;
            let options = CreateOptions { in_place, ..options };
            let address = format!("{origin}{name}");
            let error = refused(&over_tcp(Config::default()), &address, options).await;
            if name == "there" && !in_place {
                // It renames no files, and the earlier one is not given up unasked.
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                assert_eq!(odd.files(), [("/there".to_owned(), 3)]);
                continue;
            }
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert!(!odd.names().contains(&format!("/{name}")), "{:?}", odd.files());
            assert!(odd.names().iter().all(|name| name == "/there"), "{:?}", odd.files());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_that_cannot_be_removed_is_told_of() {
    let faults = Faults { damages: true, keeps: true, ..Faults::default() };
    let (odd, origin) = Odd::start(faults).await;
    let remote = over_tcp(Config::default());
    let address = format!("{origin}new");
    let error = refused(&remote, &address, NEW).await;
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let told = format!("; {address} is wrong or incomplete and could not be removed: remove it (");
    assert!(error.to_string().contains(&told), "{error}");
    assert_eq!(odd.names(), ["/new", "/there"]);
}

/// Regression: all requests of an upload but that for its own name lacked the query of the address,
/// in which a token may be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_requests_of_an_upload_say_who_asks() {
    let (odd, origin) =
        Odd::start(Faults { renames: true, wants: Some("authz=t"), ..Faults::default() }).await;
    let remote = over_tcp(Config::default());
    for (name, options) in [("new", NEW), ("there", OVER)] {
        let address = format!("{origin}{name}?authz=t");
        let written = upload(&remote, &address, &content(70_000), 9_000, options).await.unwrap();
        assert_eq!(written.warnings, [""; 0]);
        assert!(!written.address.contains("=t"), "{}", written.address);
    }
    assert_eq!(odd.files(), [("/new".to_owned(), 70_000), ("/there".to_owned(), 70_000)]);
}

/// Regression: an address that is signed for one `PUT` was used for other requests and other names,
/// which the server refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_put_to_a_signed_address_as_it_is() {
    let query = "X-Amz-Signature=s";
    let faults = Faults { wants: Some(query), puts_only: true, ..Faults::default() };
    let (odd, origin) = Odd::start(faults).await;
    let remote = over_tcp(Config::default());
    let address = format!("{origin}new?{query}");
    let written = upload(&remote, &address, &content(70_000), 9_000, NEW).await.unwrap();
    assert!(written.warnings[0].contains("signed for itself alone"), "{:?}", written.warnings);
    assert_eq!(odd.files(), [("/new".to_owned(), 70_000), ("/there".to_owned(), 3)]);
}

/// A server may remember the checksum of the file that had the name before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_good_if_one_of_two_checksums_says_so() {
    let (odd, origin) = Odd::start(Faults { remembers: true, ..Faults::default() }).await;
    let remote = over_tcp(Config::default());
    let address = format!("{origin}there");
    let options = CreateOptions { in_place: true, ..OVER };
    upload(&remote, &address, &content(70_000), 9_000, options).await.unwrap();
    assert_eq!(odd.files(), [("/there".to_owned(), 70_000)]);
}

/// Regression: a refused upload under the final name removed the file that was there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_a_file_keeps_the_one_before() {
    for says_nothing in [false, true] {
        let faults = Faults { refuses: true, says_nothing, ..Faults::default() };
        let (odd, origin) = Odd::start(faults).await;
        let address = format!("{origin}there");
        let options = CreateOptions { in_place: true, ..OVER };
        let error = refused(&over_tcp(Config::default()), &address, options).await;
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        assert_eq!(error.to_string().contains("see what is there"), says_nothing, "{error}");
        assert_eq!(odd.files(), [("/there".to_owned(), 3)]);
    }
}

/// A connection that breaks in the middle leaves a part of the file, or the earlier file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_of_a_file_does_not_keep_its_name() {
    for (name, options) in [("new", NEW), ("there", OVER)] {
        for in_place in [false, true] {
            let (odd, origin) = Odd::start(Faults { in_place, ..Faults::default() }).await;
            let cut = Cut::behind(200_000);
            let address = format!("{origin}{name}");
            let options = CreateOptions { in_place: true, ..options };
            let remote = cut.remote();
            let content = content(1 << 20);
            let error = upload(&remote, &address, &content, 99_000, options).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
            let old = ("/there".to_owned(), 3);
            let left = if in_place && name == "there" { vec![] } else { vec![old] };
            assert_eq!(odd.files(), left, "{name} {in_place}");
        }
    }
}

/// Regression: a file that was put stayed where the caller gave up before the server's answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_given_up_at_its_end_goes() {
    for in_place in [false, true] {
        let (odd, origin) =
            Odd::start(Faults { hangs: true, renames: true, ..Faults::default() }).await;
        let remote = over_tcp(Config::default());
        let options = CreateOptions { in_place, ..NEW };
        let mut upload = remote.create(&format!("{origin}new"), options).await.unwrap();
        upload.write(0, content(70_000).into(), false).await.unwrap();
        let finishing = tokio::spawn(upload.finish());
        let has = async |count: usize| {
            while odd.names().len() != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        has(2).await;
        assert_eq!(odd.names().contains(&"/new".to_owned()), in_place);
        finishing.abort();
        has(1).await;
    }
}

/// A file that appeared between the check whether it is there and the end is not replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_appears_meanwhile_stays() {
    let (odd, origin) = Odd::start(Faults::default()).await;
    let remote = over_tcp(Config::default());
    let upload = remote.create(&format!("{origin}new"), NEW).await.unwrap();
    odd.files.lock().insert("/new".to_owned(), b"theirs".to_vec());
    let error = upload.finish().await.unwrap_err();
    assert!(error.to_string().contains("is there already"), "{error}");
    assert_eq!(odd.files.lock()["/new"], b"theirs");
}
