use std::io;
use std::pin::Pin;
use std::result::Result;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use credentials::x509::Certificate;
use credentials::{Authorities, Choice, CredentialStore, Environment, Identity};
use mutex::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CustomExtension, DnType,
    IsCa, Issuer, KeyIdMethod, KeyPair, RevokedCertParams, SerialNumber,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig};
use rustls::{SignatureScheme, SupportedProtocolVersion, version};
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio_rustls::TlsAcceptor;

use super::*;

const HOST: &str = "dcache.example.org";
const PROXY_CERT_INFO: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 14];

// ---- certificates ------------------------------------------------------------------------------

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let der = params.self_signed(&key).unwrap().der().clone();
        Authority { issuer: Issuer::new(params, key), der }
    }

    fn trust(&self) -> Arc<Trust> {
        let anchors = vec![self.der.to_vec()];
        let places = vec!["/ca".into()];
        Arc::new(Trust::new(&Authorities { anchors, places, ..Authorities::default() }))
    }

    fn sign(&self, params: &CertificateParams) -> Signed {
        let key = KeyPair::generate().unwrap();
        let der = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        Signed { chain: vec![der], key }
    }

    fn host(&self) -> Signed {
        self.sign(&params(&[HOST]))
    }
}

struct Signed {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

fn params(hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::OrganizationName, "Site");
    params
}

fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|l| str::from_utf8(l).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// A proxy of a user, as tools write them: proxy, key, the user's certificate.
fn proxy(authority: &Authority) -> Identity {
    let mut user = CertificateParams::default();
    user.distinguished_name.push(DnType::CommonName, "Ada Lovelace");
    let key = KeyPair::generate().unwrap();
    let user_der = user.signed_by(&key, &authority.issuer).unwrap().der().clone();
    let mut proxy = user.clone();
    proxy.distinguished_name.push(DnType::CommonName, "123456");
    // proxyCertInfo { policy { id-ppl-inheritAll } }
    let info = [0x30, 12, 0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 21, 1];
    let mut extension = CustomExtension::from_oid_content(&PROXY_CERT_INFO, info.to_vec());
    extension.set_criticality(true);
    proxy.custom_extensions.push(extension);
    let proxy_key = KeyPair::generate().unwrap();
    let proxy = proxy.signed_by(&proxy_key, &Issuer::new(user, key)).unwrap();
    let text = [
        pem("CERTIFICATE", proxy.der()),
        pem("PRIVATE KEY", proxy_key.serialized_der()),
        pem("CERTIFICATE", &user_der),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x509up");
    std::fs::write(&path, text.concat()).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let choice = Choice { proxy: Some(path), ..Choice::default() };
    let user = Environment::of_process().user_id;
    CredentialStore::new(Environment::new(user, None, []), choice).identity().unwrap().unwrap()
}

// ---- servers -----------------------------------------------------------------------------------

const BOTH: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];

fn server(signed: &Signed, versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
    let key = PrivateKeyDer::Pkcs8(signed.key.serialized_der().to_vec().into());
    ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(signed.chain.clone(), key)
        .unwrap()
}

fn asking(signed: &Signed, verifier: Arc<dyn ClientCertVerifier>) -> ServerConfig {
    let key = PrivateKeyDer::Pkcs8(signed.key.serialized_der().to_vec().into());
    ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(BOTH)
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(signed.chain.clone(), key)
        .unwrap()
}

/// Answers each line with itself, and then ends the session.
fn answering(config: &Arc<ServerConfig>) -> DuplexStream {
    let (near, far) = duplex(1 << 16);
    let acceptor = TlsAcceptor::from(config.clone());
    tokio::spawn(async move {
        let mut stream = acceptor.accept(far).await?;
        let mut line = [0; 5];
        stream.read_exact(&mut line).await?;
        stream.write_all(&line).await?;
        stream.shutdown().await
    });
    near
}

/// Sends these bytes, whatever it hears, and closes.
fn saying(bytes: &'static [u8]) -> DuplexStream {
    let (near, mut far) = duplex(1 << 16);
    tokio::spawn(async move {
        let mut hello = [0; 64];
        far.read_exact(&mut hello).await?;
        far.write_all(bytes).await
    });
    near
}

