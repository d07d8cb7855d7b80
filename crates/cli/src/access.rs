//! Rules that say who may read which files, issuers of tokens, authorities of certificates and the
//! service of Kerberos: tables of the TOML files of `farroot proxy --config` and
//! `farroot serve --access`.

use std::fs;
use std::path::{Path, PathBuf};

use ::serve::{AccessRule, IssuerSettings, Protection, X509Settings};
use remote::credentials::KerberosService;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The file of `farroot serve --access`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessFile {
    #[serde(default)]
    issuer: Vec<IssuerTable>,
    kerberos: Option<KerberosTable>,
    x509: Option<X509Table>,
    #[serde(default)]
    rule: Vec<RuleTable>,
}

/// As which service tickets are accepted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KerberosTable {
    principal: String,
    keytab: PathBuf,
}

/// An issuer whose tokens are accepted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerTable {
    name: String,
    url: String,
    audience: Vec<String>,
    #[serde(default)]
    base: Vec<String>,
    keys: Option<PathBuf>,
}

/// Folders with the authorities and VOMS servers whose certificates of clients are accepted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct X509Table {
    #[serde(default = "authorities")]
    authorities: PathBuf,
    #[serde(default = "vomsdir")]
    vomsdir: PathBuf,
    #[serde(default = "yes")]
    gsi: bool,
}

fn authorities() -> PathBuf {
    "/etc/grid-security/certificates".into()
}

fn yes() -> bool {
    true
}

fn vomsdir() -> PathBuf {
    "/etc/grid-security/vomsdir".into()
}

/// Who may read the files of a place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleTable {
    path: String,
    read: Vec<String>,
}

/// The tables of a TOML file.
///
/// # Errors
/// A text that names the file, the line and the fault.
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    parse_toml(path, &toml_text(path)?)
}

/// The text of a file.
///
/// # Errors
/// A text that names the file.
pub fn toml_text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads the text of a file.
///
/// # Errors
/// A text that names the file, the line and the fault.
pub fn parse_toml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| format!("{}: {error}", path.display()))
}

impl AccessFile {
    /// Reads a file, and adds its issuers, authorities, service of Kerberos and rules.
    ///
    /// # Errors
    /// A text that names the file, the line and the fault; also of a file without a rule: all
    /// might read.
    pub fn add_to(path: &Path, protection: &mut Protection) -> Result<(), String> {
        let AccessFile { issuer, kerberos, x509, rule } = read_toml(path)?;
        if rule.is_empty() {
            return Err(format!("{}: no [[rule]] says who may read", path.display()));
        }
        protection.issuers.extend(issuer.iter().map(IssuerTable::settings));
        protection.kerberos = kerberos.as_ref().map(KerberosTable::service);
        protection.x509 = x509.as_ref().map(X509Table::settings);
        protection.rules.extend(rule.iter().map(RuleTable::rule));
        Ok(())
    }
}

impl IssuerTable {
    /// Its name in rules.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn settings(&self) -> IssuerSettings {
        let IssuerTable { name, url, audience, base, keys } = self;
        IssuerSettings {
            name: name.clone(),
            url: url.clone(),
            audience: audience.clone(),
            base: base.clone(),
            keys: keys.clone(),
        }
    }
}

impl KerberosTable {
    pub fn service(&self) -> KerberosService {
        let KerberosTable { principal, keytab } = self;
        KerberosService { principal: principal.clone(), keytab: keytab.clone() }
    }
}

impl X509Table {
    pub fn settings(&self) -> X509Settings {
        let X509Table { authorities, vomsdir, gsi } = self;
        X509Settings { authorities: authorities.clone(), vomsdir: vomsdir.clone(), gsi: *gsi }
    }
}

impl RuleTable {
    pub fn rule(&self) -> AccessRule {
        AccessRule { path: self.path.clone(), read: self.read.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_named_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.toml");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            let mut protection = Protection::default();
            AccessFile::add_to(&path, &mut protection).map(|()| protection)
        };
        let rule = "[[rule]]\npath = '/open'\nread = ['anyone']\n";
        let issuer = "[[issuer]]\nname = 'cms'\nurl = 'https://i'\naudience = ['https://me']\n";
        let protection = read(&format!("{rule}{issuer}")).unwrap();
        assert_eq!((protection.rules.len(), protection.issuers.len()), (1, 1));
        let kerberos = "[kerberos]\nprincipal = 'xrootd/h@R'\nkeytab = '/k'\n";
        let service = read(&format!("{rule}{kerberos}")).unwrap().kerberos.unwrap();
        assert_eq!((&*service.principal, service.keytab), ("xrootd/h@R", PathBuf::from("/k")));
        assert!(protection.x509.is_none());
        let protection = read(&format!("{rule}[x509]\nvomsdir = '/v'\n")).unwrap();
        let settings = protection.x509.unwrap();
        assert_eq!(settings.authorities, Path::new("/etc/grid-security/certificates"));
        assert_eq!(settings.vomsdir, Path::new("/v"));
        for (text, why) in [
            (issuer, "no [[rule]]"),
            ("[x509]\n", "no [[rule]]"),
            ("[x509]\nca = '/c'\n", "line 2"),
            ("port = 1\n", "line 1"),
            ("[[rule]]\npath = 1\n", "line 2"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains("access.toml") && error.contains(why), "{error}");
        }
    }
}
