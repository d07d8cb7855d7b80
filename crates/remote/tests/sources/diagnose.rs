//! Diagnoses of servers that hang, each at another step.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use farroot_remote::address::Address;
use farroot_remote::source::diagnose::{Finding, Step};
use farroot_remote::source::network::Tcp;
use farroot_remote::{Config, Remote};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::http_server::{Say, scripted, scripted_within};
use super::secured::{Authority, token};

async fn examine(url: &str) -> Vec<Finding> {
    examine_with(url, Config::default()).await
}

async fn examine_with(url: &str, config: Config) -> Vec<Finding> {
    let config = Config { read_timeout: Duration::from_millis(300), ..config };
    let network = Arc::new(Tcp::new(Duration::from_secs(5)));
    Remote::start(config, network).examine(&Address::parse(url).unwrap()).await.0
}

/// The steps that went well, and the one that did not.
fn steps(findings: &[Finding]) -> (Vec<Step>, &Finding) {
    let (last, before) = findings.split_last().unwrap();
    assert!(last.is_fault && before.iter().all(|finding| !finding.is_fault), "{findings:?}");
    assert!(last.seconds > 0.0 && last.advice.is_some(), "{last:?}");
    (before.iter().map(|finding| finding.step).collect(), last)
}

/// The kernel takes connections for a process that is stopped, or that does not accept them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_accepts_and_says_nothing_hangs() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let findings = examine(&format!("root://127.0.0.1:{port}//f")).await;
    let (before, last) = steps(&findings);
    assert_eq!((&*before, last.step), (&[Step::Name, Step::Connect][..], Step::Login));
    assert!(last.text.contains("silent for 0.3 s"), "{last:?}");
    assert!(last.advice.as_ref().unwrap().contains("the server hangs"), "{last:?}");
    // The web has no greeting: the first request is the one without an answer.
    let findings = examine(&format!("http://127.0.0.1:{port}/f")).await;
    let (before, last) = steps(&findings);
    let reached = [Step::Name, Step::Connect, Step::Login];
    assert_eq!((&*before, last.step), (&reached[..], Step::Open));
    assert!(last.text.contains("within 0.3 s") || last.text.contains("silent"), "{last:?}");
    assert!(last.advice.as_ref().unwrap().contains("the server hangs"), "{last:?}");
}

fn head(length: usize) -> String {
    let last = length - 1;
    format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-{last}/100\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_in_mid_read_is_found_out() {
    for begun in [head(100), head(100) + "0123456789"] {
        let url = scripted(move |count, _| match count {
            0 => Say::Stay(head(1) + "0"),
            _ => Say::Hang(begun.clone()),
        });
        let findings = examine(url.await.join("f").unwrap().as_str()).await;
        assert_eq!(steps(&findings).1.step, Step::Read, "{findings:?}");
    }
}

/// It never is silent for long, and never done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_brings_little_is_slow_and_not_waited_for() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/f", listener.local_addr().unwrap());
    tokio::spawn(async move {
        // The first connection only shows that there are any.
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                for answer in [head(1) + "0", head(100)] {
                    let mut asked = Vec::new();
                    while !asked.ends_with(b"\r\n\r\n") {
                        asked.push(stream.read_u8().await?);
                    }
                    stream.write_all(answer.as_bytes()).await?;
                }
                loop {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    stream.write_all(b"x").await?;
                }
                #[expect(unreachable_code, reason = "it says of which type an error is")]
                std::io::Result::Ok(())
            });
        }
    });
    let findings = examine(&url).await;
    let last = findings.last().unwrap();
    assert!(last.step == Step::Read && !last.is_fault, "{findings:?}");
    assert!(last.text.starts_with("only ") && last.text.ends_with("within 0.3 s"), "{last:?}");
}

/// A server within TLS that refuses all requests, with the time of its clock.
async fn refusing(authority: &Authority, date: &'static str) -> url::Url {
    scripted_within(Some(authority.server()), move |_, _, _| {
        Say::Stay(format!("HTTP/1.1 403 Forbidden\r\nDate: {date}\r\nContent-Length: 0\r\n\r\n"))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_protected_server_credential_tls_and_clock_are_looked_at() {
    let authority = Authority::new();
    let url = refusing(&authority, "Tue, 14 Nov 2023 22:13:20 GMT").await.join("store/f").unwrap();
    let claims =
        r#"{"sub":"ada","scope":"storage.read:/cms","jti":"marker-of-a-secret","exp":4102444800}"#;
    let shown = token(claims);
    let findings = examine_with(url.as_str(), authority.with_token(&shown)).await;
    let steps: Vec<Step> = findings.iter().map(|finding| finding.step).collect();
    let (last, before) = findings.split_last().unwrap();
    let first = &before[0];
    assert_eq!((first.step, &*first.place), (Step::Credentials, "the argument of the call"));
    assert!(first.text.starts_with("token of ada, "), "{first:?}");
    assert!(first.text.ends_with("left; allows storage.read:/cms"), "{first:?}");
    let of = |step| before.iter().find(|finding| finding.step == step).expect("a step");
    let tls = of(Step::Tls);
    assert!(tls.text.starts_with("TLS 1.3; a certificate of "), "{tls:?}");
    let clock = of(Step::Clock);
    assert!(clock.text.ends_with("ahead of the server's"), "{clock:?}");
    assert!(clock.advice.as_ref().unwrap().contains("clocks is wrong"), "{clock:?}");
    assert!(last.is_fault && last.step == Step::Open, "{steps:?}");
    assert!(last.text.contains("it was shown the token in the argument of the call"), "{last:?}");
    assert!(last.advice.as_ref().unwrap().contains("htgettoken --scopes"), "{last:?}");
    assert!(!format!("{findings:?}").contains(&shown));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_nobody_vouches_for_is_refused_at_tls() {
    let authority = Authority::new();
    let url = refusing(&Authority::new(), "today").await.join("f").unwrap();
    let findings =
        examine_with(url.as_str(), authority.with_token("marker-of-a-secret.token")).await;
    let last = findings.last().unwrap();
    assert!(last.is_fault && last.step == Step::Tls, "{findings:?}");
    assert!(last.text.contains("certificate") && last.advice.is_some(), "{last:?}");
    assert!(!format!("{findings:?}").contains("marker"), "{findings:?}");
    // Where this call chooses so, the server is trusted, and the finding names it.
    let insecure = farroot_remote::address::CallAccess { insecure: true, ..Default::default() };
    let url = farroot_remote::address::with_access(url.as_str(), &insecure);
    let findings = examine_with(&url, authority.config(Default::default())).await;
    let tls = findings.iter().find(|finding| finding.step == Step::Tls).unwrap();
    assert!(!tls.is_fault && tls.text.contains("INSECURE"), "{tls:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_has_expired_is_named_with_what_to_type() {
    let authority = Authority::new();
    let url = refusing(&authority, "today").await.join("f").unwrap();
    let config = authority.with_token(&token(r#"{"exp":1700000000}"#));
    let findings = examine_with(url.as_str(), config).await;
    let first = &findings[0];
    assert_eq!(first.step, Step::Credentials);
    assert!(first.text.starts_with("token: expired "), "{first:?}");
    assert!(first.advice.as_ref().unwrap().contains("htgettoken"), "{first:?}");
}
