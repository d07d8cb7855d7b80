//! Client and served side together where the server wants TLS, a credential, or both: the number of
//! round trips, the secrets that each server gets, and the results of wrong guesses.

use crate::pair::{Pair, RTT, byte};
use bytes::Bytes;
use farroot_xrootd::auth::{Credential, Method, token_of};
use farroot_xrootd::client::{Client, ClientConfig, Event, HowToRetry, RequestId, Tls};
use farroot_xrootd::error::{ErrorCode, SessionError};
use farroot_xrootd::message::Request;
use farroot_xrootd::message::login::SessionId;
use farroot_xrootd::message::open::OpenOptions;
use farroot_xrootd::message::protocol::ServerFlags;
use farroot_xrootd::profile::{Authentication, Profile, Start};
use farroot_xrootd::server::{ServedTls, ServerConfig};
use proptest::prelude::*;
use secrecy::ExposeSecret;

const TOKEN: &str = "MARKER-token";
const TICKET: &[u8] = b"MARKER-ticket";

fn served(tls: ServedTls, security: &str) -> ServerConfig {
    let security = security.to_owned();
    ServerConfig { tls, security, ..ServerConfig::data_server(SessionId([3; 16])) }
}

fn config(tls: Tls) -> ClientConfig {
    let mut config = ClientConfig::new("tester", "test", 7);
    let mut strong = vec![Method::Krb5, Method::Ztn];
    strong.append(&mut config.authentication);
    ClientConfig { tls, authentication: strong, ..config }
}

