//! Authorities of clients, their revocation lists, and their judgement of a chain.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mutex::Mutex;
use remote::clock::seconds_since_1970;
use remote::credentials::Authorities;
use remote::credentials::x509::{PublicKey, is_plain, one_line, revocations};
use remote::source::tls::provider;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, IpAddr, ServerName, UnixTime,
};
use rustls::server::WebPkiClientVerifier;
use rustls::{CertificateError, Error, RootCertStore};
use tokio::time::Instant;
use tracing::warn;

use super::chain::{Shown, SortedChain};
use super::groups::groups;
use super::{CertificateFault, CertificateProof, Judged, ShownChain, X509Settings};

/// After so long authorities and lists are read again, for the next client.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// Keys of fewer bits prove nothing.
const RSA_BITS_MIN: usize = 2048;
/// Chains that are remembered; beyond, any other of them is forgotten.
const JUDGED_MAX: usize = 4096;
/// How long faults are: they may end with time, and each one found takes time.
const FAULT_KEPT: Duration = Duration::from_secs(5);

type RevocationLists = Arc<Vec<CertificateRevocationListDer<'static>>>;

/// The authorities that a server accepts, read again from time to time.
pub struct ClientTrust {
    settings: X509Settings,
    read: Mutex<KeptTrust>,
    /// Who has it reads them.
    reading: tokio::sync::Mutex<()>,
}

/// Authorities, and since when they are known.
struct KeptTrust {
    trust: Arc<ReadTrust>,
    since: Instant,
}

/// The content of the folders at one time.
pub struct ReadTrust {
    settings: X509Settings,
    anchors: Arc<RootCertStore>,
    /// Of authorities that have signed something, by their names.
    revoked: Mutex<BTreeMap<Vec<u8>, RevocationLists>>,
    /// By the hashes of chains.
    judged: Mutex<BTreeMap<[u8; 32], JudgedChain>>,
}

/// A chain that was judged, and when.
struct JudgedChain {
    since: Instant,
    judged: Arc<Judged>,
}

/// The use of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A client of TLS.
    Client,
    Server,
    /// A client or a server, as VOMS servers have theirs.
    Any,
}

/// Whether a certificate has a key by which nothing is proved.
pub fn is_weak(public_key: &[u8]) -> bool {
    let bits = |key: PublicKey| {
        let zeros = key.modulus.first().map_or(0, |first| first.leading_zeros() as usize);
        key.modulus.len() * 8 - zeros
    };
    PublicKey::of(public_key).is_some_and(|key| bits(key) < RSA_BITS_MIN)
}

impl ClientTrust {
    /// Reads the folders.
    ///
    /// # Errors
    /// A text that names the folder: it cannot be read, or has no authority.
    pub fn new(settings: &X509Settings) -> Result<Self, String> {
        let trust = Arc::new(ReadTrust::read(settings)?);
        let read = Mutex::new(KeptTrust { trust, since: Instant::now() });
        Ok(ClientTrust { settings: settings.clone(), read, reading: tokio::sync::Mutex::default() })
    }

    /// Whether groups can be proved here.
    pub fn has_vomsdir(&self) -> bool {
        self.settings.vomsdir.is_dir()
    }

    /// Who a client with these certificates is.
    pub async fn judge(&self, shown: &Arc<ShownChain>) -> Arc<Judged> {
        let trust = self.fresh().await;
        if let Some(known) = trust.known(shown, seconds_since_1970()) {
            return known;
        }
        let shown = shown.clone();
        let judging = tokio::task::spawn_blocking(move || {
            let judged = Arc::new(trust.judge(&shown.certificates, seconds_since_1970()));
            trust.remember(&shown, &judged);
            judged
        });
        judging.await.unwrap_or_else(|_| Arc::new(Err(CertificateFault::NoAuthorities)))
    }