async fn ask(stream: impl Stream + 'static, config: &Arc<TlsConfig>) -> io::Result<Vec<u8>> {
    let mut stream = connect(Box::new(stream), HOST, config).unwrap();
    stream.write_all(b"hello").await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

async fn failure(stream: impl Stream + 'static, config: &Arc<TlsConfig>) -> String {
    let error = explain(&ask(stream, config).await.unwrap_err());
    assert!(!error.is_retryable() || error.kind() == ErrorKind::Connection);
    let said = error.to_string();
    // Times pass.
    let mut plain = String::new();
    for letter in said.chars() {
        match letter {
            '0'..='9' if plain.ends_with('N') => {}
            '0'..='9' => plain.push('N'),
            other => plain.push(other),
        }
    }
    plain
}

async fn refused(signed: &Signed, authority: &Authority) -> String {
    let config = client_config(&authority.trust(), None, false).unwrap();
    failure(answering(&Arc::new(server(signed, BOTH))), &config).await
}

// ---- connections that succeed ------------------------------------------------------------------

#[tokio::test]
async fn each_version_is_spoken_and_sessions_are_resumed() {
    let authority = Authority::new("Test CA");
    for version in BOTH {
        let server = Arc::new(server(&authority.host(), &[version]));
        let config = client_config(&authority.trust(), None, false).unwrap();
        for resumed in [false, true] {
            let stream = Box::new(answering(&server));
            let mut stream = connect(stream, HOST, &config).unwrap();
            let watch = stream.watch();
            assert!(matches!(*watch.borrow(), Handshake::Running));
            stream.write_all(b"hello").await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            assert_eq!(answer, b"hello");
            let Handshake::Done(peer) = watch.borrow().clone() else { panic!("not done") };
            assert_eq!(peer.is_resumed, resumed, "{}", peer.version);
            assert_eq!(peer.version == "TLS 1.3", **version == version::TLS13);
            assert!(!peer.chain.is_empty());
        }
    }
}

/// A stream that notes how much is written at a time.
struct Noted(DuplexStream, Arc<Mutex<Vec<usize>>>);

impl AsyncRead for Noted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Noted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.1.lock().push(bytes.len());
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[tokio::test]
async fn what_is_written_early_leaves_with_the_end_of_the_handshake() {
    let authority = Authority::new("Test CA");
    let server = Arc::new(server(&authority.host(), BOTH));
    let config = client_config(&authority.trust(), None, false).unwrap();
    let writes = Arc::<Mutex<Vec<usize>>>::default();
    let noted = Noted(answering(&server), writes.clone());
    assert_eq!(ask(noted, &config).await.unwrap(), b"hello");
    assert_eq!(writes.lock().len(), 2, "hello; Finished and request");
}

#[tokio::test]
async fn the_hello_can_leave_behind_other_bytes() {
    let authority = Authority::new("Test CA");
    let server = Arc::new(server(&authority.host(), BOTH));
    let config = client_config(&authority.trust(), None, false).unwrap();
    let mut stream = answering(&server);
    let mut session = TlsSession::new(HOST, &config, &[]).unwrap();
    let hello = session.hello();
    assert_eq!(hello[0], 22, "a record of the handshake");
    assert!(session.hello().is_empty());
    stream.write_all(&hello).await.unwrap();
    let mut first = [0; 10];
    stream.read_exact(&mut first).await.unwrap();
    let mut stream = session.over(Box::new(stream), &first);
    stream.write_all(b"hello").await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, b"hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_bytes_pass_both_ways_at_once() {
    let authority = Authority::new("Test CA");
    let config = client_config(&authority.trust(), None, false).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(server(&authority.host(), BOTH)));
    let (near, far) = duplex(10_000);
    let sent: Vec<u8> = (0..3_000_017_u32).map(|at| (at % 251) as u8).collect();
    let expected = sent.clone();
    tokio::spawn(async move {
        let (mut reader, mut writer) = tokio::io::split(acceptor.accept(far).await.unwrap());
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
        let _ = writer.shutdown().await;
    });
    let stream = connect(Box::new(near), HOST, &config).unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let writing = tokio::spawn(async move {
        writer.write_all(&sent).await.unwrap();
        writer.shutdown().await.unwrap();
    });
    let mut come = Vec::new();
    reader.read_to_end(&mut come).await.unwrap();
    assert!(come == expected);
    writing.await.unwrap();
}

