//! Each cause of a login that fails, with the words that servers have for it: an error of a read
//! names the cause and the command to type in one line, and so does `farroot doctor`.
//!
//! The words are those of xrootd 5.5 and of dCache. The own words of Debian's xrootd, MIT's KDC and
//! nginx are in the tests beside this one; here nothing has to be installed but openssl.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use credentials::{Choice, Environment, TokenFrom};
use farroot_remote::Config;
use farroot_remote::address::Address;
use xrootd::server::ServedTls;

use self::grid::Grid;
use super::super::http_server::{Say, scripted, scripted_within};
use super::super::over_tcp;
use super::super::secrets::{search, search_error};
use super::super::secured::{Authority, token};
use super::bed::Bed;
use super::door::Door;

#[path = "../../../src/source/xrootd/gsi/bed.rs"]
#[allow(dead_code, reason = "it is that of the tests of gsi")]
mod grid;

/// Failures that users run into. Each has a row in "Error messages" of `docs/at-my-site.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pain {
    /// A proxy is missing, has expired, is not valid yet, or is of an unknown authority.
    Proxy,
    /// A token has expired, or is from the future.
    Time,
    /// A token is from an issuer that the site does not know.
    Issuer,
    /// A token is for another audience or another path, or for none.
    Scope,
    /// The file of a token is open to others.
    Mode,
    /// The server has logged in a user name without proof.
    NoProof,
    /// A ticket is missing, has expired, or is of another realm.
    Ticket,
    /// There is no directory of the grid's authorities.
    Authorities,
    /// The server's certificate: its issuer, its names.
    Host,
    /// The server does not take the user's certificate, and says so late.
    Refused,
    /// A status of the web that says nothing.
    Web,
    /// S3: clock and region.
    S3,
    /// A worker without the file that the caller has.
    Worker,
}

const ALL: [Pain; 13] = [
    Pain::Proxy,
    Pain::Time,
    Pain::Issuer,
    Pain::Scope,
    Pain::Mode,
    Pain::NoProof,
    Pain::Ticket,
    Pain::Authorities,
    Pain::Host,
    Pain::Refused,
    Pain::Web,
    Pain::S3,
    Pain::Worker,
];

/// The credential that the server wants, and how it refuses.
enum Server {
    /// XRootD, inside TLS where it offers `ztn`: refuses each credential in these words.
    Login(&'static str, &'static str),
    /// Takes each credential, and refuses the open.
    Open(&'static str, &'static str),
    /// XRootD with a certificate for these names, asked as this host.
    Named(&'static [&'static str], &'static str),
    /// Answers each request of the web so.
    Web(&'static str),
    /// Wants a certificate of an authority that the user's is not of.
    Asking,
    /// S3: status and headers, and the text of its document.
    S3(&'static str, &'static str),
}

use Server::{Asking, Login, Named, Open, S3, Web};

/// Credentials of users, and the authorities that they trust.
struct World {
    bed: Bed,
    grid: Grid,
    web: Authority,
    strangers: Authority,
    /// The address of S3.
    endpoint: mutex::Mutex<String>,
}

/// A user.
type User = fn(&World) -> Config;

struct Case {
    pain: Pain,
    server: Server,
    user: User,
    /// Words of the error and of the doctor; of `a|b` either will do.
    said: &'static [&'static str],
}

const ZTN: &str = "&P=ztn,0:4096:";
const GSI: &str = "&P=gsi,v:10600,c:ssl,ca:5168735f.0|4339b4bc.0";
const KRB5: &str = "&P=krb5,xrootd/localhost@TEST.REALM";
const ANY: &str = "&P=krb5,xrootd/localhost@TEST.REALM&P=gsi,v:10600,c:ssl,ca:5168735f.0&P=unix";
const MAKE_PROXY: &str = "voms-proxy-init -voms YOUR_VO -rfc -valid 192:00";
const SET_CLOCK: &str = "timedatectl set-ntp true";
/// As Debian's xrootd says it.
const DENIED: &str = "Unable to open /store/a.bin; permission denied";

/// A token with these claims, of which `~` is now and `+` in two hours.
fn with_claims(world: &World, claims: &str) -> Config {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let claims = claims.replace('~', &now.to_string()).replace('+', &(now + 7_300).to_string());
    world.bed.user(Some(&token(&claims)))
}

fn with_proxy(world: &World, name: &str, years: std::ops::Range<i32>) -> Config {
    shown(world, world.grid.proxy(name, years))
}