    /// The authorities, read a short time ago.
    async fn fresh(&self) -> Arc<ReadTrust> {
        let known = || {
            let kept = self.read.lock();
            (kept.trust.clone(), kept.since.elapsed() < FRESH)
        };
        if let (trust, true) = known() {
            return trust;
        }
        let _turn = self.reading.lock().await;
        if let (trust, true) = known() {
            return trust;
        }
        let settings = self.settings.clone();
        let read = tokio::task::spawn_blocking(move || ReadTrust::read(&settings)).await;
        let read = read.unwrap_or_else(|error| Err(error.to_string()));
        let mut kept = self.read.lock();
        match read {
            Ok(trust) => kept.trust = Arc::new(trust),
            Err(why) => warn!("{why}; those of before count"),
        }
        kept.since = Instant::now();
        kept.trust.clone()
    }
}

impl fmt::Debug for ClientTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientTrust({})", self.settings.authorities.display())
    }
}

impl ReadTrust {
    fn read(settings: &X509Settings) -> Result<Self, String> {
        let folder = &settings.authorities;
        let found = Authorities::of_directory(folder, SystemTime::now());
        let all = found.anchors.iter().map(|der| CertificateDer::from(der.as_slice()));
        let mut anchors = RootCertStore::empty();
        let (count, _) = anchors.add_parsable_certificates(all);
        if count == 0 {
            let why = found.skipped.first().map_or("none is there", |(_, why)| why.as_str());
            let folder = folder.display();
            return Err(format!("{folder} has no certificate of an authority: {why}"));
        }
        Ok(ReadTrust {
            settings: settings.clone(),
            anchors: Arc::new(anchors),
            revoked: Mutex::default(),
            judged: Mutex::default(),
        })
    }

    pub fn vomsdir(&self) -> &Path {
        &self.settings.vomsdir
    }

    /// The remembered outcome of a chain, if it counts now (seconds since 1970). It was judged with
    /// the same authorities, so that the outcome would be the same now.
    fn known(&self, shown: &ShownChain, now: u64) -> Option<Arc<Judged>> {
        let judged = self.judged.lock();
        let JudgedChain { since, judged: known } = judged.get(&shown.hash)?;
        let is_whole = |proof: &CertificateProof| proof.group_fault.is_none() && proof.counts(now);
        let is_proof = known.as_ref().as_ref().is_ok_and(is_whole);
        (is_proof || since.elapsed() < FAULT_KEPT).then(|| known.clone())
    }

    fn remember(&self, shown: &ShownChain, outcome: &Arc<Judged>) {
        let mut judged = self.judged.lock();
        if judged.len() >= JUDGED_MAX {
            judged.pop_first();
        }
        let since = Instant::now();
        judged.insert(shown.hash, JudgedChain { since, judged: outcome.clone() });
    }

    /// Who a client with these certificates is now (seconds since 1970). Reads files.
    pub fn judge(&self, certificates: &[Vec<u8>], now: u64) -> Judged {
        let chain = SortedChain::of(certificates)?;
        let own = chain.proxies.first().unwrap_or(&chain.user);
        if is_weak(&own.link.public_key) {
            return Err(CertificateFault::WeakKey);
        }
        self.check(&chain.user, &chain.rest, Purpose::Client, now)?;
        chain.check_proxies(now)?;
        let name = &chain.user.link.subject;
        if !is_plain(name) {
            return Err(CertificateFault::Name);
        }
        let (groups, group_fault) = groups(&chain, self, now);
        let expires = chain.expires();
        Ok(CertificateProof { subject: one_line(name), groups, group_fault, expires })
    }