/// Any certificate will do, also one with an extension that rustls does not know.
#[derive(Debug)]
struct Anyone(Mutex<Vec<usize>>);

impl ClientCertVerifier for Anyone {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.0.lock().push(1 + intermediates.len());
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

#[tokio::test]
async fn a_proxy_is_shown_to_who_asks() {
    let authority = Authority::new("Test CA");
    let identity = proxy(&authority);
    let config = client_config(&authority.trust(), Some(&identity), false).unwrap();
    assert!(
        !format!("{config:?} {identity:?}").contains(&format!("{:?}", &identity.chain[0][..9]))
    );
    let plain = Arc::new(server(&authority.host(), BOTH));
    assert_eq!(ask(answering(&plain), &config).await.unwrap(), b"hello");
    assert!(!config.is_asked());
    let seen = Arc::new(Anyone(Mutex::default()));
    let asking = Arc::new(asking(&authority.host(), seen.clone()));
    let config = client_config(&authority.trust(), Some(&identity), false).unwrap();
    assert_eq!(ask(answering(&asking), &config).await.unwrap(), b"hello");
    assert_eq!(*seen.0.lock(), [2], "proxy and user");
    assert!(config.is_asked());
}

#[tokio::test]
async fn configurations_are_kept_for_a_server_and_an_identity() {
    let authority = Authority::new("Test CA");
    let trust = authority.trust();
    let identity = proxy(&authority);
    let config = |server, identity, insecure| config_for(server, &trust, identity, insecure);
    let first = config("a:1", None, false).unwrap();
    assert!(Arc::ptr_eq(&first, &config("a:1", None, false).unwrap()));
    for other in [("a:2", None, false), ("a:1", Some(&identity), false), ("a:1", None, true)] {
        assert!(!Arc::ptr_eq(&first, &config(other.0, other.1, other.2).unwrap()));
    }
}

#[tokio::test]
async fn a_certificate_without_names_is_taken_by_its_subject() {
    let authority = Authority::new("Test CA");
    for name in [HOST, "host/dcache.example.org", "DCache.example.org"] {
        let mut params = params(&[]);
        params.distinguished_name.push(DnType::CommonName, name);
        let server = Arc::new(server(&authority.sign(&params), BOTH));
        let config = client_config(&authority.trust(), None, false).unwrap();
        assert_eq!(ask(answering(&server), &config).await.unwrap(), b"hello");
    }
}

#[tokio::test]
async fn only_the_insecure_take_anyone() {
    let own = Authority::new("Test CA");
    let other = Authority::new("Other CA");
    let server = Arc::new(server(&own.sign(&params(&["else.where"])), BOTH));
    let config = client_config(&other.trust(), None, true).unwrap();
    assert!(config.is_insecure());
    assert_eq!(ask(answering(&server), &config).await.unwrap(), b"hello");
}

// ---- connections that fail ---------------------------------------------------------------------

#[tokio::test]
async fn a_server_that_is_not_believed_is_named_with_the_reason() {
    let authority = Authority::new("Test CA");
    let other = Authority::new("Other CA");
    assert_eq!(
        refused(&other.host(), &authority).await,
        "the certificate of dcache.example.org is from an authority that is not trusted: \
         /CN=Other CA; trusted are the N authorities of /ca; name the directory or the file with \
         its authority in XN_CERT_DIR or SSL_CERT_FILE; those of the grid come by conda install -c \
         conda-forge ca-policy-lcg, and where there is CVMFS they are in \
         /cvmfs/grid.cern.ch/etc/grid-security/certificates"
    );
    let key = KeyPair::generate().unwrap();
    let der = params(&[HOST]).self_signed(&key).unwrap().der().clone();
    let said = refused(&Signed { chain: vec![der], key }, &authority).await;
    assert!(said.starts_with(
        "dcache.example.org shows a certificate that it has signed itself (/O=Site); trusted are"
    ));
    let named = authority.sign(&params(&["door.example.org", "*.pool.example.org"]));
    assert_eq!(
        refused(&named, &authority).await,
        "the certificate of dcache.example.org is for door.example.org, *.pool.example.org; \
         use a name that the certificate has, in full"
    );
    let mut nameless = params(&[]);
    nameless.distinguished_name.push(DnType::CommonName, "door.example.org");
    assert_eq!(
        refused(&authority.sign(&nameless), &authority).await,
        "the certificate of dcache.example.org names no host (no SAN); its subject's old common \
         name is \"door.example.org\"; use the name that the certificate has, or tell the site"
    );
}

/// An authority that may sign for one domain only had signed a common name of another one: its
/// constraints are about alternative names, and the certificate had none.
#[tokio::test]
async fn a_common_name_is_not_believed_of_an_authority_with_constraints() {
    for is_constrained in [false, true] {
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "Site CA");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.name_constraints = is_constrained.then(|| rcgen::NameConstraints {
            permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("site.org".into())],
            excluded_subtrees: vec![],
        });
        let key = KeyPair::generate().unwrap();
        let der = authority.self_signed(&key).unwrap().der().clone();
        let authority = Authority { issuer: Issuer::new(authority, key), der };
        let mut old = params(&[]);
        old.distinguished_name.push(DnType::CommonName, HOST);
        let old = authority.sign(&old);
        if is_constrained {
            assert!(refused(&old, &authority).await.contains("names no host (no SAN)"));
        } else {
            let config = client_config(&authority.trust(), None, false).unwrap();
            let server = Arc::new(server(&old, BOTH));
            assert_eq!(ask(answering(&server), &config).await.unwrap(), b"hello");
        }
    }
}

