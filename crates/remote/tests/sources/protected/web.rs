//! https of servers that others have written: Debian's XrdHttp and nginx.

use std::fs;
use std::process::Command;

use credentials::x509::{Certificate, certificates, hashes};
use credentials::{Choice, TokenFrom};
use farroot_remote::{Config, Error, ErrorKind};

use super::super::over_tcp;
use super::super::peers::{Process, free_port, start, xrd_http};
use super::bed::{self, Bed, content};
use super::relay::Relay;
use super::{TLS, TOKENS, read_with};

/// Users whom certificates name, of whom one may read.
const USERS: &str = "ofs.authorize 1\nacc.authdb @ALL@/users\nhttp.gridmap @ALL@/gridmap\n";

/// An xrootd with https on a second port.
struct Web {
    bed: Bed,
    _server: bed::Xrootd,
    port: u16,
}

fn web(more: &str) -> Option<Web> {
    let Some(library) = xrd_http() else {
        eprintln!("SKIPPED: XRootD's HTTP library (libXrdHttp) is not installed");
        return None;
    };
    let bed = Bed::new();
    if more == TOKENS && (!bed::has_scitokens() || !bed.publish_keys()) {
        return None;
    }
    // OpenSSL finds authorities by the hashes of their names.
    let folder = bed.path("certificates");
    let text = fs::read(folder.join("0123abcd.0")).unwrap();
    let authority = Certificate::parse(&certificates(&text)[0]).unwrap();
    fs::write(folder.join(format!("{}.0", hashes(&authority.names.0).0)), text).unwrap();
    fs::write(bed.path("users"), "u ada /store rl\n").unwrap();
    fs::write(bed.path("gridmap"), "\"/CN=Ada Lovelace\" ada\n").unwrap();
    let port = free_port();
    let http = format!(
        "xrd.protocol http:{port} {}\nhttp.cadir @ALL@/certificates\nhttp.cert @AT@/host.pem\n\
         http.key @AT@/host.key\nhttp.header2cgi Authorization authz\n",
        library.display()
    );
    let server = bed.xrootd("web", &[TLS, more, &http].concat())?;
    Some(Web { bed, _server: server, port })
}

async fn read(web: &Web, config: Config) -> Result<usize, Error> {
    let relay = Relay::to(web.port).await;
    let url = format!("https://localhost:{}/store/a.bin", relay.port);
    let round_trips = read_with(&over_tcp(config), &url, &relay).await?;
    assert!(!relay.saw(&content()[..100]), "in clear");
    Ok(round_trips)
}

