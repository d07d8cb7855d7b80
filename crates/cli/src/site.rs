//! The file of `farroot proxy --config`: the proxy of a site.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::serve::{ClusterSettings, Nodes, Origin, OriginCredential, Protection};
use remote::cache::{CacheLocal, CacheQuota};
use remote::settings::Setting;
use serde::Deserialize;
use serde_json::Value;

use crate::access::{IssuerTable, KerberosTable, RuleTable, X509Table, parse_toml, toml_text};
use crate::log::LogFormat;
use crate::quotas::QuotaTable;

/// The keys that a proxy reads again while it serves.
const RELOADED: [&str; 8] =
    ["tls", "issuer", "kerberos", "x509", "rule", "token", "users", "cluster"];
/// How long the answer of an origin about a client's token counts.
const ANSWER_KEPT: Duration = Duration::from_secs(300);

/// The options of `farroot proxy` and the settings, under their names.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SiteFile {
    #[serde(skip)]
    path: PathBuf,
    /// As it is written.
    #[serde(skip)]
    written: toml::Table,
    pub address: Option<IpAddr>,
    pub port: Option<u16>,
    pub http_port: Option<u16>,
    #[serde(default)]
    origin: Vec<OriginEntry>,
    #[serde(default)]
    pub select: bool,
    pub flight: Option<u16>,
    tls: Option<TlsFiles>,
    #[serde(default)]
    issuer: Vec<IssuerTable>,
    kerberos: Option<KerberosTable>,
    x509: Option<X509Table>,
    #[serde(default)]
    rule: Vec<RuleTable>,
    #[serde(default)]
    quota: Vec<QuotaTable>,
    token: Option<PathBuf>,
    users: Option<PathBuf>,
    pub connections: Option<usize>,
    pub connections_per_address: Option<usize>,
    pub access_log: Option<PathBuf>,
    /// Seconds.
    pub drain: Option<u64>,
    cluster: Option<ClusterTable>,
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

/// A server whose files may be read.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "an origin is a text as \"root://*.cern.ch\", or a table with server and credential"
)]
enum OriginEntry {
    Server(String),
    Table(OriginTable),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OriginTable {
    server: String,
    credential: Option<CredentialEntry>,
}

/// The credential that a server is shown.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a credential is \"passthrough\", or a table with token, proxy or ccache, or \
                 with passthrough and its seconds"
)]
enum CredentialEntry {
    Word(CredentialWord),
    Table(CredentialTable),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CredentialWord {
    Passthrough,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
enum CredentialTable {
    Token(PathBuf),
    Proxy(PathBuf),
    Ccache(String),
    /// Seconds for which an answer of the origin counts.
    Passthrough(u64),
}

impl CredentialEntry {
    fn read(&self) -> OriginCredential {
        match self {
            CredentialEntry::Word(CredentialWord::Passthrough) => {
                OriginCredential::Passthrough(ANSWER_KEPT)
            }
            CredentialEntry::Table(table) => match table {
                CredentialTable::Token(path) => OriginCredential::Token(path.clone()),
                CredentialTable::Proxy(path) => OriginCredential::Proxy(path.clone()),
                CredentialTable::Ccache(name) => OriginCredential::Ccache(name.clone()),
                CredentialTable::Passthrough(seconds) => {
                    OriginCredential::Passthrough(Duration::from_secs(*seconds))
                }
            },
        }
    }
}

impl OriginEntry {
    fn read(&self) -> Result<Origin, String> {
        match self {
            OriginEntry::Server(text) => text.parse(),
            OriginEntry::Table(OriginTable { server, credential }) => {
                let origin: Origin = server.parse()?;
                match credential {
                    Some(credential) => origin.with_credential(credential.read()),
                    None => Ok(origin),
                }
            }
        }
    }
}

/// The proxies that share the files of the origins.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterTable {
    #[serde(default)]
    nodes: Vec<String>,
    /// A name that has the addresses of all nodes.
    name: Option<String>,
    own: Option<String>,
}

impl SiteFile {
    /// Reads a file.
    ///
    /// # Errors
    /// A text that names the file, the line and the fault.
    pub fn read(path: &Path) -> Result<SiteFile, String> {
        let text = toml_text(path)?;
        let written = parse_toml(path, &text)?;
        Ok(SiteFile { path: path.to_owned(), written, ..parse_toml(path, &text)? })
    }

