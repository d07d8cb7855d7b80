//! Files of users: tokens, proxies and certificates, profiles of S3.

use std::time::SystemTime;

use credentials::x509::{
    Certificate, ChainLink, PublicKey, ServerNames, Signed, attribute_certificates, certificates,
    hashes, is_plain, one_line, revocation_lists,
};
use credentials::{Claims, Identity, Place, s3};

use crate::Target;

pub const TARGET: Target =
    Target { name: "credentials", run, seeds, rounds: 5_000, memory: (1 << 20, 64) };

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(claims) = Claims::of(&text) {
        let words = claims.issuer.iter().chain(&claims.subject).chain(&claims.scope);
        assert!(words.into_iter().all(|word| !word.contains(char::is_control)));
    }
    for section in ["default", "profile site"] {
        for (name, _) in s3::values(&text, section).unwrap_or_default() {
            assert!(!name.contains('\n'));
        }
    }
    for der in certificates(data) {
        if let Ok(facts) = Certificate::parse(&der) {
            let (new, old) = hashes(&facts.names.1);
            assert_eq!((new.len(), old.len()), (8, 8));
            if let Some(key) = PublicKey::of(&facts.public_key) {
                let _ = key.recover_raw(&data[..data.len().min(key.modulus.len())]);
            }
        }
        if let Some(link) = ChainLink::parse(&der) {
            assert!(Signed::parse(&der).is_some_and(|signed| signed.content.len() < der.len()));
            for one in
                link.attributes.and_then(|found| attribute_certificates(&found)).iter().flatten()
            {
                assert!(one.der.len() < der.len() && one.certificates.len() < der.len());
            }
        }
        let _ = (one_line(&der), is_plain(&der));
    }
    let _ = attribute_certificates(data);
    assert!(!ServerNames::parse(&text).have(&[]));
    assert!(revocation_lists(data, b"\x30\0", SystemTime::now()).len() <= data.len());
    if let Ok(identity) = Identity::read(data, data, Place::Argument, None) {
        assert!(!identity.chain.is_empty());
        let _ = identity.sign_raw(b"8 bytes.");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let token = "e30.eyJpc3MiOiJodHRwczovL2EuZXhhbXBsZSIsImV4cCI6MTgwMDAwMDAwMC41LCJhdWQiOlsiYSJdLCJz\
                 Y29wZSI6InN0b3JhZ2UucmVhZDovIG9wZW5pZCJ9.e30";
    let profiles = "[default]\naws_access_key_id = A\n[profile site]\ns3 =\n  endpoint_url = \
                    https://s3.example\nregion = cern # here\n";
    let proxy = include_bytes!("../../seeds/credentials/proxy.pem");
    let voms = include_bytes!("../../../crates/credentials/samples/voms.pem");
    vec![token.into(), profiles.into(), proxy.to_vec(), voms.to_vec()]
}

#[test]
fn the_seeds_are_good() {
    let seeds = seeds();
    let claims = Claims::of(std::str::from_utf8(&seeds[0]).unwrap()).unwrap();
    assert_eq!((claims.audience, claims.scope.len()), (vec!["a".to_owned()], 2));
    let values = s3::values(std::str::from_utf8(&seeds[1]).unwrap(), "profile site").unwrap();
    let names: Vec<_> = values.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["s3.endpoint_url", "region"]);
    let identity = Identity::read(&seeds[2], &seeds[2], Place::Argument, None).unwrap();
    assert!(identity.is_proxy && identity.chain.len() == 2);
    let proxy = ChainLink::parse(&certificates(&seeds[3])[0]).unwrap();
    assert_eq!(attribute_certificates(&proxy.attributes.unwrap()).unwrap().len(), 1);
}