fn shown(world: &World, path: std::path::PathBuf) -> Config {
    let config = world.bed.user(None);
    let choice = Choice { proxy: Some(path), ..Choice::default() };
    Config { credential_store: config.credential_store.with(choice), ..config }
}

/// One who has these variables, and nothing else.
fn with_variables(world: &World, variables: &[(&str, &str)]) -> Config {
    let config = world.bed.user(None);
    let user = nix::unistd::geteuid().as_raw();
    let home = world.bed.path("home");
    let mut own = Environment::new(user, Some(home.clone()), variables.iter().copied());
    own.temporary = Some(home);
    Config { credential_store: credentials::CredentialStore::new(own, Choice::default()), ..config }
}

fn case(pain: Pain, server: Server, user: User, said: &'static [&'static str]) -> Case {
    Case { pain, server, user, said }
}

fn of_proxies_and_tokens() -> Vec<Case> {
    let good: User =
        |w| with_claims(w, r#"{"iss":"https://cms","scope":"storage.read:/","iat":~,"exp":+}"#);
    vec![
        case(
            Pain::Proxy,
            Login(GSI, ""),
            |w| w.bed.user(None),
            &["no proxy in X509_USER_PROXY or /tmp/x509up_u", MAKE_PROXY],
        ),
        case(
            Pain::Proxy,
            Login(GSI, ""),
            |w| with_proxy(w, "expired", 2020..2021),
            &["the proxy in ", "expired ", " ago", MAKE_PROXY],
        ),
        case(
            Pain::Proxy,
            Login(GSI, "Proxy: certificate expired"),
            |w| with_proxy(w, "future", 2040..2048),
            &["is not valid yet, but in ", "the clock may be wrong", SET_CLOCK],
        ),
        case(
            Pain::Proxy,
            Login(GSI, "unknown CA: cannot verify client credentials: kXGC_certreq"),
            |w| with_proxy(w, "proxy", 2020..2048),
            &["does not know the authority ", "/CN=The CA", "in X509_USER_PROXY"],
        ),
        case(
            Pain::Proxy,
            Login(GSI, "Chain is inconsistent"),
            |w| with_proxy(w, "plain", 2020..2048),
            &["has no VOMS attributes, which sites may want", "is valid for ", MAKE_PROXY],
        ),
        case(
            Pain::Time,
            Login(ZTN, "token expired"),
            |w| with_claims(w, r#"{"iss":"https://cms","exp":1000000000}"#),
            &["the token in ", "expired ", " ago", "htgettoken"],
        ),
        // Servers call this expired, too.
        case(
            Pain::Time,
            Login(ZTN, "token expired"),
            |w| with_claims(w, r#"{"iss":"https://cms","nbf":+}"#),
            &["is not valid yet by this machine's clock, but in 2 h", SET_CLOCK],
        ),
        case(
            Pain::Time,
            Login(ZTN, "token expired"),
            |w| with_claims(w, r#"{"iss":"https://cms","iat":+}"#),
            &["is not valid yet by this machine's clock, but in 2 h", SET_CLOCK],
        ),
        case(
            Pain::Time,
            Login(ZTN, "token expired"),
            good,
            &["is valid for 2 h ", "so one of the clocks is wrong", SET_CLOCK],
        ),
        case(
            Pain::Issuer,
            Login(ZTN, "Token issuer is not in list of allowed issuers."),
            good,
            &["is from https://cms, which the site does not know", "htgettoken --issuer="],
        ),
    ]
}

fn of_rights() -> Vec<Case> {
    vec![
        case(
            Pain::Scope,
            Open(ZTN, DENIED),
            |w| with_claims(w, r#"{"sub":"ada","scope":"storage.read:/cms","exp":+}"#),
            &[
                "it allows storage.read:/cms, and the path is /store/a.bin",
                "htgettoken --scopes=storage.read:/store",
            ],
        ),
        case(
            Pain::Scope,
            Open(ZTN, DENIED),
            |w| with_claims(w, r#"{"sub":"ada","aud":"https://localhost","exp":+}"#),
            &["for https://localhost", "it allows nothing by itself", "htgettoken --scopes="],
        ),
        case(
            Pain::Scope,
            Open(ZTN, "Restriction MultiTargetedRestriction[Authorisation{allowing=[]}] denied"),
            |w| with_claims(w, r#"{"sub":"ada","scope":"storage.read:/cms","exp":+}"#),
            &["dCache says that the credential does not allow this path", "htgettoken --scopes="],
        ),
        case(
            Pain::Scope,
            Login(ZTN, "Token audience is not accepted"),
            |w| with_claims(w, r#"{"iss":"https://cms","aud":"https://localhost","exp":+}"#),
            &["is for https://localhost, and not for this server", "htgettoken --issuer="],
        ),
    ]
}

fn of_what_is_lacking() -> Vec<Case> {
    vec![
        case(
            Pain::Mode,
            Login(ZTN, ""),
            |w| {
                let config = w.bed.user(Some("marker-of-a-secret"));
                let open = std::fs::Permissions::from_mode(0o644);
                std::fs::set_permissions(w.bed.path("token"), open).unwrap();
                config
            },
            &["is open to other users (mode 644)", "chmod 600 "],
        ),
        case(
            Pain::NoProof,
            Open(
                ANY,
                "Unable to give access - user access restricted - unauthorized identity used",
            ),
            |w| with_variables(w, &[("KRB5CCNAME", "FILE:/nonexistent/tickets")]),
            &[
                "without proof, was logged in by unix",
                "krb5: the Kerberos ticket in",
                "gsi: no proxy in ",
                "kinit USER@REALM",
                MAKE_PROXY,
            ],
        ),
        case(
            Pain::Ticket,
            Login(KRB5, ""),
            |w| with_variables(w, &[("KRB5CCNAME", "FILE:/nonexistent/tickets")]),
            &[
                "No credentials cache|needs a Kerberos library",
                "kinit USER@TEST.REALM|install libgssapi-krb5-2",
            ],
        ),
        case(
            Pain::Worker,
            Login(GSI, ""),
            |w| shown(w, "/nonexistent/x509up".into()),
            &[
                "the proxy in /nonexistent/x509up (from the argument proxy) is not there on this",
                "-out /nonexistent/x509up, or copy it to there",
            ],
        ),
        case(
            Pain::Worker,
            Login(ZTN, ""),
            |w| {
                let path = "/nonexistent/token".into();
                let choice = Choice { token: Some(TokenFrom::File(path)), ..Choice::default() };
                let config = w.bed.user(None);
                Config { credential_store: config.credential_store.with(choice), ..config }
            },
            &[
                "the token in /nonexistent/token (from the argument token) is not there on this",
                "or copy it to there",
            ],
        ),
    ]
}

fn of_certificates() -> Vec<Case> {
    vec![
        case(
            Pain::Authorities,
            Named(&["localhost"], "localhost"),
            |w| {
                let other = w.strangers.path().join("ca.pem");
                with_variables(w, &[("SSL_CERT_FILE", other.to_str().unwrap())])
            },
            &[
                "is from an authority that is not trusted: ",
                "/CN=An authority",
                "conda install -c conda-forge ca-policy-lcg",
                "X509_CERT_DIR",
            ],
        ),
        case(
            Pain::Authorities,
            Named(&["localhost"], "localhost"),
            |w| with_variables(w, &[("X509_CERT_DIR", "/nonexistent/certificates")]),
            &["trusted are no authorities at all (/nonexistent/certificates: ", "X509_CERT_DIR"],
        ),
        case(
            Pain::Host,
            Named(&["localhost"], "127.0.0.1"),
            |w| w.bed.user(None),
            &[
                "the certificate of 127.0.0.1 is for localhost",
                "write the server's name in full, and not its number",
            ],
        ),
        case(
            Pain::Host,
            Named(&["localhost.example.org"], "localhost"),
            |w| w.bed.user(None),
            &[
                "the certificate of localhost is for localhost.example.org",
                "write the name in full: localhost.example.org",
            ],
        ),
        case(
            Pain::Host,
            Named(&[], "localhost"),
            |w| w.bed.user(None),
            &[
                "names no host (no SAN); its subject's old common name is \"a host\"",
                "use the name that the certificate has",
            ],
        ),
        case(
            Pain::Refused,
            Asking,
            |w| {
                let proxy = Some(w.web.user());
                w.web.config(Choice { proxy, ..Choice::default() })
            },
            &["the certificate of \"/CN=Ada Lovelace\"", "htgettoken|voms-proxy-init"],
        ),
        case(
            Pain::Refused,
            Asking,
            |w| w.web.config(Choice::default()),
            &["there was none to show|none was shown", MAKE_PROXY],
        ),
    ]
}

fn of_the_web() -> Vec<Case> {
    let skewed = "403 Forbidden\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT";
    vec![
        case(
            Pain::Web,
            Web("403 Forbidden"),
            |w| w.web.config(Choice::default()),
            &[
                "403 Forbidden; nothing was shown: no token and no proxy were found",
                MAKE_PROXY,
                "htgettoken",
            ],
        ),
        case(
            Pain::Web,
            Web("401 Unauthorized\r\nWWW-Authenticate: Bearer"),
            |w| w.web.with_token(&token(r#"{"scope":"storage.read:/cms"}"#)),
            &[
                "it wants Bearer",
                "it allows storage.read:/cms, and the path is /store/a.bin",
                "htgettoken --scopes=storage.read:/store",
            ],
        ),
        case(
            Pain::Web,
            Web("403 Forbidden"),
            |w| w.web.with_token(&token(r#"{"nbf":4102444800}"#)),
            &["which is valid in ", SET_CLOCK],
        ),
        case(
            Pain::S3,
            S3(skewed, "RequestTimeTooSkewed</Code>"),
            of_s3,
            &["this machine's clock is ", " ahead of the server's", SET_CLOCK],
        ),
        case(
            Pain::S3,
            S3("403 Forbidden", "PermanentRedirect</Code><Region>eu-there-1</Region>"),
            of_s3,
            &["the bucket is in the region eu-there-1", "set AWS_REGION=eu-there-1"],
        ),
    ]
}

fn of_s3(world: &World) -> Config {
    with_variables(
        world,
        &[
            ("AWS_ENDPOINT_URL", &world.endpoint.lock()),
            ("AWS_ACCESS_KEY_ID", "AKID"),
            ("AWS_SECRET_ACCESS_KEY", "marker-of-a-secret"),
        ],
    )
}

/// Starts the server, and gives the address of its file.
async fn start(world: &World, server: &Server) -> String {
    let by = |security: &str| match security == ZTN {
        true => ServedTls::Demanded,
        false => ServedTls::None,
    };
    let (door, scheme, host) = match *server {
        Login(security, says) => {
            let says = Some(says);
            (Door { security, tls: by(security), says, ..Door::default() }, "root", "localhost")
        }
        Open(security, denies) => {
            let tls = by(security);
            let takes_all = true;
            let denies = Some(denies);
            (Door { security, tls, takes_all, denies, ..Door::default() }, "root", "localhost")
        }
        Named(names, host) => (Door { names, security: "", ..Door::default() }, "roots", host),
        Web(status) => {
            let url = scripted_within(Some(world.web.server()), move |_, _, _| {
                Say::Stay(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
            });
            return url.await.join("store/a.bin").unwrap().into();
        }
        Asking => {
            let tls = world.web.asking(&world.strangers);
            let url = scripted_within(Some(tls), |_, _, _| Say::Close(String::new()));
            return url.await.join("store/a.bin").unwrap().into();
        }
        S3(status, code) => {
            let url = scripted(move |_, _| {
                let body = format!("<Error><Code>{code}</Error>");
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}");
                Say::Stay(format!("{head}\r\n\r\n{body}"))
            });
            *world.endpoint.lock() = url.await.into();
            return "s3://bucket/store/a.bin".to_owned();
        }
    };
    let port = Arc::new(door).open(&world.bed).await;
    format!("{scheme}://{host}:{port}//store/a.bin")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cause_is_named_with_what_to_type() {
    let Some(grid) = Grid::new() else { return };
    let web = Authority::new();
    let strangers = Authority::named("Other CA");
    let world = World { bed: Bed::new(), grid, web, strangers, endpoint: Default::default() };
    let cases = [
        of_proxies_and_tokens(),
        of_rights(),
        of_what_is_lacking(),
        of_certificates(),
        of_the_web(),
    ];
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
    for pain in ALL {
        assert!(cases.iter().any(|case| case.pain == pain), "{pain:?} is left out");
    }
    for Case { pain, server, user, said } in cases {
        let address = start(&world, &server).await;
        let remote = over_tcp(user(&world));
        let error = remote.open_bytes(&address).await.unwrap_err();
        search_error(&error);
        let line = error.to_string();
        assert!(!line.contains('\n'), "{pain:?}: more than a line: {line}");
        let (findings, is_read) = remote.examine(&Address::parse(&address).unwrap()).await;
        assert!(!is_read && findings.last().unwrap().is_fault, "{pain:?}: {findings:#?}");
        let found = findings.iter().map(|finding| {
            format!("{}\n{}\n", finding.text, finding.advice.as_deref().unwrap_or_default())
        });
        let found: String = found.collect();
        search("the doctor's lines", &found);
        for words in said {
            let is_in = |text: &str| words.split('|').any(|words| text.contains(words));
            assert!(is_in(&line), "{pain:?}: an error does not say {words:?}: {line}");
            assert!(is_in(&found), "{pain:?}: the doctor does not say {words:?}:\n{found}");
        }
    }
}