    /// The keys whose values differ from those of a proxy that has started with another content of
    /// the file, and which it goes on without until it is started again.
    pub fn not_reloaded<'a>(&'a self, started: &'a SiteFile) -> Vec<&'a str> {
        let written = self.written.keys().chain(started.written.keys());
        let differs = |key: &&String| self.written.get(*key) != started.written.get(*key);
        let keys: BTreeSet<&String> = written.filter(differs).collect();
        let keys = keys.into_iter().map(String::as_str);
        keys.filter(|key| !RELOADED.contains(key)).collect()
    }

    /// The servers whose files may be read.
    ///
    /// # Errors
    /// A text that names the one that is none.
    pub fn origins(&self) -> Result<Vec<Origin>, String> {
        self.origin.iter().map(OriginEntry::read).collect()
    }

    /// Who may read.
    pub fn protection(&self) -> Protection {
        let SiteFile { tls, token, users, .. } = self;
        let tls = tls.as_ref().map(|tls| (tls.certificate.clone(), tls.key.clone()));
        Protection {
            tls,
            tokens: token.clone(),
            users: users.clone(),
            issuers: self.issuer.iter().map(IssuerTable::settings).collect(),
            kerberos: self.kerberos.as_ref().map(KerberosTable::service),
            x509: self.x509.as_ref().map(X509Table::settings),
            rules: self.rule.iter().map(RuleTable::rule).collect(),
        }
    }

    /// The cluster that the proxy is a node of, if it is one.
    ///
    /// # Errors
    /// A text: a node that is none, or a list without this one.
    pub fn cluster(&self) -> Result<Option<ClusterSettings>, String> {
        let Some(ClusterTable { nodes, name, own }) = &self.cluster else { return Ok(None) };
        let nodes = match name {
            Some(name) if nodes.is_empty() => Nodes::Named(name.parse()?),
            None if !nodes.is_empty() => {
                Nodes::Listed(nodes.iter().map(|node| node.parse()).collect::<Result<_, _>>()?)
            }
            _ => return Err("a cluster has nodes or a name, and not both".to_owned()),
        };
        let own = own.as_ref().map(|own| own.parse()).transpose()?;
        let settings = ClusterSettings { nodes, own };
        settings.check()?;
        Ok(Some(settings))
    }

    /// The same for commands on the cache of the proxy, which has files of its mounts.
    ///
    /// # Errors
    /// As for [`apply`](Self::apply).
    pub fn apply_to_cache(&self, config: &mut remote::Config) -> Result<(), String> {
        self.apply(config)?;
        if self.origins()?.iter().any(|origin| origin.directory().is_some()) {
            config.cache.local = CacheLocal::All;
        }
        Ok(())
    }