    /// Whether an authority vouches for a certificate now (seconds since 1970), and has not revoked
    /// it. Reads files.
    pub fn check(
        &self,
        end: &Shown<'_>,
        rest: &[Shown<'_>],
        purpose: Purpose,
        now: u64,
    ) -> Result<(), CertificateFault> {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(now));
        let mut purpose = purpose;
        let mut verified = self.verified(end, rest, purpose, Vec::new(), time);
        if purpose == Purpose::Any && verified.is_err() {
            purpose = Purpose::Server;
            verified = self.verified(end, rest, purpose, Vec::new(), time);
        }
        verified?;
        let issuers: BTreeSet<&Vec<u8>> =
            [end].into_iter().chain(rest).map(|one| &one.link.issuer).collect();
        let lists: Vec<RevocationLists> =
            issuers.into_iter().map(|issuer| self.revoked_by(issuer)).collect();
        // Of several lists of one authority only one is looked at, so each gets its turn.
        let most = lists.iter().map(|lists| lists.len()).max().unwrap_or_default();
        for turn in 0..most {
            let of_turn = lists.iter().filter_map(|lists| lists.get(turn).cloned()).collect();
            let verified = self.verified(end, rest, purpose, of_turn, time);
            if verified == Err(CertificateFault::Revoked) {
                return verified;
            }
        }
        Ok(())
    }

    /// The same with these revocation lists.
    fn verified(
        &self,
        end: &Shown<'_>,
        rest: &[Shown<'_>],
        purpose: Purpose,
        lists: Vec<CertificateRevocationListDer<'static>>,
        now: UnixTime,
    ) -> Result<(), CertificateFault> {
        let unusable = |_| CertificateFault::NoAuthorities;
        let anchors = self.anchors.clone();
        let end = CertificateDer::from(end.der);
        let rest: Vec<_> = rest.iter().map(|one| CertificateDer::from(one.der)).collect();
        let verified = match purpose {
            Purpose::Client | Purpose::Any => {
                let builder = WebPkiClientVerifier::builder_with_provider(anchors, provider());
                let builder = builder.with_crls(lists).allow_unknown_revocation_status();
                let verifier = builder.build().map_err(unusable)?;
                verifier.verify_client_cert(&end, &rest, now).map(drop)
            }
            Purpose::Server => {
                let builder = WebPkiServerVerifier::builder_with_provider(anchors, provider());
                let builder = builder.with_crls(lists).allow_unknown_revocation_status();
                let verifier = builder.build().map_err(unusable)?;
                // Names are looked at last, and here they are compared elsewhere.
                let name = ServerName::IpAddress(IpAddr::V4([0, 0, 0, 0].into()));
                verifier.verify_server_cert(&end, &rest, &name, &[], now).map(drop)
            }
        };
        match verified {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(()),
            verified => verified.map_err(|why| fault_of(&why)),
        }
    }

    /// The revocation lists of an authority, by its name as DER. One that is out of date counts as
    /// far as it goes. Reads files at first use.
    fn revoked_by(&self, issuer: &[u8]) -> RevocationLists {
        if let Some(known) = self.revoked.lock().get(issuer) {
            return known.clone();
        }
        let folder = std::slice::from_ref(&self.settings.authorities);
        let found = revocations(folder, issuer, SystemTime::UNIX_EPOCH);
        let can_be_read = |list: &CertificateRevocationListDer<'static>| {
            let builder =
                WebPkiClientVerifier::builder_with_provider(self.anchors.clone(), provider());
            let is_read = builder.with_crls([list.clone()]).build().is_ok();
            if !is_read {
                warn!("a revocation list of {} cannot be read", one_line(issuer));
            }
            is_read
        };
        let lists = found.into_iter().map(CertificateRevocationListDer::from).filter(can_be_read);
        let lists: RevocationLists = Arc::new(lists.collect());
        // Clients choose the names of issuers; those that have lists are few.
        if !lists.is_empty() {
            self.revoked.lock().insert(issuer.to_vec(), lists.clone());
        }
        lists
    }
}