/// `openssl req -x509` makes an authority's certificate, which no server may show; without that
/// mark it is trusted where it is named.
#[tokio::test]
async fn a_certificate_that_has_signed_itself_and_is_trusted_is_believed() {
    for is_authority in [false, true] {
        let key = KeyPair::generate().unwrap();
        let mut params = params(&[HOST]);
        if is_authority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let der = params.self_signed(&key).unwrap().der().clone();
        let named = Authority { der: der.clone(), ..Authority::new("Test CA") };
        let own = Signed { chain: vec![der], key };
        let config = client_config(&named.trust(), None, false).unwrap();
        let server = Arc::new(server(&own, BOTH));
        assert_eq!(ask(answering(&server), &config).await.unwrap(), b"hello");
    }
    // One that is not itself among those that the user trusts is for signing others.
    let authority = Authority::new("Test CA");
    let mut params = params(&[HOST]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    assert_eq!(
        refused(&authority.sign(&params), &authority).await,
        "dcache.example.org shows the certificate of an authority (CA:TRUE) as its own; tell the \
         site: a server needs a certificate with CA:FALSE"
    );
}

#[tokio::test]
async fn a_certificate_is_valid_at_its_time() {
    let authority = Authority::new("Test CA");
    let mut old = params(&[HOST]);
    old.not_after = rcgen::date_time_ymd(2020, 1, 2);
    assert_eq!(
        refused(&authority.sign(&old), &authority).await,
        "the certificate of dcache.example.org expired N days ago, on Thu, N Jan N N:N:N GMT; \
         tell the site; or compare the clocks (date -u), and set this one: timedatectl set-ntp true"
    );
    let mut new = params(&[HOST]);
    new.not_before = rcgen::date_time_ymd(2095, 1, 2);
    new.not_after = rcgen::date_time_ymd(2096, 1, 2);
    assert_eq!(
        refused(&authority.sign(&new), &authority).await,
        "the certificate of dcache.example.org is valid from Sun, N Jan N N:N:N GMT on, in N \
         days; compare the clocks (date -u), and set this one: timedatectl set-ntp true"
    );
}

/// As grid directories have lists: `HASH.r0`, some of which do not list this certificate.
#[tokio::test]
async fn a_certificate_that_was_taken_back_is_not_believed() {
    let authority = Authority::new("Test CA");
    let mut mine = params(&[HOST]);
    mine.serial_number = Some(SerialNumber::from(5));
    let host = authority.sign(&mine);
    let list = |by: &Authority, serial: u64, until: i32| {
        let params = CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2019, 1, 1),
            next_update: rcgen::date_time_ymd(until, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![RevokedCertParams {
                serial_number: SerialNumber::from(serial),
                revocation_time: rcgen::date_time_ymd(2019, 1, 1),
                reason_code: None,
                invalidity_date: None,
            }],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&by.issuer).unwrap()
    };
    let mine = list(&authority, 5, 2095);
    let forged = list(&Authority::new("Test CA"), 5, 2095).der().to_vec();
    let pem = mine.pem().unwrap().into_bytes();
    let der = mine.der().to_vec();
    let cut = der[..der.len() - 1].to_vec();
    for (name, content, is_revoked) in [
        ("PEM", pem, true),
        ("DER", der, true),
        ("another one is", list(&authority, 6, 2095).der().to_vec(), false),
        ("out of date", list(&authority, 5, 2020).der().to_vec(), false),
        ("of another key", forged, false),
        ("cut", cut, false),
        ("no list", b"-----BEGIN X509 CRL-----\nAQ==\n-----END X509 CRL-----\n".to_vec(), false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let names = Certificate::parse(&authority.der).unwrap().names;
        let hash = credentials::x509::hashes(&names.0).0;
        std::fs::write(folder.path().join(format!("{hash}.r0")), content).unwrap();
        let anchors = vec![authority.der.to_vec()];
        let places = vec![folder.path().to_owned()];
        let trust =
            Arc::new(Trust::new(&Authorities { anchors, places, ..Authorities::default() }));
        let config = client_config(&trust, None, false).unwrap();
        let stream = answering(&Arc::new(server(&host, BOTH)));
        match is_revoked {
            false => assert_eq!(ask(stream, &config).await.unwrap(), b"hello", "{name}"),
            true => assert_eq!(
                failure(stream, &config).await,
                "the certificate of dcache.example.org is revoked by its authority, /CN=Test CA; \
                 tell the site; until it has another one, use another replica"
            ),
        }
    }
}

#[tokio::test]
async fn a_server_without_tls_is_told_from_one_with_another() {
    let config = client_config(&Authority::new("Test CA").trust(), None, false).unwrap();
    assert_eq!(
        failure(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), &config).await,
        "dcache.example.org does not speak TLS on this port; check the port, or the scheme of \
         the address"
    );
    assert_eq!(
        failure(saying(b"\0\0\0\0\0\0\0\x08\0\0\x05\x11"), &config).await,
        "dcache.example.org does not speak TLS on this port; check the port, or the scheme of \
         the address"
    );
    assert_eq!(
        failure(saying(b""), &config).await,
        "the connection to dcache.example.org was closed by the server in the TLS handshake; \
         trying again may help; check that the server speaks TLS on this port"
    );
    assert_eq!(
        failure(saying(&[21, 3, 1, 0, 2, 2, 70]), &config).await,
        "dcache.example.org speaks older versions of TLS only than N.N, which are broken"
    );
    assert_eq!(
        failure(saying(&[21, 3, 1, 0, 2, 2, 40]), &config).await,
        "dcache.example.org and farroot have no cipher in common (HandshakeFailure)"
    );
    let near = duplex(1).0;
    let said = failure(near, &config).await;
    assert!(said.contains("was cut (broken pipe) in the TLS handshake"), "{said}");
}

