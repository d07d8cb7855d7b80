//! A certificate with its key: the credential that a user shows.

use std::fmt;
use std::time::SystemTime;

use secrecy::{ExposeSecret, SecretSlice};
use zeroize::Zeroizing;

use super::pem::{self, Block};
use super::{Certificate, KeyForm, hashes, key};
use crate::{Kind, Place, Reason, Unusable};

/// A certificate with its key.
#[derive(Clone)]
pub struct Identity {
    /// The certificates as DER, the one to which the key belongs first, each followed by its
    /// issuer. Roots are not among them.
    pub chain: Vec<Vec<u8>>,
    /// The private key as DER.
    pub key: SecretSlice<u8>,
    /// How the key is built.
    pub key_form: KeyForm,
    /// Whose it is: the subject of the user's certificate, without the names that proxies add.
    pub subject: String,
    /// From when all of the chain is valid.
    pub not_before: SystemTime,
    /// Until when all of the chain is valid.
    pub not_after: SystemTime,
    /// Whether the first certificate is a proxy.
    pub is_proxy: bool,
    /// Whether one of the proxies carries attributes of a virtual organisation (VOMS).
    pub voms: bool,
    /// Where it was found.
    pub place: Place,
    /// The permissions of the file with the key.
    pub mode: Option<u32>,
    /// OpenSSL's hashes of the name of the authority that signed the user's certificate: the new
    /// one, and the one of OpenSSL before 1.0.
    pub issuer_hashes: (String, String),
    /// The public key of the first certificate, as DER (`SubjectPublicKeyInfo`).
    pub public_key: Vec<u8>,
}

impl Identity {
    /// From the text of one file, given twice, or of two: that of the certificates, and that of
    /// the key. Whether it is still valid is not looked at.
    pub fn read(
        certificates: &[u8],
        key: &[u8],
        place: Place,
        mode: Option<u32>,
    ) -> Result<Self, Reason> {
        let blocks = pem::blocks(certificates);
        let mut chain = Vec::new();
        for block in blocks.into_iter().filter(|block| pem::is_certificate(&block.label)) {
            let broken = || Reason::Malformed("a certificate in it is damaged".to_owned());
            let der = block.der.ok_or_else(broken)?.to_vec();
            chain.push((Certificate::parse(&der).map_err(|_| broken())?, der));
        }
        let (key, key_form) = private_key(key)?;
        let chain = ordered(chain, &key, key_form)?;
        let first = &chain[0].0;
        let user = chain.iter().map(|(facts, _)| facts).find(|facts| !facts.is_proxy);
        let Some(user) = user else { return Err(Reason::Incomplete("the user's certificate")) };
        let validities = chain.iter().map(|(facts, _)| facts.validity);
        let not_before = validities.clone().map(|(from, _)| from).max();
        let not_after = validities.map(|(_, until)| until).min();
        Ok(Identity {
            subject: user.subject.clone(),
            not_before: not_before.unwrap_or(first.validity.0),
            not_after: not_after.unwrap_or(first.validity.1),
            is_proxy: first.is_proxy,
            voms: chain.iter().any(|(facts, _)| facts.voms),
            issuer_hashes: hashes(&user.names.1),
            public_key: first.public_key.clone(),
            chain: chain.into_iter().map(|(_, der)| der).collect(),
            key: key.to_vec().into(),
            key_form,
            place,
            mode,
        })
    }

    /// The certificates as gsi sends them: PEM, from the first to the user's own, without those
    /// of authorities.
    pub fn chain_pem(&self) -> Vec<String> {
        let facts = |der: &Vec<u8>| Certificate::parse(der).is_ok_and(|facts| facts.is_proxy);
        let proxies = self.chain.iter().take_while(|der| facts(der)).count();
        let chain = self.chain.iter().take(proxies + 1);
        chain.map(|der| pem::text_of("CERTIFICATE", der)).collect()
    }

    /// The public key of the first certificate as OpenSSL writes it in PEM.
    pub fn public_key_pem(&self) -> String {
        pem::text_of("PUBLIC KEY", &self.public_key)
    }

    /// Whether the key is of RSA, as gsi needs it.
    pub fn has_rsa_key(&self) -> bool {
        key::rsa(self.key.expose_secret(), self.key_form).is_some()
    }

    /// Signs bytes as they are (PKCS#1 v1.5, type 1, without the name of a digest), with blinding,
    /// in pieces of the key's length less eleven bytes, as XRootD's gsi wants them.
    ///
    /// Such a signature can pass for one of anything: only the exchange of gsi may request it, once
    /// the server is verified, and only for bytes of its own, or for eight bytes.
    pub fn sign_raw(&self, raw: &[u8]) -> Result<Vec<u8>, Unusable> {
        let key = key::rsa(self.key.expose_secret(), self.key_form);
        let signed = key.and_then(|key| key::sign_raw(&key, raw));
        signed.ok_or_else(|| Unusable {
            kind: Kind::X509,
            name: "the certificate",
            place: self.place.clone(),
            reason: Reason::OtherKey("RSA"),
        })
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("subject", &self.subject)
            .field("place", &self.place)
            .field("is_proxy", &self.is_proxy)
            .finish_non_exhaustive()
    }
}

/// The one private key of a file.
fn private_key(text: &[u8]) -> Result<(Zeroizing<Vec<u8>>, KeyForm), Reason> {
    for Block { label, encrypted, der } in pem::blocks(text) {
        let form = match label.as_str() {
            "ENCRYPTED PRIVATE KEY" => return Err(Reason::Encrypted),
            "RSA PRIVATE KEY" => KeyForm::Pkcs1,
            "PRIVATE KEY" => KeyForm::Pkcs8,
            "EC PRIVATE KEY" => KeyForm::Sec1,
            _ => continue,
        };
        if encrypted {
            return Err(Reason::Encrypted);
        }
        let der = der.ok_or_else(|| Reason::Malformed("its key is damaged".to_owned()))?;
        return Ok((der, form));
    }
    Err(Reason::Incomplete("the private key"))
}

type Parsed = (Certificate, Vec<u8>);

/// The certificate of the key, its issuer, and so on, without roots.
fn ordered(mut given: Vec<Parsed>, der: &[u8], form: KeyForm) -> Result<Vec<Parsed>, Reason> {
    if given.is_empty() {
        return Err(Reason::Incomplete("a certificate"));
    }
    let first = match key::rsa(der, form) {
        // Of other kinds the first one is believed; TLS notices.
        None => 0,
        Some(key) => {
            let own = given.iter().position(|(facts, _)| key::belongs(&key, &facts.public_key));
            own.ok_or(Reason::WrongKey)?
        }
    };
    let mut chain = vec![given.remove(first)];
    while let Some((last, _)) = chain.last() {
        let issuer = given.iter().position(|(facts, _)| facts.names.0 == last.names.1);
        match issuer {
            // A root is not sent, unless a user signed her own certificate.
            Some(at) if last.is_proxy || !given[at].0.is_own_issuer() => {
                chain.push(given.remove(at));
            }
            _ => break,
        }
    }
    Ok(chain)
}
