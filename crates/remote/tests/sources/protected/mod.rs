//! Servers of XRootD that want TLS and a credential: Debian's xrootd, and one that goes wrong as a
//! test wishes.

mod bed;
mod causes;
mod door;
mod examined;
mod kerberos;
#[path = "../../../../credentials/tests/places/realm.rs"]
mod realm;
mod relay;
mod stories;
mod web;

use std::fs;
use std::path::Path;

use farroot_remote::{Config, Error, ErrorKind, Remote};

use super::over_tcp;
use super::secrets::search_error;
use bed::{Bed, Xrootd, content};
use relay::Relay;

const TLS: &str = "xrd.tls @AT@/host.pem @AT@/host.key\nxrd.tlsca certdir @ALL@/certificates\n\
                   xrootd.tls all\n";
const TOKENS: &str = "xrootd.seclib libXrdSec.so\nsec.protocol ztn\nsec.protbind * only ztn\n\
                      ofs.authorize 1\n\
                      ofs.authlib ++ libXrdAccSciTokens.so config=@ALL@/scitokens.conf\n\
                      acc.authdb @ALL@/authdb\n";
const HANDSHAKE_AND_PROTOCOL: usize = 20 + 24;

/// A server that takes tokens, and its bed.
fn with_tokens() -> Option<(Bed, Xrootd)> {
    let bed = Bed::new();
    if !bed::has_scitokens() || !bed.publish_keys() {
        return None;
    }
    let server = bed.xrootd("tokens", &[TLS, TOKENS].concat())?;
    Some((bed, server))
}

/// Reads the file, as a process of its own would, which uses the notes of earlier ones. Returns the
/// round trips to the first byte.
async fn read(bed: &Bed, config: &Config, scheme: &str, relay: &Relay) -> Result<usize, Error> {
    let config = Config { store_folder: Some(bed.path("store")), ..config.clone() };
    let remote = over_tcp(config);
    relay.clear();
    read_with(&remote, &address(scheme, relay), relay).await
}

async fn read_with(remote: &Remote, address: &str, relay: &Relay) -> Result<usize, Error> {
    // Its answer brings the first byte.
    let file = remote.open_bytes(address).await.inspect_err(search_error)?;
    let round_trips = relay.round_trips();
    let bytes = file.fetch(&[0..file.info().size]).await.inspect_err(search_error)?;
    let bytes: Vec<u8> = bytes.into_iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
    assert!(bytes == content(), "other bytes");
    Ok(round_trips)
}

/// All that is in the files of a folder.
fn contents_below(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let contents = entries.map(|path| match path.is_dir() {
        true => contents_below(&path),
        false => String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
    });
    contents.collect()
}

