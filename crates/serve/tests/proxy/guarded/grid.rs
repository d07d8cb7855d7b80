//! Authorities, users, proxies and VOMS servers, made for one test.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use farroot_serve::X509Settings;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData,
    RevokedCertParams, SerialNumber, SigningKey, date_time_ymd,
};
use remote::credentials::x509::{ChainLink, hashes, one_line, text_of};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::der::{ProxyFields, element, sequence, with_name};
use super::tokens::now;
use super::voms::{Attributes, extension};

/// Years in which certificates are valid, unless a test wants others.
pub const VALID: Range<i32> = 2020..2048;
/// `proxyCertInfo`, and the extension of VOMS.
pub const PROXY_INFO: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 14];
pub const VOMS: &[u8] = &[0x2b, 6, 1, 4, 1, 0xbe, 0x45, 100, 100, 5];
/// `id-ppl-inheritAll`, and the language of Globus's limited proxies.
pub const INHERIT_ALL: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 21, 1];
pub const LIMITED: &[u8] = &[0x2b, 6, 1, 4, 1, 0x9b, 0x50, 1, 1, 1, 9];
/// The name of Ada.
pub const ADA: &str = "/O=Farroot/CN=Ada Lovelace";

/// A name and a key, and the certificate that was signed for them.
pub struct Party {
    pub params: CertificateParams,
    pub key: KeyPair,
    pub der: Vec<u8>,
}

/// Certificates of a client, its own first, and its key.
#[derive(Debug, Clone)]
pub struct Identity {
    pub chain: Vec<Vec<u8>>,
    pub key: Vec<u8>,
}

fn named(common_name: &str, years: Range<i32>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(years.start, 1, 1);
    params.not_after = date_time_ymd(years.end, 1, 1);
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::OrganizationName, "Farroot");
    params.distinguished_name.push(DnType::CommonName, common_name);
    params
}

impl Party {
    pub fn authority(name: &str) -> Party {
        let mut params = named(name, VALID);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let der = params.self_signed(&key).unwrap().der().to_vec();
        Party { params, key, der }
    }

    /// Signs for a name, with a new key.
    pub fn sign(&self, params: CertificateParams) -> Party {
        let key = KeyPair::generate().unwrap();
        let issuer = Issuer::from_params(&self.params, &self.key);
        let der = params.signed_by(&key, &issuer).unwrap().der().to_vec();
        Party { params, key, der }
    }

    pub fn user(&self, name: &str, serial: u8, years: Range<i32>) -> Party {
        let mut params = named(name, years);
        params.serial_number = Some(SerialNumber::from(vec![serial]));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        self.sign(params)
    }

