//! Proxies, certificates and keys as grid users have them.

use std::time::{Duration, SystemTime};

use farroot_credentials::x509::{Certificate, KeyForm, PublicKey, certificates, hashes};
use farroot_credentials::{Choice, CredentialStore, Identity, Place, Reason, Unusable};
use secrecy::ExposeSecret;

use crate::grid::Grid;
use crate::home::Home;

fn usual() -> String {
    format!("tmp/x509up_u{}", Home::user())
}

fn identity(credential_store: &CredentialStore) -> Identity {
    credential_store.identity().unwrap().unwrap()
}

fn refusal(credential_store: &CredentialStore) -> Unusable {
    credential_store.identity().unwrap_err()
}

#[test]
fn a_proxy_is_found_in_its_usual_place_and_says_whose_it_is() {
    let grid = Grid::new();
    let path = grid.home.write(&usual(), grid.proxy("voms", 1), 0o600);
    let proxy = identity(&grid.home.credential_store(&[]));
    assert_eq!(proxy.subject, "/DC=example/CN=Ada Lovelace");
    assert!(proxy.is_proxy && proxy.voms && proxy.has_rsa_key());
    assert_eq!((proxy.chain.len(), proxy.place), (2, Place::usual(path)));
    let hour = Duration::from_secs(3_600);
    let left = proxy.not_after.duration_since(SystemTime::now()).unwrap();
    assert!(left > 23 * hour && left <= 24 * hour, "{left:?}");
    let without = grid.home.write("other", grid.proxy("proxy", 1), 0o600);
    let variables = [("X509_USER_PROXY", without.to_str().unwrap())];
    assert!(!identity(&grid.home.credential_store(&variables)).voms);
}

#[test]
fn the_order_of_certificates_in_the_file_does_not_matter() {
    let grid = Grid::new();
    grid.proxy("proxy", 1);
    let all = ["ca.pem", "user.pem", "proxy.key", "proxy.pem"].map(|name| grid.file(name));
    grid.home.write(&usual(), all.concat(), 0o600);
    let proxy = identity(&grid.home.credential_store(&[]));
    let expected = ["proxy.pem", "user.pem"].map(|name| certificates(&grid.file(name)).remove(0));
    // The root is not sent.
    assert_eq!(proxy.chain, expected);
    let sent = proxy.chain_pem().concat();
    assert_eq!(certificates(sent.as_bytes()), expected);
}

#[test]
fn hashes_of_issuers_are_those_of_openssl() {
    let grid = Grid::new();
    let names = [
        "/C=CH/O=Caf\u{e9}~\u{c0}~la~Carte/OU=~two~~~blanks~/CN=MiXeD~CaSe",
        "/DC=ch/DC=cern/CN=CERN~Grid~Certification~Authority",
        "/C=US/O=a+OU=b/CN=both~in~one~set+emailAddress=a@b.example",
    ];
    for (number, name) in names.iter().enumerate() {
        for mask in ["utf8only", "default", "nombstr"] {
            let file = format!("n{number}{mask}");
            std::fs::write(
                grid.folder.join("config"),
                format!("[req]\ndistinguished_name=dn\nstring_mask={mask}\nutf8=yes\n[dn]\n"),
            )
            .unwrap();
            grid.openssl(&format!(
                "req -x509 -new -config config -utf8 -multivalue-rdn -key ca.key -subj {name} \
                 -days 2 -out {file}.pem"
            ));
            let hash = |option: &str| {
                let said = grid.openssl(&format!("x509 -in {file}.pem -noout -{option}"));
                said.trim().to_owned()
            };
            let der = certificates(&grid.file(&format!("{file}.pem"))).remove(0);
            let subject = Certificate::parse(&der).unwrap().names.0;
            assert_eq!(hashes(&subject), (hash("subject_hash"), hash("subject_hash_old")));
        }
    }
    grid.home.write(&usual(), grid.proxy("proxy", 1), 0o600);
    let of_issuer = identity(&grid.home.credential_store(&[])).issuer_hashes;
    let hash = grid.openssl("x509 -in user.pem -noout -issuer_hash");
    let old = grid.openssl("x509 -in user.pem -noout -issuer_hash_old");
    assert_eq!(of_issuer, (hash.trim().to_owned(), old.trim().to_owned()));
}