fn address(scheme: &str, relay: &Relay) -> String {
    format!("{scheme}://localhost:{}//store/a.bin", relay.port)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_shown_inside_tls_in_four_round_trips_and_three_when_the_server_is_known() {
    let Some((bed, server)) = with_tokens() else { return };
    let token = bed.token("read:/", 3600);
    let config = bed.user(Some(&token));
    let relay = Relay::to(server.port).await;
    for scheme in ["roots", "root"] {
        for round_trips in [4, 3] {
            assert_eq!(read(&bed, &config, scheme, &relay).await.unwrap(), round_trips, "{scheme}");
            assert_eq!(relay.connections(), 1, "nothing was tried twice");
            assert!(!relay.saw(token.as_bytes()) && !relay.saw(&token.as_bytes()[..40]));
            assert!(!relay.saw(&content()[..100]), "the file is inside TLS, too");
        }
    }
    // The notes hold the server's words, and nothing of the user.
    let notes = contents_below(&bed.path("store"));
    assert!(notes.contains("&P=ztn"), "{notes}");
    for part in token.split('.') {
        assert!(!notes.contains(part), "{notes}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_insists_on_tls_is_found_out_and_remembered() {
    let bed = Bed::new();
    let Some(server) = bed.xrootd("tls", TLS) else { return };
    let relay = Relay::to(server.port).await;
    let config = bed.user(None);
    read(&bed, &config, "root", &relay).await.unwrap();
    assert!(!relay.saw(&content()[..100]), "in clear");
    for _ in 0..2 {
        assert_eq!(read(&bed, &config, "root", &relay).await.unwrap(), 3);
        assert_eq!(relay.connections(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_believes_names_is_read_in_two_round_trips_when_it_is_known() {
    let bed = Bed::new();
    let names = "xrootd.seclib libXrdSec.so\nsec.protocol unix\nsec.protbind * only unix\n";
    let Some(server) = bed.xrootd("names", names) else { return };
    let relay = Relay::to(server.port).await;
    let config = bed.user(None);
    read(&bed, &config, "root", &relay).await.unwrap();
    for _ in 0..2 {
        assert_eq!(read(&bed, &config, "root", &relay).await.unwrap(), 2);
        assert_eq!(relay.connections(), 1);
        assert!(relay.saw(b"unix\0"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roots_is_never_read_in_clear() {
    let bed = Bed::new();
    let Some(server) = bed.xrootd("clear", "") else { return };
    let relay = Relay::to(server.port).await;
    let config = bed.user(Some(&bed.token("read:/", 3600)));
    let error = read(&bed, &config, "roots", &relay).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("does not speak TLS"), "{error}");
    for sent in relay.sent() {
        assert_eq!(sent.len(), HANDSHAKE_AND_PROTOCOL, "more than the beginning was said");
    }
    // Over root:// the same server is read; the token stays at home.
    for round_trips in [4, 2] {
        let read = read(&bed, &config, "root", &relay).await.unwrap();
        assert!(read <= round_trips, "{read} round trips");
    }
    assert!(!relay.saw(b"ztn"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_believed_gets_no_login() {
    let Some((bed, server)) = with_tokens() else { return };
    let relay = Relay::to(server.port).await;
    let others = Bed::new();
    let token = bed.token("read:/", 3600);
    let config = others.user(Some(&token));
    let error = read(&bed, &config, "roots", &relay).await.unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    assert!(error.to_string().contains("localhost"), "{error}");
    // The certificate is for localhost alone.
    let config = bed.user(Some(&token));
    let by_number = format!("roots://127.0.0.1:{}//store/a.bin", relay.port);
    let remote = over_tcp(config.clone());
    let error = read_with(&remote, &by_number, &relay).await.unwrap_err();
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    let insecure = Config { insecure: true, ..config };
    read_with(&over_tcp(insecure), &by_number, &relay).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_a_token_is_said() {
    let Some((bed, server)) = with_tokens() else { return };
    let relay = Relay::to(server.port).await;
    let said = async |token: Option<&str>| {
        let error = read(&bed, &bed.user(token), "root", &relay).await.unwrap_err();
        assert!(!error.is_retryable(), "{error}");
        error
    };
    let none = said(None).await;
    assert_eq!(none.kind(), ErrorKind::Unauthenticated);
    assert!(none.to_string().contains("ztn: no token was found; set BEARER_TOKEN_FILE"), "{none}");
    let expired = said(Some(&bed.token("read:/", -1))).await.to_string();
    assert!(expired.contains("expired") && expired.contains("htgettoken"), "{expired}");
    let elsewhere = said(Some(&bed.token("read:/other", 3600))).await;
    assert_eq!(elsewhere.kind(), ErrorKind::PermissionDenied);
    let text = elsewhere.to_string();
    assert!(text.contains("a token of ada") && text.contains("read:/other"), "{text}");
    // Signed by another issuer: the server's words, and nothing of the token.
    let forged = Bed::new().token("read:/", 3600);
    let text = said(Some(&forged)).await.to_string();
    assert!(text.contains("ztn: "), "{text}");
    for part in forged.split('.') {
        assert!(!text.contains(part), "{text}");
    }
}