#[tokio::test]
async fn a_certificate_that_is_refused_shows_at_the_first_read() {
    let authority = Authority::new("Test CA");
    let other = Authority::new("Other CA");
    let mut roots = RootCertStore::empty();
    roots.add(other.der.clone()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
    let asking = Arc::new(asking(&authority.host(), verifier.build().unwrap()));
    let nothing = client_config(&authority.trust(), None, false).unwrap();
    assert_eq!(
        failure(answering(&asking), &nothing).await,
        "dcache.example.org wants a certificate of the user, and there was none to show; \
         voms-proxy-init -voms YOUR_VO -rfc -valid N:N, or name one in XN_USER_PROXY"
    );
    let identity = proxy(&authority);
    let config = client_config(&authority.trust(), Some(&identity), false).unwrap();
    let said = failure(answering(&asking), &config).await;
    assert!(
        said.starts_with("dcache.example.org refuses the certificate of \"/CN=Ada Lovelace\""),
        "{said}"
    );
    let error = explain(&ask(answering(&asking), &config).await.unwrap_err());
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unauthenticated, false));
}

/// A server that ends a connection before any request need not have anything against the user:
/// another connection may be served.
#[tokio::test]
async fn a_connection_that_is_ended_early_can_be_tried_again() {
    let authority = Authority::new("Test CA");
    let identity = proxy(&authority);
    let config = client_config(&authority.trust(), Some(&identity), false).unwrap();
    let acceptor =
        TlsAcceptor::from(Arc::new(asking(&authority.host(), Arc::new(Anyone(Mutex::default())))));
    let (near, far) = duplex(1 << 16);
    tokio::spawn(async move { acceptor.accept(far).await.map(drop) });
    let error = explain(&ask(near, &config).await.unwrap_err());
    assert!(error.is_retryable());
    let said = error.message();
    assert!(said.ends_with("the certificate of \"/CN=Ada Lovelace\" was shown"), "{said}");
}