#[test]
fn certificate_and_key_are_found_where_variables_or_globus_have_them() {
    let grid = Grid::new();
    let certificate = grid.home.write("home/.globus/usercert.pem", grid.file("user.pem"), 0o644);
    grid.openssl("rsa -in user.key -traditional -out pkcs1.key");
    grid.home.write("home/.globus/userkey.pem", grid.file("pkcs1.key"), 0o400);
    let own = identity(&grid.home.credential_store(&[]));
    assert_eq!((own.key_form, own.is_proxy), (KeyForm::Pkcs1, false));
    assert_eq!(own.subject, "/DC=example/CN=Ada Lovelace");
    assert_eq!(own.chain_pem().len(), 1);

    let key = grid.home.write("key.pem", grid.file("user.key"), 0o600);
    let variables = [
        ("X509_USER_CERT", certificate.to_str().unwrap()),
        ("X509_USER_KEY", key.to_str().unwrap()),
    ];
    let named = identity(&grid.home.credential_store(&variables));
    assert_eq!((named.key_form, &named.public_key), (KeyForm::Pkcs8, &own.public_key));
    // A proxy goes before both.
    grid.home.write(&usual(), grid.proxy("proxy", 1), 0o600);
    assert!(identity(&grid.home.credential_store(&variables)).is_proxy);
}

#[test]
fn the_public_key_is_written_as_openssl_writes_it() {
    let grid = Grid::new();
    grid.home.write(&usual(), grid.proxy("proxy", 1), 0o600);
    let text = grid.openssl("x509 -in proxy.pem -noout -pubkey");
    assert_eq!(identity(&grid.home.credential_store(&[])).public_key_pem(), text);
}

#[test]
fn a_raw_signature_is_one_for_openssl_and_can_be_opened() {
    let grid = Grid::new();
    grid.home.write(&usual(), grid.proxy("proxy", 1), 0o600);
    let proxy = identity(&grid.home.credential_store(&[]));
    let public = PublicKey::of(&proxy.public_key).unwrap();
    for length in [8_usize, 245, 246, 700] {
        let raw: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let signed = proxy.sign_raw(&raw).unwrap();
        assert_eq!(signed.len(), length.div_ceil(245) * 256);
        assert_eq!(public.recover_raw(&signed).unwrap(), raw);
        let mut other = signed.clone();
        other[200] ^= 1;
        assert!(public.recover_raw(&other).is_err());
        assert!(public.recover_raw(&signed[1..]).is_err());
    }
    let signed = proxy.sign_raw(b"8 bytes.").unwrap();
    std::fs::write(grid.folder.join("signed"), signed).unwrap();
    let opened = grid.openssl("pkeyutl -verifyrecover -inkey proxy.key -in signed");
    assert_eq!(opened, "8 bytes.");
}

#[test]
fn bad_proxies_are_refused_with_cause_and_command() {
    let grid = Grid::new();
    let good = grid.proxy("proxy", 1);
    let credential_store = grid.home.credential_store(&[]);
    let path = grid.home.write(&usual(), &good, 0o644);
    let shown = path.display();
    let make = "voms-proxy-init -voms YOUR_VO -rfc -valid 192:00";
    let said = || refusal(&credential_store).to_string();
    assert_eq!(
        said(),
        format!("the proxy in {shown} is open to other users (mode 644); chmod 600 {shown}")
    );
    let lacking = [grid.file("proxy.pem"), grid.file("user.pem")].concat();
    grid.home.write(&usual(), lacking, 0o600);
    assert_eq!(said(), format!("the proxy in {shown} lacks the private key; {make}"));
    let alone = [grid.file("proxy.pem"), grid.file("proxy.key")].concat();
    grid.home.write(&usual(), alone, 0o600);
    assert_eq!(said(), format!("the proxy in {shown} lacks the user's certificate; {make}"));
    let crossed = [grid.file("proxy.pem"), grid.file("ca.key"), grid.file("user.pem")].concat();
    grid.home.write(&usual(), crossed, 0o600);
    assert_eq!(
        said(),
        format!("the proxy in {shown} has a key that belongs to another certificate; {make}")
    );
    grid.home.write(&usual(), "no proxy at all", 0o600);
    assert_eq!(said(), format!("the proxy in {shown} lacks the private key; {make}"));
    let damaged = String::from_utf8(good).unwrap().replacen("MII", "MIJ", 1);
    grid.home.write(&usual(), damaged, 0o600);
    assert_eq!(
        said(),
        format!("the proxy in {shown} is not valid: a certificate in it is damaged; {make}")
    );
}

