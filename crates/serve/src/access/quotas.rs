//! Quotas of a proxy's cache, in the words of rules: whose bytes, or which files.

use std::fs;

use remote::address::Address;
use remote::cache::{CacheQuota, Charges, QUOTAS_MAX, QuotaPlace};

use super::issuers::Issuer;
use super::place::{PlacePattern, ServedPlace};
use super::rules::{MayRead, ReaderLists};
use super::visitor::Visitor;

/// Of a pattern: all files of a folder, which are also those of the folder's name alone.
const ALL_OF_FOLDER: &str = "/*";

/// A quota of the files of a place, as the `path` of a rule has it; `/*` may stand behind a folder.
///
/// # Errors
/// A text that names the fault.
pub fn quota_of_files(path: &str, bytes_max: u64) -> Result<CacheQuota, String> {
    let wrong = |why: String| format!("the path of a quota: {why}");
    let folder = path.strip_suffix(ALL_OF_FOLDER).unwrap_or(path);
    let pattern = PlacePattern::parse(folder, true).map_err(wrong)?;
    let mut patterns = vec![pattern];
    match &patterns[0] {
        PlacePattern::Far(origin, parts) => {
            // The cache has files of mounts by their real paths.
            let real = origin.directory().and_then(|_| fs::canonicalize(parts.path()).ok());
            let real = real.and_then(|real| real.to_str().map(|real| format!("file://{real}")));
            patterns.extend(real.and_then(|real| PlacePattern::parse(&real, true).ok()));
        }
        _ => return Err(wrong(format!("{path}: it names no files of servers"))),
    }
    let has = move |address: &Address| {
        let place = ServedPlace::of_far(address);
        patterns.iter().any(|pattern| pattern.behind(&place).is_some())
    };
    Ok(CacheQuota { name: folder.to_owned(), bytes_max, place: Some(QuotaPlace::new(has)) })
}

/// A quota of the bytes that a reader brings in, named as a rule lists it: `user:NAME`,
/// `group:ISSUER:/GROUP`, `subject:ISSUER:NAME`, `principal:NAME@REALM`, `dn:/NAME`, `voms:/GROUP`.
pub fn quota_of_reader(who: &str, bytes_max: u64) -> CacheQuota {
    CacheQuota { name: who.to_owned(), bytes_max, place: None }
}

/// The readers who have quotas, with the positions of these among those of the cache.
#[derive(Debug, Default)]
pub struct QuotaReaders(Vec<(usize, MayRead)>);

impl QuotaReaders {
    /// Those of the quotas of a cache.
    ///
    /// # Errors
    /// A text that names the quota and its fault.
    pub fn new(
        quotas: &[CacheQuota],
        issuers: &[Issuer],
        lists: ReaderLists,
    ) -> Result<Self, String> {
        if quotas.len() > QUOTAS_MAX {
            return Err(format!("a cache has at most {QUOTAS_MAX} quotas"));
        }
        let mut readers = Vec::new();
        for (at, quota) in quotas.iter().enumerate() {
            let name = &quota.name;
            if quotas[..at].iter().any(|other| other.name == *name) {
                return Err(format!("the quota of {name} is listed twice"));
            }
            if quota.place.is_some() {
                continue;
            }
            let reader = MayRead::parse(name, issuers, lists);
            match reader.map_err(|why| format!("the quota of {name}: {why}"))? {
                MayRead::Scope(_) => {
                    return Err(format!("the quota of {name}: a scope names files, and nobody"));
                }
                reader => readers.push((at, reader)),
            }
        }
        Ok(QuotaReaders(readers))
    }