    /// Puts the settings and quotas of the file into those of the process. A variable that is set
    /// counts more.
    ///
    /// # Errors
    /// A text that names the setting and its values, or the fault of a quota.
    pub fn apply(&self, config: &mut remote::Config) -> Result<(), String> {
        let named = |error: remote::Error| format!("{}: {error}", self.path.display());
        let issuers: Vec<&str> = self.issuer.iter().map(IssuerTable::name).collect();
        let quotas = self.quota.iter().map(|quota| quota.quota(&issuers));
        let quotas: Result<Vec<CacheQuota>, String> = quotas.collect();
        config.cache.quotas = quotas.map_err(|why| format!("{}: {why}", self.path.display()))?;
        // A value that does not count now is not to be a fault on the day when it does.
        let mut unused = config.clone();
        for (name, value) in &self.settings {
            let setting = Setting::named(name).map_err(named)?;
            let is_used = std::env::var_os(setting.variable()).is_none();
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(is_on) => if *is_on { "on" } else { "off" }.to_owned(),
                Value::Number(number) => number.to_string(),
                Value::Array(list) if setting.is_list() => {
                    let text = |one: &Value| one.as_str().map(str::to_owned);
                    let texts: Option<Vec<String>> = list.iter().map(text).collect();
                    texts.ok_or_else(|| named(setting.wrong(&value.to_string())))?.join(":")
                }
                other => return Err(named(setting.wrong(&other.to_string()))),
            };
            let target = if is_used { &mut *config } else { &mut unused };
            setting.set_text(target, &text).map_err(named)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
    fn a_cache_has_a_folder_on_each_disk() {
        let site = read("[settings]\ncache_folder = ['/ssd1', '/ssd2']\n").unwrap();
        let mut config = remote::Config::default();
        site.apply(&mut config).unwrap();
        let folders: Vec<&Path> = config.cache.folders().collect();
        assert_eq!(folders, ["/ssd1", "/ssd2"].map(Path::new));
        let site = read("[settings]\ncache_folder = ['/ssd1', 2]\n").unwrap();
        assert!(site.apply(&mut config).is_err());
    }

    #[test]
    fn a_cache_has_quotas_of_files_and_of_readers() {
        let issuer = "[[issuer]]\nname = 'cms'\nurl = 'https://i'\naudience = ['https://me']\n";
        let text = "[[quota]]\npath = 'root://eos.cern.ch//eos/user/*'\nbytes = '500 GB'\n\
                    [[quota]]\nuser = 'alice'\nbytes = 0\n\
                    [[quota]]\ngroup = '/cms'\nbytes = 1000\n\
                    [[quota]]\ngroup = 'cms:/cms/uscms'\nbytes = '2 kB'\n\
                    [[quota]]\nsubject = 'cms:ada'\nbytes = '1 GiB'\n\
                    [[quota]]\ndn = '/DC=ch/CN=Ada'\nbytes = 5\n\
                    [[quota]]\nvoms = '/cms/Role=production'\nbytes = 6\n";
        let mut config = remote::Config::default();
        read(&format!("{issuer}{text}")).unwrap().apply(&mut config).unwrap();
        let quotas = config.cache.quotas.iter();
        let quotas: Vec<(&str, u64)> = quotas.map(|one| (&*one.name, one.bytes_max)).collect();
        let wanted = [
            ("root://eos.cern.ch//eos/user", 500_000_000_000),
            ("user:alice", 0),
            ("group:cms:/cms", 1000),
            ("group:cms:/cms/uscms", 2000),
            ("subject:cms:ada", 1 << 30),
            ("dn:/DC=ch/CN=Ada", 5),
            ("voms:/cms/Role=production", 6),
        ];
        assert_eq!(quotas, wanted);
        let is_of_files = |one: &CacheQuota| one.place.is_some();
        assert_eq!(config.cache.quotas.iter().filter(|one| is_of_files(one)).count(), 1);
        let error = read(text).unwrap().apply(&mut config).unwrap_err();
        assert!(error.contains("site.toml") && error.contains("ISSUER:/cms"), "{error}");
    }

    #[test]
    fn a_fault_of_a_quota_is_named_with_its_line() {
        for (text, line, why) in [
            ("user = 'a'\nbytes = '5 parsecs'", 3, "5 parsecs"),
            ("user = 'a'\nbytes = -1", 3, "-1"),
            ("user = 'a'\nbytes = true", 3, "a size as"),
            ("user = 'a'\nbyte = '5 GB'", 3, "unknown field `byte`"),
            ("user = 'a'", 1, "missing field `bytes`"),
            ("bytes = '5 GB'", 1, "one of `path`, `user`"),
            ("user = 'a'\npath = '*'\nbytes = '5 GB'", 1, "one of `path`, `user`"),
        ] {
            let error = read(&format!("[[quota]]\n{text}\n")).unwrap_err();
            let is_named = error.contains("site.toml") && error.contains(&format!("line {line},"));
            assert!(is_named && error.contains(why), "{text}: {error}");
        }
        let site = read("[[quota]]\npath = 'root://h//a/../b'\nbytes = '5 GB'\n").unwrap();
        let error = site.apply(&mut remote::Config::default()).unwrap_err();
        assert!(error.contains("the path of a quota") && error.contains("site.toml"), "{error}");
    }

    #[test]
    fn a_cluster_has_nodes_or_a_name() {
        let cluster = |text: &str| read(&format!("[cluster]\n{text}\n")).unwrap().cluster();
        let listed = cluster("nodes = ['a:1094', 'b:1094']\nown = 'b:1094'").unwrap().unwrap();
        assert!(matches!(listed.nodes, Nodes::Listed(nodes) if nodes.len() == 2));
        let named = cluster("name = 'caches.example:1094'").unwrap().unwrap();
        assert!(matches!(named.nodes, Nodes::Named(_)) && named.own.is_none());
        assert!(read("port = 1094\n").unwrap().cluster().unwrap().is_none());
        for (text, why) in [
            ("nodes = ['a:1094']\nown = 'c:1094'", "c:1094"),
            ("nodes = ['a:1094']", "own"),
            ("nodes = ['a']\nown = 'a'", "HOST:PORT"),
            ("nodes = ['a:1', 'b:1', 'a:1']\nown = 'a:1'", "listed twice"),
            ("nodes = ['a:1094']\nname = 'b:1094'", "not both"),
            ("own = 'a:1094'", "not both"),
        ] {
            let error = cluster(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    /// A changed origin was said to be read again, and was not.
    #[test]
    fn a_reload_names_the_keys_that_it_does_not_read() {
        let site = |text: &str| read(text).unwrap();
        let started = site("port = 1094\norigin = ['root://a']\nselect = true\ntoken = '/t'\n");
        let now = site("port = 1094\norigin = ['root://b']\ntoken = '/u'\n[settings]\ncache = 1\n");
        assert_eq!(now.not_reloaded(&started), ["origin", "select", "settings"]);
        assert!(started.not_reloaded(&started).is_empty());
    }

    #[test]
    fn origins_have_credentials() {
        let site = read(
            "[[origin]]\nserver = 'root://*.cern.ch'\n\
             [[origin]]\nserver = 'https://a.example'\ncredential = { token = '/etc/t' }\n\
             [[origin]]\nserver = 'roots://b.example'\ncredential = { proxy = '/etc/p' }\n\
             [[origin]]\nserver = 'root://c.example'\ncredential = { ccache = 'KCM:' }\n\
             [[origin]]\nserver = 'https://d.example'\ncredential = 'passthrough'\n\
             [[origin]]\nserver = 'https://e.example'\ncredential = { passthrough = 60 }\n",
        );
        let origins = site.unwrap().origins().unwrap();
        let shown: Vec<_> = origins.iter().map(|one| one.credential().cloned()).collect();
        let kept = |seconds| OriginCredential::Passthrough(Duration::from_secs(seconds));
        let wanted = [
            None,
            Some(OriginCredential::Token("/etc/t".into())),
            Some(OriginCredential::Proxy("/etc/p".into())),
            Some(OriginCredential::Ccache("KCM:".to_owned())),
            Some(kept(300)),
            Some(kept(60)),
        ];
        assert_eq!(shown, wanted);
        for (wrong, why) in [
            ("credential = 'none'", "a credential is"),
            ("credential = { tokens = '/t' }", "a credential is"),
            ("credential = { token = '/t', proxy = '/p' }", "a credential is"),
            ("credentials = 'passthrough'", "an origin is"),
        ] {
            let error = read(&format!("[[origin]]\nserver = 'https://h'\n{wrong}\n"));
            let error = error.unwrap_err();
            assert!(error.contains(why) || error.contains("an origin is"), "{wrong}: {error}");
        }
        let plain = "[[origin]]\nserver = 'http://h'\ncredential = 'passthrough'\n";
        let error = read(plain).unwrap().origins().unwrap_err();
        assert!(error.contains("https://"), "{error}");
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