#[test]
fn an_expired_proxy_says_since_when() {
    let grid = Grid::new();
    grid.home.write(&usual(), grid.proxy("proxy", -1), 0o600);
    let refused = refusal(&grid.home.credential_store(&[]));
    assert!(matches!(refused.reason, Reason::Expired(ago) if ago.as_secs() >= 86_400));
    assert!(refused.to_string().contains("expired 1 d 0 h ago"), "{refused}");
    // A proxy that outlives the certificate that signed it is no good, either.
    grid.signed("user", "ca", "user", "/DC=example/CN=Ada~Lovelace", -1);
    grid.home.write(&usual(), grid.proxy("proxy", 5), 0o600);
    assert!(matches!(refusal(&grid.home.credential_store(&[])).reason, Reason::Expired(_)));
}

#[test]
fn a_key_with_a_passphrase_is_not_asked_for_one() {
    let grid = Grid::new();
    grid.home.write("home/.globus/usercert.pem", grid.file("user.pem"), 0o644);
    for form in ["pkcs8 -topk8 -v2 aes-256-cbc", "rsa -aes256 -traditional"] {
        grid.openssl(&format!("{form} -in user.key -passout pass:marker -out locked.key"));
        let key = grid.home.write("home/.globus/userkey.pem", grid.file("locked.key"), 0o400);
        // All grid users have such a key; without a proxy they have nothing to show.
        assert!(grid.home.credential_store(&[]).identity().unwrap().is_none());
        let certificate = grid.home.path("home/.globus/usercert.pem");
        let variables = [
            ("X509_USER_CERT", certificate.to_str().unwrap()),
            ("X509_USER_KEY", key.to_str().unwrap()),
        ];
        let refused = refusal(&grid.home.credential_store(&variables));
        assert_eq!(refused.reason, Reason::Encrypted);
        assert!(refused.to_string().contains("voms-proxy-init"), "{refused}");
    }
}

#[test]
fn what_is_named_must_be_there() {
    let grid = Grid::new();
    grid.home.write(&usual(), grid.proxy("proxy", 1), 0o600);
    let refused = refusal(&grid.home.credential_store(&[("X509_USER_PROXY", "/nowhere/proxy")]));
    let said = refused.to_string();
    let begin = "the proxy in /nowhere/proxy (from X509_USER_PROXY) is not there on this machine (";
    assert!(said.starts_with(begin), "{said}");
    let end = "voms-proxy-init -voms YOUR_VO -rfc -valid 192:00 -out /nowhere/proxy, or copy it to \
               there";
    assert!(said.ends_with(end), "{said}");
    let proxy = Some("/nowhere/other".into());
    let credential_store =
        grid.home.credential_store(&[]).with(Choice { proxy, ..Choice::default() });
    assert_eq!(refusal(&credential_store).reason, Reason::Missing);
}

#[test]
fn a_key_of_elliptic_curves_serves_tls_but_not_gsi() {
    let grid = Grid::new();
    grid.openssl("ecparam -name prime256v1 -genkey -noout -out ec.key");
    grid.openssl("req -x509 -new -key ec.key -subj /CN=Curves -days 2 -out ec.pem");
    let both = [grid.file("ec.pem"), grid.file("ec.key")].concat();
    grid.home.write(&usual(), both, 0o600);
    let own = identity(&grid.home.credential_store(&[]));
    assert_eq!((own.key_form, own.has_rsa_key()), (KeyForm::Sec1, false));
    assert!(!own.key.expose_secret().is_empty());
    let refused = own.sign_raw(b"8 bytes.").unwrap_err();
    assert!(refused.to_string().contains("no RSA key, which gsi needs"), "{refused}");
}

#[test]
fn names_of_a_host_are_read() {
    let grid = Grid::new();
    grid.signed("host", "ca", "host", "/CN=host.example", 3);
    let facts = Certificate::parse(&certificates(&grid.file("host.pem"))[0]).unwrap();
    assert_eq!(facts.hosts, ["host.example", "*.pool.example"]);
    assert_eq!(
        facts.addresses,
        ["127.0.0.1", "::1"].map(|text| text.parse::<std::net::IpAddr>().unwrap())
    );
    assert_eq!((facts.authority, facts.is_proxy), (None, false));
}
