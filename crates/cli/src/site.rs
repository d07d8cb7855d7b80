//! The file of `farroot proxy --config`: the proxy of a site.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ::serve::{Origin, Protection};
use remote::settings::Setting;
use serde::Deserialize;
use serde_json::Value;

use crate::log::LogFormat;

/// The options of `farroot proxy` and the settings, under their names.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SiteFile {
    #[serde(skip)]
    path: PathBuf,
    pub address: Option<IpAddr>,
    pub port: Option<u16>,
    pub http_port: Option<u16>,
    #[serde(default)]
    origin: Vec<String>,
    #[serde(default)]
    pub select: bool,
    tls: Option<TlsFiles>,
    token: Option<PathBuf>,
    users: Option<PathBuf>,
    pub connections: Option<usize>,
    pub connections_per_address: Option<usize>,
    pub access_log: Option<PathBuf>,
    /// Seconds.
    pub drain: Option<u64>,
    pub log: Option<LogFormat>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
}

/// The certificate that the proxy shows, and its key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
}

impl SiteFile {
    /// Reads a file.
    ///
    /// # Errors
    /// A text that names the file, the line and the fault.
    pub fn read(path: &Path) -> Result<SiteFile, String> {
        let named = |why: String| format!("{}: {why}", path.display());
        let text = fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
        let site = toml::from_str(&text).map_err(|error| named(error.to_string()))?;
        Ok(SiteFile { path: path.to_owned(), ..site })
    }

    /// The servers whose files may be read.
    ///
    /// # Errors
    /// A text that names the one that is none.
    pub fn origins(&self) -> Result<Vec<Origin>, String> {
        self.origin.iter().map(|origin| origin.parse::<Origin>()).collect()
    }

    /// Who may read.
    pub fn protection(&self) -> Protection {
        let SiteFile { tls, token, users, .. } = self;
        let tls = tls.as_ref().map(|tls| (tls.certificate.clone(), tls.key.clone()));
        Protection { tls, tokens: token.clone(), users: users.clone() }
    }

    /// Puts the settings of the file into those of the process. A variable that is set counts more.
    ///
    /// # Errors
    /// A text that names the setting and its values.
    pub fn apply(&self, config: &mut remote::Config) -> Result<(), String> {
        let named = |error: remote::Error| format!("{}: {error}", self.path.display());
        for (name, value) in &self.settings {
            let setting = Setting::named(name).map_err(named)?;
            if std::env::var_os(setting.variable()).is_some() {
                continue;
            }
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(is_on) => if *is_on { "on" } else { "off" }.to_owned(),
                Value::Number(number) => number.to_string(),
                other => return Err(named(setting.wrong(&other.to_string()))),
            };
            setting.set_text(config, &text).map_err(named)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SiteFile, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.toml");
        fs::write(&path, text).unwrap();
        SiteFile::read(&path)
    }

    #[test]
    fn every_option_has_its_name_in_the_file() {
        let site = read(
            "address = '0.0.0.0'\nport = 1094\nhttp-port = 8443\norigin = ['root://*.cern.ch']\n\
             token = '/etc/farroot/tokens'\nconnections = 500\nconnections-per-address = 50\n\
             access-log = '/var/log/farroot/access.jsonl'\ndrain = 20\nselect = true\nlog = 'json'\n\
             [tls]\ncertificate = 'host.pem'\nkey = 'host.key'\n\
             [settings]\ncache = '2 TB'\nconnections = 8\n",
        )
        .unwrap();
        assert_eq!(site.origins().unwrap().len(), 1);
        assert!(site.protection().tls.is_some() && site.protection().tokens.is_some());
        let mut config = remote::Config::default();
        site.apply(&mut config).unwrap();
        assert_eq!(config.cache.bytes_max, 2_000_000_000_000);
        assert_eq!(config.connections_max, 8);
    }

    #[test]
    fn a_fault_is_named_with_its_line() {
        let error = read("port = 1094\norigins = ['*']\n").unwrap_err();
        assert!(error.contains("site.toml") && error.contains("line 2"), "{error}");
        assert!(error.contains("origins"), "{error}");
        let error = read("port = 109400\n").unwrap_err();
        assert!(error.contains("line 1"), "{error}");
        let site = read("[settings]\ncahce = '2 TB'\n").unwrap();
        let error = site.apply(&mut remote::Config::default()).unwrap_err();
        assert!(error.contains("site.toml") && error.contains("did you mean cache"), "{error}");
        let site = read("[settings]\ncache = ['2 TB']\n").unwrap();
        assert!(site.apply(&mut remote::Config::default()).is_err());
    }
}