fn with(bed: &Bed, choice: Choice) -> Config {
    let config = bed.user(None);
    Config { credential_store: config.credential_store.with(choice), ..config }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn xrd_http_takes_a_token_in_three_round_trips() {
    let Some(web) = web(TOKENS) else { return };
    let token = web.bed.token("read:/", 3600);
    assert_eq!(read(&web, web.bed.user(Some(&token))).await.unwrap(), 3);
    let error = read(&web, web.bed.user(None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("no token and no proxy were found"), "{error}");
    let elsewhere = web.bed.token("read:/elsewhere", 3600);
    let error = read(&web, web.bed.user(Some(&elsewhere))).await.unwrap_err();
    let said = error.to_string();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(said.contains("it allows read:/elsewhere, and the path is /store/a.bin"), "{said}");
    for part in elsewhere.split('.') {
        assert!(!said.contains(part), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn xrd_http_takes_a_proxy_in_three_round_trips() {
    let Some(web) = web(USERS) else { return };
    let proxy = web.bed.proxy();
    let config = with(&web.bed, Choice { proxy: Some(proxy), ..Choice::default() });
    assert_eq!(read(&web, config).await.unwrap(), 3);
    let error = read(&web, web.bed.user(None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("it asks for a certificate"), "{error}");
}

// ---- nginx -------------------------------------------------------------------------------------

struct Nginx {
    bed: Bed,
    _server: Process,
    /// Wants a certificate; wants a token; TLS 1.2 only; each writes down the requests that it
    /// gets.
    ports: [u16; 5],
}

impl Nginx {
    /// None, loudly, where there is no nginx.
    fn start() -> Option<Nginx> {
        let bed = Bed::new();
        let ports: [u16; 5] = std::array::from_fn(|_| free_port());
        let at = bed.path("nginx");
        fs::create_dir(&at).unwrap();
        let (certificate, key) = bed.host(&["localhost"]);
        fs::write(at.join("host.pem"), certificate).unwrap();
        fs::write(at.join("host.key"), key).unwrap();
        let path = at.display();
        let all = bed.path("");
        let all = all.display();
        let own = format!("ssl_certificate {path}/host.pem; ssl_certificate_key {path}/host.key;");
        let [asks, token, old, other, plain] = ports;
        let configuration = format!(
            "daemon off; master_process off; pid {path}/pid; error_log {path}/error.log info; worker_processes 1;\n\
             user root; events {{}} http {{ log_format shown '$server_port $uri \
             [$http_authorization]'; access_log {path}/shown.log shown; root {all}/data;\n\
             client_body_temp_path {path}/b; proxy_temp_path {path}/p; fastcgi_temp_path {path}/f;\
             uwsgi_temp_path {path}/u; scgi_temp_path {path}/s; ssl_protocols TLSv1.2 TLSv1.3;\n\
             map $http_authorization $good {{ default 0; \"Bearer marker-of-a-secret.token\" 1; }}\n\
             server {{ listen 127.0.0.1:{asks} ssl; {own} ssl_verify_client on; ssl_verify_depth 5;\
             ssl_client_certificate {all}/certificates/0123abcd.0; }}\n\
             server {{ listen 127.0.0.1:{token} ssl; {own}\n\
             location / {{ if ($good = 0) {{ return 401; }} }}\n\
             location /same/ {{ return 302 /store/a.bin; }}\n\
             location /cross/ {{ return 302 https://localhost:{other}/store/a.bin; }}\n\
             location /back/ {{ return 302 https://localhost:{other}/back/; }}\n\
             location /down/ {{ return 302 http://localhost:{plain}/store/a.bin; }} }}\n\
             server {{ listen 127.0.0.1:{old} ssl; {own} ssl_protocols TLSv1.2; }}\n\
             server {{ listen 127.0.0.1:{other} ssl; {own}\n\
             location /back/ {{ return 302 https://localhost:{token}/store/a.bin; }} }}\n\
             server {{ listen 127.0.0.1:{plain}; }} }}\n"
        );
        fs::write(at.join("nginx.conf"), configuration).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(&at).arg("-c").arg(at.join("nginx.conf"));
        command.arg("-e").arg(at.join("error.log"));
        let server = start(&mut command, Some(plain))?;
        Some(Nginx { bed, _server: server, ports })
    }

    async fn read(&self, port: usize, path: &str, config: Config) -> Result<(), Error> {
        let url = format!("https://localhost:{}{path}", self.ports[port]);
        let file = over_tcp(config).open_bytes(&url).await?;
        let bytes = file.fetch(&[0..file.info().size]).await?;
        let bytes: Vec<u8> = bytes.into_iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
        assert!(bytes == content(), "other bytes");
        Ok(())
    }

    /// Lines since the last call: port, path and `Authorization`.
    fn shown(&self) -> Vec<String> {
        let path = self.bed.path("nginx/shown.log");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, "").unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

fn token(bed: &Bed) -> Config {
    let token = Some(TokenFrom::Secret("marker-of-a-secret.token".into()));
    with(bed, Choice { token, ..Choice::default() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_sees_a_token_at_its_origin_only() {
    let Some(nginx) = Nginx::start() else { return };
    let [_, own, _, other, plain] = nginx.ports;
    for (path, expected) in [
        ("/store/a.bin", vec![(own, true)]),
        ("/same/", vec![(own, true)]),
        ("/cross/", vec![(own, true), (other, false)]),
        ("/back/", vec![(own, true), (other, false)]),
        ("/down/", vec![(own, true), (plain, false)]),
    ] {
        nginx.shown();
        nginx.read(1, path, token(&nginx.bed)).await.expect(path);
        let shown = nginx.shown();
        assert!(!shown.is_empty());
        for line in shown {
            let port: u16 = line.split(' ').next().unwrap().parse().unwrap();
            let is_shown = line.ends_with("[Bearer marker-of-a-secret.token]");
            assert!(is_shown || line.ends_with("[-]") || line.ends_with("[]"), "{line}");
            assert!(expected.contains(&(port, is_shown)), "{path}: {line}");
        }
    }
    let error = nginx.read(1, "/store/a.bin", nginx.bed.user(None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_wants_a_certificate_and_takes_no_proxy() {
    let Some(nginx) = Nginx::start() else { return };
    let shows = |path| with(&nginx.bed, Choice { proxy: Some(path), ..Choice::default() });
    nginx.read(0, "/store/a.bin", shows(nginx.bed.certificate())).await.unwrap();
    nginx.shown();
    // OpenSSL 3 refuses proxies unless a server says otherwise, and nginx says it by a 400.
    let error = nginx.read(0, "/store/a.bin", shows(nginx.bed.proxy())).await.unwrap_err();
    let said = error.to_string();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unauthenticated, false), "{said}");
    assert!(said.contains("it was shown the proxy in"), "{said}");
    assert!(nginx.shown().len() <= 8, "it is not tried again and again");
    let error = nginx.read(0, "/store/a.bin", nginx.bed.user(None)).await.unwrap_err();
    let said = error.to_string();
    assert!(said.contains("it asks for a certificate"), "{said}");
    assert!(said.contains("no token and no proxy were found"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_1_2_takes_a_round_trip_more() {
    let Some(nginx) = Nginx::start() else { return };
    for (port, expected) in [(2, 4), (3, 3)] {
        let relay = Relay::to(nginx.ports[port]).await;
        let url = format!("https://localhost:{}/store/a.bin", relay.port);
        let config = nginx.bed.user(None);
        assert_eq!(read_with(&over_tcp(config), &url, &relay).await.unwrap(), expected);
    }
}