    /// A certificate for servers only.
    pub fn server(&self, name: &str) -> Party {
        let mut params = named(name, VALID);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A user's certificate that ends so many seconds from now.
    pub fn user_for(&self, name: &str, seconds: u64) -> Party {
        let mut params = named(name, VALID);
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(now() + seconds);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        self.sign(params)
    }

    /// A proxy of this, signed by its key.
    pub fn proxy(&self, change: impl FnOnce(&mut ProxyFields)) -> Party {
        let issuer = self.link();
        let key = KeyPair::generate().unwrap();
        let mut fields = ProxyFields {
            issuer: issuer.subject.clone(),
            subject: with_name(&issuer.subject, "12345"),
            years: VALID,
            extensions: vec![(PROXY_INFO, true, proxy_info(INHERIT_ALL, None))],
            public_key: key.subject_public_key_info(),
        };
        change(&mut fields);
        Party { params: CertificateParams::default(), der: fields.signed(self), key }
    }

    /// A proxy with attributes that a VOMS server has signed.
    pub fn voms_proxy(&self, attributes: &[Vec<u8>]) -> Party {
        self.proxy(|proxy| proxy.extensions.push((VOMS, false, extension(attributes))))
    }

    /// Shows this, with others behind it.
    pub fn with(&self, others: &[&Party]) -> Identity {
        let chain = [self].into_iter().chain(others.iter().copied());
        let chain = chain.map(|party| party.der.clone()).collect();
        Identity { chain, key: self.key.serialize_der() }
    }

    pub fn link(&self) -> ChainLink {
        ChainLink::parse(&self.der).unwrap()
    }

    pub fn signature(&self, bytes: &[u8]) -> Vec<u8> {
        SigningKey::sign(&self.key, bytes).unwrap()
    }

    /// A list on which these numbers are revoked.
    fn revoking(&self, serials: &[u8], years: Range<i32>) -> Vec<u8> {
        let revoked = |serial: &u8| RevokedCertParams {
            serial_number: SerialNumber::from(vec![*serial]),
            revocation_time: date_time_ymd(2021, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(years.start, 1, 1),
            next_update: date_time_ymd(years.end, 1, 1),
            crl_number: SerialNumber::from(vec![1]),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let issuer = Issuer::from_params(&self.params, &self.key);
        params.signed_by(&issuer).unwrap().der().to_vec()
    }
}

/// `proxyCertInfo` of a policy, with the number of proxies that may follow.
pub fn proxy_info(language: &[u8], length_max: Option<u8>) -> Vec<u8> {
    let policy = sequence(&[&element(0x06, &[language])]);
    let length = length_max.map(|length| vec![2, 1, length]).unwrap_or_default();
    sequence(&[&length, &policy])
}

impl Identity {
    pub fn for_tls(&self) -> Arc<CertifiedKey> {
        let key = PrivateKeyDer::Pkcs8(self.key.clone().into());
        let key = remote::source::tls::provider().key_provider.load_private_key(key).unwrap();
        let chain = self.chain.iter().map(|der| CertificateDer::from(der.clone())).collect();
        Arc::new(CertifiedKey::new(chain, key))
    }

    /// As tools write it: certificate, key, the other certificates.
    pub fn pem(&self) -> String {
        let certificate = |der: &Vec<u8>| text_of("CERTIFICATE", der);
        let others: String = self.chain[1..].iter().map(certificate).collect();
        [certificate(&self.chain[0]), text_of("PRIVATE KEY", &self.key), others].concat()
    }
}

/// A folder of authorities with revocation lists, a folder of VOMS servers, and those in them.
pub struct Grid {
    folder: tempfile::TempDir,
    pub authority: Party,
    pub stranger: Party,
    pub ada: Party,
    pub server: Party,
}

/// The number of Bob's certificate, which is revoked.
pub const OF_BOB: u8 = 66;
pub const OF_ADA: u8 = 7;

impl Grid {
    pub fn new() -> Grid {
        let folder = tempfile::tempdir().unwrap();
        let authority = Party::authority("The CA");
        let stranger = Party::authority("Another CA");
        let ada = authority.user("Ada Lovelace", OF_ADA, VALID);
        // As servers have theirs now.
        let server = authority.server("voms.example");
        let grid = Grid { folder, authority, stranger, ada, server };
        let Grid { authority, .. } = &grid;
        let (hash, _) = hashes(&authority.link().subject);
        let certificates = grid.path("certificates");
        fs::create_dir(&certificates).unwrap();
        let pem = text_of("CERTIFICATE", &authority.der);
        fs::write(certificates.join(format!("{hash}.0")), pem).unwrap();
        grid.revoke(0, &[], 2020..2040);
        // One that is out of date still counts.
        grid.revoke(1, &[OF_BOB], 2020..2021);
        let server = grid.server.link();
        let names = format!("{}\n{}\n", one_line(&server.subject), one_line(&server.issuer));
        for organisation in ["cms", "atlas"] {
            fs::create_dir_all(grid.path("vomsdir").join(organisation)).unwrap();
        }
        fs::write(grid.path("vomsdir/cms/voms.example.lsc"), names).unwrap();
        grid
    }

    /// Writes a revocation list of the authority.
    pub fn revoke(&self, number: u8, serials: &[u8], years: Range<i32>) {
        let (hash, _) = hashes(&self.authority.link().subject);
        let path = self.path("certificates").join(format!("{hash}.r{number}"));
        let list = self.authority.revoking(serials, years);
        fs::write(path, text_of("X509 CRL", &list)).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn settings(&self) -> X509Settings {
        let authorities = self.path("certificates");
        X509Settings { authorities, vomsdir: self.path("vomsdir"), gsi: true }
    }

    /// Attributes of Ada that the listed server has signed.
    pub fn attributes(&self, groups: &[&str]) -> Attributes {
        let ada = self.ada.link();
        Attributes {
            holder: ada.subject,
            serial: ada.serial,
            issuer: self.server.link().subject,
            years: VALID,
            address: "cms://voms.example:15002".to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            certificates: vec![self.server.der.clone()],
            targets: false,
        }
    }

    /// Ada's proxy with these attributes.
    pub fn voms_proxy(&self, attributes: &Attributes) -> Identity {
        let signed = attributes.signed(&self.server);
        self.ada.voms_proxy(&[signed]).with(&[&self.ada])
    }
}
