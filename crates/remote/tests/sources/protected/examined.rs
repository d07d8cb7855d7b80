//! Diagnoses of Debian's xrootd that wants TLS and a token, step by step.

use farroot_remote::Config;
use farroot_remote::address::Address;
use farroot_remote::source::diagnose::{Finding, Step};

use super::super::over_tcp;
use super::bed::Bed;
use super::{TLS, with_tokens};

pub async fn examine(config: &Config, port: u16) -> Vec<Finding> {
    examine_as("root", "localhost", config, port).await
}

async fn examine_as(scheme: &str, host: &str, config: &Config, port: u16) -> Vec<Finding> {
    let url = Address::parse(&format!("{scheme}://{host}:{port}//store/a.bin")).unwrap();
    over_tcp(config.clone()).examine(&url).await.0
}

pub fn of(findings: &[Finding], step: Step) -> &Finding {
    findings.iter().find(|finding| finding.step == step).unwrap_or_else(|| panic!("{findings:#?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_is_said_with_its_encryption_and_its_owner() {
    let Some((bed, server)) = with_tokens() else { return };
    let token = bed.token("read:/", 3_600);
    let findings = examine(&bed.user(Some(&token)), server.port).await;
    let shown = of(&findings, Step::Credentials);
    assert!(shown.text.starts_with("token of ") && shown.text.contains(" left"), "{shown:?}");
    let login = of(&findings, Step::Login);
    assert!(login.text.contains("within TLS 1.3; logged in by ztn as a token of"), "{login:?}");
    let tls = of(&findings, Step::Tls);
    let words = ["TLS 1.3; a certificate of localhost from ", "An authority", "1 in the chain"];
    assert!(words.iter().all(|word| tls.text.contains(word)), "{tls:?}");
    let clock = of(&findings, Step::Clock);
    assert!(clock.text.starts_with("this machine's clock is ") && clock.advice.is_none());
    assert!(!findings.last().unwrap().is_fault, "{findings:#?}");
    assert!(!format!("{findings:?}").contains(&token));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_say_what_was_lacking_and_what_to_type() {
    let Some((bed, server)) = with_tokens() else { return };
    let without = examine(&bed.user(None), server.port).await;
    let shown = of(&without, Step::Credentials);
    assert!(shown.text.starts_with("none was found"), "{shown:?}");
    let refused = without.last().unwrap();
    assert!(refused.is_fault && refused.step == Step::Login, "{without:#?}");
    assert!(refused.text.contains("ztn"), "{refused:?}");
    assert!(refused.advice.as_ref().unwrap().contains("htgettoken"), "{refused:?}");

    let elsewhere = bed.token("read:/other", 3_600);
    let findings = examine(&bed.user(Some(&elsewhere)), server.port).await;
    let refused = findings.last().unwrap();
    assert!(refused.is_fault && refused.step == Step::Open, "{findings:#?}");
    assert!(refused.text.contains("which allows read:/other"), "{refused:?}");

    let old = bed.token("read:/", -7_200);
    let findings = examine(&bed.user(Some(&old)), server.port).await;
    let shown = of(&findings, Step::Credentials);
    assert!(shown.text.starts_with("token: expired 2 h"), "{shown:?}");
    let refused = findings.last().unwrap();
    assert!(refused.is_fault && refused.text.contains("expired"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_believed_is_named_with_its_certificate() {
    let bed = Bed::new();
    let Some(server) = bed.xrootd("tls", TLS) else { return };
    // Another authority; and a name that is not in the certificate.
    let findings = examine_as("roots", "localhost", &Bed::new().user(None), server.port).await;
    let refused = findings.last().unwrap();
    assert!(refused.is_fault && refused.text.contains("An authority"), "{findings:#?}");
    assert!(refused.text.contains("not signed by whom it names"), "{refused:?}");
    assert!(refused.advice.as_ref().unwrap().contains("X509_CERT_DIR"), "{refused:?}");
    let findings = examine_as("roots", "127.0.0.1", &bed.user(None), server.port).await;
    let refused = findings.last().unwrap();
    assert!(refused.is_fault && refused.text.contains("is for localhost"), "{findings:#?}");
    assert!(refused.advice.as_ref().unwrap().contains("in full"), "{refused:?}");
}