/// A fault of rustls in words for clients.
fn fault_of(error: &Error) -> CertificateFault {
    let Error::InvalidCertificate(why) = error else { return CertificateFault::Chain };
    match why {
        CertificateError::BadEncoding => CertificateFault::Malformed,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            CertificateFault::Expired
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            CertificateFault::Early
        }
        CertificateError::Revoked => CertificateFault::Revoked,
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            CertificateFault::Purpose
        }
        CertificateError::UnknownIssuer => CertificateFault::Authority,
        // An authority of that name has another key.
        CertificateError::BadSignature => CertificateFault::Authority,
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            CertificateFault::Algorithm
        }
        _ => CertificateFault::Chain,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use remote::credentials::x509::{ChainLink, certificates, hashes, text_of};

    use super::super::GroupFault;
    use super::*;

    /// 1 January 2027, at which the recorded proxy is valid.
    const NOW: u64 = 1_798_761_600;

    /// A proxy as VOMS makes it, with the user's certificate; its authority and server are listed.
    fn recorded() -> (tempfile::TempDir, ReadTrust, Vec<Vec<u8>>) {
        let pem = include_bytes!("../../../../credentials/samples/voms.pem");
        let mut chain = certificates(pem);
        let authority = chain.pop().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (hash, _) = hashes(&ChainLink::parse(&authority).unwrap().subject);
        let path = folder.path().join(format!("{hash}.0"));
        fs::write(path, text_of("CERTIFICATE", &authority)).unwrap();
        fs::create_dir(folder.path().join("cms")).unwrap();
        let names = "/DC=example/CN=host\n/DC=example/CN=The CA\n";
        fs::write(folder.path().join("cms/voms.example.org.lsc"), names).unwrap();
        let path = folder.path().to_owned();
        let settings = X509Settings { authorities: path.clone(), vomsdir: path, gsi: false };
        let trust = ReadTrust::read(&settings).unwrap();
        (folder, trust, chain)
    }

    #[test]
    fn a_proxy_of_voms_proves_its_user_and_groups() {
        let (_folder, trust, chain) = recorded();
        let proof = trust.judge(&chain, NOW).unwrap();
        assert_eq!((proof.subject.as_str(), proof.group_fault), ("/DC=example/CN=user", None));
        for (group, wanted) in
            [("/cms", true), ("/cms/Role=production", true), ("/cms/uscms", true), ("/cm", false)]
        {
            assert_eq!(proof.has_group(group, NOW), wanted, "{group}");
            assert!(!proof.has_group(group, proof.expires));
        }
        assert!(proof.counts(NOW) && !proof.counts(proof.expires));
        assert_eq!(trust.judge(&chain, 0), Err(CertificateFault::Early));
        assert_eq!(trust.judge(&chain, proof.expires), Err(CertificateFault::Expired));
        assert_eq!(trust.judge(&[], NOW), Err(CertificateFault::Malformed));
        assert_eq!(trust.judge(&vec![chain[0].clone(); 17], NOW), Err(CertificateFault::TooLong));
    }

    /// A chain with any byte changed proves nothing, and no beginning of one does.
    #[test]
    fn changed_certificates_prove_nothing() {
        let (_folder, trust, chain) = recorded();
        for which in 0..chain.len() {
            for at in 0..chain[which].len() {
                let mut changed = chain.clone();
                changed[which][at] ^= 1 << (at % 8);
                assert!(trust.judge(&changed, NOW).is_err(), "{which} {at}");
                changed[which].truncate(at);
                assert!(trust.judge(&changed, NOW).is_err(), "{which} {at}");
            }
        }
    }

    /// A user can sign any attributes into a proxy: those that the server has not signed are none.
    #[test]
    fn changed_attributes_give_no_group() {
        let (_folder, trust, chain) = recorded();
        let mut chain = SortedChain::of(&chain).unwrap();
        let good = chain.proxies[0].link.attributes.clone().unwrap();
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 1 << (at % 8);
            chain.proxies[0].link.attributes = Some(changed);
            let (groups, fault) = groups(&chain, &trust, NOW);
            assert!(groups.is_empty() && fault.is_some(), "{at}: {groups:?}");
        }
        for end in (0..good.len()).step_by(7) {
            chain.proxies[0].link.attributes = Some(good[..end].to_vec());
            let found = groups(&chain, &trust, NOW);
            assert_eq!(found, (Vec::new(), Some(GroupFault::Malformed)), "{end}");
        }
    }
}