#[tokio::test]
async fn a_session_that_is_cut_is_no_end() {
    let authority = Authority::new("Test CA");
    let config = client_config(&authority.trust(), None, false).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(server(&authority.host(), BOTH)));
    let (near, far) = duplex(1 << 16);
    tokio::spawn(async move {
        let mut stream = acceptor.accept(far).await?;
        stream.write_all(b"half").await?;
        stream.flush().await
    });
    let mut stream = connect(Box::new(near), HOST, &config).unwrap();
    let mut half = [0; 4];
    stream.read_exact(&mut half).await.unwrap();
    let error = stream.read(&mut half).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(explain(&error).is_retryable(), "{error}");
}

/// A connection that has failed is called again by its reader, and answers with the same error.
#[tokio::test]
async fn damage_on_the_way_is_an_error_wherever_it_is() {
    let authority = Authority::new("Test CA");
    let config = client_config(&authority.trust(), None, false).unwrap();
    for version in BOTH {
        let server = Arc::new(server(&authority.host(), &[version]));
        let mut at = 0;
        let mut failed = 0;
        loop {
            let (mut toward, near) = duplex(1 << 16);
            let mut from = answering(&server);
            let damaged = tokio::spawn(async move {
                let mut seen = 0;
                let mut bytes = [0; 4096];
                let mut up = [0; 4096];
                loop {
                    tokio::select! {
                        read = from.read(&mut bytes) => {
                            let Ok(count @ 1..) = read else { return seen };
                            if (seen..seen + count).contains(&at) {
                                bytes[at - seen] ^= 1 << (at % 8);
                            }
                            seen += count;
                            let _ = toward.write_all(&bytes[..count]).await;
                        }
                        read = toward.read(&mut up) => {
                            let Ok(count @ 1..) = read else { return seen };
                            let _ = from.write_all(&up[..count]).await;
                        }
                    }
                }
            });
            // A length that is damaged makes both wait for each other.
            let asking = tokio::time::timeout(Duration::from_millis(200), ask(near, &config));
            let answer = asking.await.unwrap_or(Err(io::ErrorKind::TimedOut.into()));
            failed += u32::from(answer.is_err());
            // No error where no signature or key covers the damaged byte, as a session's identity.
            assert!(answer.is_err() || answer.unwrap() == b"hello", "{at}");
            if damaged.await.unwrap() <= at {
                break;
            }
            at += 7;
        }
        assert!(at > 500 && failed > 50, "{at} {failed}");
    }
}

#[test]
fn a_name_that_no_certificate_has_is_the_callers_error() {
    let config = client_config(&Authority::new("Test CA").trust(), None, false).unwrap();
    for host in ["a b", "", "x..y"] {
        let error = TlsSession::new(host, &config, &[]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{host:?}");
    }
    for host in ["[::1]", "127.0.0.1", "h_1.example.", "H"] {
        assert!(TlsSession::new(host, &config, &[]).is_ok(), "{host:?}");
    }
}