/// A session that opens a file and reads of it, with a user who has a token and a ticket.
fn session(config: ClientConfig, profile: Profile, server: ServerConfig) -> (Pair, RequestId) {
    let early_hello = config.early_hello;
    let now = profile.start();
    let mut pair = Pair::with(Client::new(config, profile, now), server);
    pair.early_hello = early_hello;
    pair.credential_store = Box::new(|method, _| match method {
        Method::Ztn => Ok(Credential::Ztn(TOKEN.to_owned().into())),
        Method::Krb5 => Ok(Credential::Krb5(TICKET.to_vec().into())),
        _ => Err("there is none".to_owned()),
    });
    pair.world.special = Box::new(|server, tag, request| {
        let Request::Auth(auth) = request else { return false };
        let good = match &auth.protocol {
            b"ztn\0" => token_of(&auth.credential).unwrap().expose_secret() == TOKEN,
            b"krb5" => auth.credential == [b"krb5\0", TICKET].concat(),
            b"unix" => true,
            _ => false,
        };
        match good {
            true => server.answer_done(tag),
            false => server.answer_error(tag, ErrorCode::AUTH_FAILED, "not good"),
        }
        true
    });
    let (file, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    let read = pair.client.read(pair.now, file, 100..300);
    (pair, read)
}

fn expect(pair: &Pair, read: RequestId, round_trips: u32) {
    let got = pair.data(read);
    assert_eq!(got.len(), 200, "{:?}", pair.log);
    assert!(got.iter().all(|((_, at), got)| *got == byte(*at)));
    assert_eq!(pair.done_after(read), Some(round_trips * RTT));
}

fn failure(pair: &Pair) -> (SessionError, HowToRetry) {
    let failed = pair.log.iter().find_map(|(_, event)| match event {
        Event::SessionFailed { error, retry } => Some((error.clone(), *retry)),
        _ => None,
    });
    failed.expect("the session should have failed")
}

fn says(pair: &Pair, text: &[u8]) -> bool {
    pair.wire.windows(text.len()).any(|window| window == text)
}

const ZTN: &str = "&P=ztn,0:4096:";

/// Counted from the TCP connection on, which is one more.
#[test]
fn a_token_takes_three_round_trips_the_first_time_and_two_when_the_server_is_known() {
    let server = || served(ServedTls::Demanded, ZTN);
    let first = ClientConfig { unasked: Some(Method::Ztn), ..config(Tls::Required) };
    let (mut pair, read) = session(first, Profile::default(), server());
    pair.settle();
    expect(&pair, read, 3);
    assert_eq!(pair.client.authenticated_by(), Some("ztn"));
    assert!(pair.client.is_encrypted() && !says(&pair, b"MARKER"));

    let profile = pair.client.profile().clone();
    assert!(profile.takes_early_hello());
    let known = ClientConfig { early_hello: true, ..config(Tls::Required) };
    let (mut pair, read) = session(known, profile.clone(), server());
    pair.settle();
    expect(&pair, read, 2);
    assert!(!says(&pair, b"MARKER"));

    // Without the early hello, as with servers that would lose it: one more.
    let (mut pair, read) = session(config(Tls::Required), profile, server());
    pair.settle();
    expect(&pair, read, 3);
}

#[test]
fn a_ticket_takes_two_round_trips_the_first_time_and_one_when_the_server_is_known() {
    let offer = "&P=krb5,xrootd/host@REALM&P=unix";
    let careful = Profile { burst: Some(false), ..Profile::default() };
    let (mut pair, _) = session(config(Tls::NotOffered), careful, served(ServedTls::None, offer));
    pair.settle();
    let wanted =
        Event::CredentialWanted { method: Method::Krb5, arguments: "xrootd/host@REALM".to_owned() };
    assert!(pair.log.iter().any(|(_, event)| *event == wanted));

    let mut profile = Profile::default();
    for round_trips in [2, 1] {
        let start = if round_trips == 2 { Start::Careful } else { profile.start() };
        let mut pair =
            session(config(Tls::NotOffered), profile.clone(), served(ServedTls::None, offer)).0;
        pair.client = Client::new(config(Tls::NotOffered), profile, start);
        let (file, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
        let read = pair.client.read(pair.now, file, 100..300);
        pair.settle();
        expect(&pair, read, round_trips);
        assert_eq!(pair.client.authenticated_by(), Some("krb5"));
        profile = pair.client.profile().clone();
    }
}

#[test]
fn tls_that_is_required_is_never_done_without() {
    let (mut pair, _) =
        session(config(Tls::Required), Profile::default(), served(ServedTls::None, ""));
    pair.settle();
    assert_eq!(failure(&pair), (SessionError::NoTls, HowToRetry::No));
    assert!(pair.world.seen.is_empty() && !says(&pair, b"xrd.appname"), "not even a login");
    // Where it is only wanted, the session is in clear, and no token is sent.
    let wants = ClientConfig { unasked: Some(Method::Ztn), ..config(Tls::Wanted) };
    let (mut pair, read) = session(wants, Profile::default(), served(ServedTls::None, ""));
    pair.settle();
    expect(&pair, read, 2);
    assert!(!pair.client.is_encrypted() && !says(&pair, b"MARKER"));
}

#[test]
fn a_token_is_never_sent_in_clear_even_if_it_is_asked_for() {
    let profile = Profile {
        authentication: Authentication::Needed(ZTN.to_owned()),
        version: Some(0x511),
        ..Profile::default()
    };
    for tls in [Tls::NotOffered, Tls::Wanted] {
        let (mut pair, _) =
            session(config(tls), profile.clone(), served(ServedTls::None, "&P=ztn,0&P=x"));
        pair.settle();
        assert!(!says(&pair, b"MARKER"));
        assert!(!pair.world.seen.contains(&"kXR_auth"));
    }
}

#[test]
fn a_login_refused_in_clear_is_repeated_inside_tls_on_the_same_connection() {
    let careful = Profile { burst: Some(false), ..Profile::default() };
    let server = || served(ServedTls::Demanded, "");
    let (mut pair, read) = session(config(Tls::NotOffered), careful, server());
    pair.settle();
    // Login refused; kXR_protocol; hello; login; open and read.
    expect(&pair, read, 5);
    assert!(pair.client.is_encrypted() && pair.client.profile().insists_on_tls);

    // With requests behind the login it is too late: another connection has to be made.
    let (mut pair, _) = session(config(Tls::NotOffered), Profile::default(), server());
    pair.settle();
    assert_eq!(failure(&pair), (SessionError::TlsRequired, HowToRetry::Careful));
    assert!(pair.client.profile().insists_on_tls);
}

#[test]
fn a_request_refused_in_clear_means_another_connection_inside_tls() {
    let server = served(ServedTls::Offered, "");
    let (mut pair, _) = session(config(Tls::NotOffered), Profile::default(), server);
    pair.world.special = Box::new(|server, tag, request| {
        let is_open = matches!(request, Request::Open(_));
        if is_open {
            server.answer_error(tag, ErrorCode::TLS_REQUIRED, "file access requires TLS");
        }
        is_open
    });
    pair.settle();
    assert_eq!(failure(&pair), (SessionError::TlsRequired, HowToRetry::Careful));
    assert!(pair.client.profile().insists_on_tls);
}

#[test]
fn a_server_that_has_lost_its_tls_is_asked_again_without_an_early_hello() {
    let early = ClientConfig { early_hello: true, ..config(Tls::Wanted) };
    let (mut pair, _) = session(early, Profile::default(), served(ServedTls::None, ""));
    pair.early_hello = false; // the hello itself would be garbage to this server
    pair.settle();
    assert_eq!(failure(&pair), (SessionError::TlsGone, HowToRetry::Again));
    assert!(!pair.client.profile().takes_early_hello());
}

#[test]
fn offers_are_tried_in_the_servers_order_and_each_that_is_not_used_has_its_reason() {
    let careful = Profile { burst: Some(false), ..Profile::default() };
    let offer = "&P=gsi,v:1&P=krb5,xrootd/h@R,fwd&P=sss&P=host&P=unix";
    let asks = ClientConfig { excluded: vec!["sss".to_owned()], ..config(Tls::NotOffered) };
    let (mut pair, read) = session(asks.clone(), careful.clone(), served(ServedTls::None, offer));
    pair.settle();
    assert_eq!(pair.data(read).len(), 200);
    assert_eq!(pair.client.authenticated_by(), Some("unix"));
    let skipped: Vec<_> = pair.client.skipped().iter().map(ToString::to_string).collect();
    let wanted = ["gsi: is not spoken", "sss: is excluded", "krb5: the server wants a ticket that"];
    for (skipped, wanted) in skipped.iter().zip(wanted) {
        assert!(skipped.starts_with(wanted), "{skipped}");
    }
    assert_eq!(skipped[3], "host: not good (error 3030)");

    let nothing = served(ServedTls::None, "&P=gsi,v:1&P=host");
    let (mut pair, _) = session(asks, careful, nothing);
    pair.settle();
    let (error, retry) = failure(&pair);
    assert_eq!(retry, HowToRetry::No);
    let text = error.to_string();
    assert!(text.contains("gsi: is not spoken here; host: not good"), "{text}");
}

#[test]
fn a_refused_credential_with_requests_behind_it_means_care_the_next_time() {
    let offer = "&P=krb5,p@R&P=unix";
    let profile = Profile {
        authentication: Authentication::Needed(offer.to_owned()),
        burst: Some(true),
        ..Profile::default()
    };
    let wrong = |method: &Method| match method {
        Method::Krb5 => Ok(Credential::Krb5(b"wrong".to_vec().into())),
        _ => Err("there is none".to_owned()),
    };
    let (mut pair, _) = session(config(Tls::NotOffered), profile, served(ServedTls::None, offer));
    pair.credential_store = Box::new(move |method, _| wrong(method));
    pair.settle();
    let (_, retry) = failure(&pair);
    assert_eq!(retry, HowToRetry::Careful);
    let again = pair.client.profile().clone();
    let (mut pair, read) = session(config(Tls::NotOffered), again, served(ServedTls::None, offer));
    pair.credential_store = Box::new(move |method, _| wrong(method));
    pair.settle();
    // Login, the ticket, the name, and only then the rest.
    expect(&pair, read, 4);
    assert_eq!(pair.client.authenticated_by(), Some("unix"));
}

/// xrootd answers inside TLS in eleven packets, of which Linux sends ten before it waits, unless
/// six were on their way at a time before: the first byte came a round trip late.
#[test]
fn a_server_that_is_known_answers_in_six_packets_before_it_does_so_inside_tls() {
    let first = |early_hello| -> usize {
        let config = ClientConfig { early_hello, ..config(Tls::Required) };
        let mut client = Client::new(config, Profile::default(), Start::Burst);
        let now = std::time::Duration::from_secs(1);
        std::iter::from_fn(|| client.poll_transmit(now)).map(|bytes| bytes.len()).sum()
    };
    // The handshake has 20 bytes, kXR_protocol 24. The sixth packet is that of TLS.
    assert_eq!(first(true), 20 + 4 * 24);
    assert_eq!(first(false), 20 + 24, "a server that may be dCache is asked once");
}

/// dCache says version 5.0.0. It took a round trip more than it had to: its door was not sent the
/// open behind the credential, although it judges one message after the other.
#[test]
fn a_door_of_dcache_takes_three_round_trips_when_it_is_known() {
    let server = || {
        let server = served(ServedTls::Demanded, ZTN);
        ServerConfig { version: 0x500, ..server }
    };
    let mut profile = Profile::default();
    // kXR_protocol, hello, login; offers of a server that is not known; the rest.
    for (start, round_trips) in [(Start::Careful, 4), (Start::Burst, 3), (Start::Burst, 3)] {
        assert!(!profile.takes_early_hello());
        let (mut pair, read) = session(config(Tls::Required), profile.clone(), server());
        if start == Start::Careful {
            pair.client = Client::new(config(Tls::Required), profile, start);
            let (file, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
            assert_eq!(read, pair.client.read(pair.now, file, 100..300));
        }
        pair.settle();
        expect(&pair, read, round_trips);
        profile = pair.client.profile().clone();
        assert_ne!(profile.burst, Some(false));
    }
}

#[test]
fn what_is_remembered_and_holds_no_more_costs_a_connection_and_shows_no_other_identity() {
    let profile = Profile {
        authentication: Authentication::Needed("&P=unix".to_owned()),
        burst: Some(true),
        ..Profile::default()
    };
    let offer = "&P=krb5,xrootd/h@R";
    let (mut pair, _) = session(config(Tls::NotOffered), profile, served(ServedTls::None, offer));
    pair.settle();
    assert_eq!(failure(&pair).1, HowToRetry::Careful);
    let learnt = Authentication::Needed(offer.to_owned());
    assert_eq!(pair.client.profile().authentication, learnt);
}

#[test]
fn a_credential_that_comes_late_or_twice_or_unasked_changes_nothing() {
    let offer = "&P=krb5,xrootd/h@R&P=unix";
    let careful = Profile { burst: Some(false), ..Profile::default() };
    let (mut pair, read) =
        session(config(Tls::NotOffered), careful, served(ServedTls::None, offer));
    let ticket = || Credential::Krb5(TICKET.to_vec().into());
    pair.client.provide(pair.now, ticket());
    pair.client.lack(pair.now, &Method::Gsi, "nothing".to_owned());
    pair.settle();
    pair.client.provide(pair.now, ticket());
    pair.client.lack(pair.now, &Method::Krb5, "nothing".to_owned());
    pair.settle();
    assert_eq!(pair.data(read).len(), 200);
    assert_eq!(pair.count("kXR_auth"), 1);
    assert!(pair.client.skipped().is_empty());
}

#[test]
fn requests_before_the_credential_is_accepted_end_a_served_session() {
    let offer = "&P=unix";
    let (mut pair, _) =
        session(config(Tls::NotOffered), Profile::default(), served(ServedTls::None, offer));
    pair.settle();
    // The client has sent everything at once, not knowing.
    assert!(!pair.server.is_up());
    assert!(pair.world.seen.is_empty());
    assert_eq!(failure(&pair).1, HowToRetry::Careful);
}

#[test]
fn injected_bytes_behind_the_consent_to_tls_are_never_taken_for_an_answer() {
    let client_config = config(Tls::Required);
    let mut client = Client::new(client_config, Profile::default(), Start::Burst);
    let now = std::time::Duration::from_secs(1);
    while client.poll_transmit(now).is_some() {}
    let mut server = farroot_xrootd::server::Server::new(served(ServedTls::Demanded, ""));
    let mut asked = Client::new(config(Tls::Required), Profile::default(), Start::Burst);
    while let Some(bytes) = asked.poll_transmit(now) {
        server.handle_bytes(now, bytes).unwrap();
    }
    let mut said = Vec::new();
    while let Some(bytes) = server.poll_transmit() {
        said.extend_from_slice(&bytes);
    }
    // A login accepted in clear, by a machine between the two.
    let forged = [&[0, 2, 0, 0, 0, 0, 0, 16][..], &[7; 16]].concat();
    said.extend_from_slice(&forged);
    client.handle_bytes(now, said.into()).unwrap();
    let events: Vec<_> = std::iter::from_fn(|| client.poll_event()).collect();
    assert_eq!(events, [Event::StartTls { rest: Bytes::from(forged) }]);
}

fn tls() -> impl Strategy<Value = Tls> {
    prop_oneof![Just(Tls::NotOffered), Just(Tls::Wanted), Just(Tls::Required)]
}

fn served_tls() -> impl Strategy<Value = ServedTls> {
    prop_oneof![Just(ServedTls::None), Just(ServedTls::Offered), Just(ServedTls::Demanded)]
}

const OFFERS: [&str; 7] = ["", "&P=unix", ZTN, "&P=krb5,p@R", "&P=gsi,v:1", "&P=host", "&P=sss"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn whatever_both_sides_want_no_secret_is_in_clear_and_the_right_bytes_come_or_an_error(
        tls in tls(),
        served_tls in served_tls(),
        offered in prop::collection::vec(0..OFFERS.len(), 0..4),
        remembered in prop::option::of(0..OFFERS.len()),
        volunteers in any::<bool>(),
        early_hello in any::<bool>(),
        chunk in 1..400_usize,
    ) {
        let security: String = offered.iter().map(|at| OFFERS[*at]).collect();
        let mut profile = Profile::default();
        if let Some(at) = remembered.filter(|at| *at > 0) {
            profile.authentication = Authentication::Needed(OFFERS[at].to_owned());
            profile.version = Some(0x511);
        }
        let early_hello = early_hello && tls != Tls::NotOffered && served_tls != ServedTls::None;
        let mut wants = ClientConfig { early_hello, ..config(tls) };
        wants.unasked = volunteers.then_some(Method::Ztn);
        let has_ticket = security.contains("krb5") || profile.authentication == Authentication::Needed("&P=krb5,p@R".into());
        // As a driver does: again with care, and with TLS where the server insists.
        let mut ended = None;
        for _ in 0..5 {
            let (mut pair, read) = session(wants.clone(), profile.clone(), served(served_tls, &security));
            pair.chunk = chunk;
            pair.settle();
            prop_assert!(!says(&pair, TOKEN.as_bytes()));
            prop_assert!(has_ticket || !says(&pair, TICKET));
            if tls == Tls::Required && served_tls == ServedTls::None {
                prop_assert!(!says(&pair, b"xrd.appname"));
            }
            let bytes = pair.data(read);
            prop_assert!(bytes.iter().all(|((_, at), got)| *got == byte(*at)));
            if bytes.len() == 200 {
                ended = Some(Ok(pair.client.is_encrypted()));
                break;
            }
            let (error, retry) = failure(&pair);
            if retry == HowToRetry::No {
                ended = Some(Err(error));
                break;
            }
            profile = pair.client.profile().clone();
            if profile.insists_on_tls && wants.tls == Tls::NotOffered {
                wants.tls = Tls::Wanted;
            }
        }
        let Some(ended) = ended else { panic!("it goes round: {tls:?} {served_tls:?} {security}") };
        let usable = |offer: &str| matches!(offer, "unix") || offer.starts_with("krb5")
            || (offer.starts_with("ztn") && ended == Ok(true));
        let offers: Vec<&str> = security.split("&P=").filter(|offer| !offer.is_empty()).collect();
        if let Ok(encrypted) = ended {
            prop_assert!(encrypted || (tls != Tls::Required && served_tls != ServedTls::Demanded));
            let open = offers.iter().all(|offer| offer.starts_with("ztn") && !encrypted);
            prop_assert!(open || offers.iter().any(|offer| usable(offer)), "{:?}", offers);
        }
    }
}

#[test]
fn a_server_says_what_it_can() {
    for (tls, wanted) in [
        (ServedTls::None, ServerFlags::IS_SERVER),
        (ServedTls::Offered, ServerFlags::IS_SERVER | ServerFlags::HAS_TLS),
        (
            ServedTls::Demanded,
            ServerFlags::IS_SERVER | ServerFlags::HAS_TLS | ServerFlags::TLS_LOGIN,
        ),
    ] {
        let (mut pair, _) = session(config(Tls::NotOffered), Profile::default(), served(tls, ""));
        pair.settle();
        assert_eq!(pair.client.profile().flags, Some(wanted));
    }
}