    /// The quotas of a client now (seconds since 1970).
    pub fn charges(&self, visitor: &Visitor, issuers: &[Issuer], now: u64) -> Charges {
        // None of them depends on the file.
        let is_it = |reader: &MayRead| reader.is(visitor, &ServedPlace::Figures, issuers, now);
        Charges::of(self.0.iter().filter(|(_, reader)| is_it(reader)).map(|(at, _)| *at))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::issuers::IssuerSettings;
    use super::super::rules::tests::ALL;
    use super::super::token::TokenClaims;
    use super::super::visitor::Proved;
    use super::super::x509::CertificateProof;
    use super::*;

    fn issuers() -> Vec<Issuer> {
        let settings = IssuerSettings {
            name: "cms".to_owned(),
            url: "https://cms".to_owned(),
            audience: vec!["here".to_owned()],
            ..IssuerSettings::default()
        };
        vec![Issuer::new(&settings, true, None).unwrap()]
    }

    #[test]
    fn readers_have_the_quotas_that_name_them() {
        let files = quota_of_files("root://h//store", 1).unwrap();
        let names =
            ["user:ada", "group:cms:/cms/uscms", "subject:cms:ada", "dn:/CN=Ada", "voms:/cms"];
        let readers = names.map(|name| quota_of_reader(name, 1));
        let quotas = [&[files][..], &readers[..]].concat();
        let issuers = issuers();
        let readers = QuotaReaders::new(&quotas, &issuers, ALL).unwrap();
        let charges =
            |proved| readers.charges(&Visitor { proved, ..Visitor::default() }, &issuers, 1000);
        let token = |groups: &[&str], subject: &str, expires| {
            let claims = TokenClaims {
                issuer: "https://cms".to_owned(),
                subject: Some(subject.to_owned()),
                reads: Vec::new(),
                groups: groups.iter().map(|group| (*group).to_owned()).collect(),
                expires,
            };
            Proved::Token(Box::new(claims))
        };
        let certificate = |subject: &str| {
            let proof = CertificateProof {
                subject: subject.to_owned(),
                groups: vec![("/cms".to_owned(), 2000)],
                group_fault: None,
                expires: 2000,
            };
            let certificate = Some(Arc::new(Ok(proof)));
            readers.charges(&Visitor { certificate, ..Visitor::default() }, &issuers, 1000)
        };
        assert_eq!(certificate("/CN=Ada"), Charges::of([4, 5]));
        assert_eq!(certificate("/CN=Bob"), Charges::of([5]));
        assert!(charges(Proved::Nothing).is_empty() && charges(Proved::Listed).is_empty());
        assert_eq!(charges(Proved::User("ada".to_owned())), Charges::of([1]));
        assert!(charges(Proved::User("bob".to_owned())).is_empty());
        assert_eq!(charges(token(&["/cms", "/cms/uscms"], "bob", 2000)), Charges::of([2]));
        assert_eq!(charges(token(&["/cms/uscms"], "ada", 2000)), Charges::of([2, 3]));
        assert!(charges(token(&["/cms/uscms"], "ada", 1000)).is_empty(), "it has expired");
    }

    #[test]
    fn files_of_a_place_have_its_quota() {
        let has = |path: &str, address: &str| {
            let quotas = [quota_of_files(path, 1).unwrap()];
            let address = Address::parse(address).unwrap();
            quotas[0].place.as_ref().unwrap().has(&address)
        };
        for (path, address, wanted) in [
            ("root://eos.cern.ch//eos/user/*", "root://eos.cern.ch//eos/user/a/f", true),
            ("root://eos.cern.ch//eos/user", "root://eos.cern.ch:1094//eos/user/a/f", true),
            ("root://eos.cern.ch//eos/user", "root://eos.cern.ch//eos/user2/f", false),
            ("*.cern.ch/eos", "https://eos.cern.ch/eos/f", true),
            ("*", "https://eos.cern.ch/eos/f", true),
        ] {
            assert_eq!(has(path, address), wanted, "{path} {address}");
        }
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        let link = folder.path().join("link");
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let path = format!("file://{}", link.display());
        assert!(has(&path, real.join("f").to_str().unwrap()), "a mount by its link");
        assert!(!has(&path, "/other/f"));
    }

    #[test]
    fn a_quota_that_means_nothing_is_an_error() {
        for (path, why) in [("/metrics", "no files"), ("root://h//a/../b", "a path with .")] {
            let error = quota_of_files(path, 1).unwrap_err();
            assert!(error.contains("the path of a quota") && error.contains(why), "{error}");
        }
        let none = ReaderLists { is_far: true, ..ReaderLists::default() };
        for (names, lists, why) in [
            (&["user:ada"][..], none, "there is no list"),
            (&["group:atlas:/g"], ALL, "no issuer"),
            (&["scope:cms"], ALL, "a scope names files"),
            (&["everybody"], ALL, "is nobody"),
            (&["user:ada", "user:ada"], ALL, "twice"),
        ] {
            let quotas: Vec<CacheQuota> =
                names.iter().map(|name| quota_of_reader(name, 1)).collect();
            let error = QuotaReaders::new(&quotas, &issuers(), lists).unwrap_err();
            assert!(error.contains(why) && error.contains("quota of"), "{names:?}: {error}");
        }
        let many: Vec<CacheQuota> =
            (0..129).map(|at| quota_of_reader(&format!("user:{at}"), 1)).collect();
        assert!(QuotaReaders::new(&many, &issuers(), ALL).unwrap_err().contains("128"));
    }
}
