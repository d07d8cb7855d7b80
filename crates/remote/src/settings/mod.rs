//! Every setting, once: its name, its kind, its limits and its effect.
//!
//! The `FARROOT_*` variables, the keywords of Python's `farroot.config`, the checks of both and the
//! table in `docs/settings.md` are this list. The defaults are those of [`Config`].

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cache::{CacheCheck, CacheForm, CacheLocal, CacheMode};
use crate::config::{Checksums, Config, parse_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::home::expanded;
use crate::report::size;
use crate::selecting::Near;
use credentials::{Choice, TokenFrom};
use scheduler::LinkModel;
use strsim::levenshtein;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Python's keyword; the variable is `FARROOT_` and this in capitals.
    pub name: &'static str,
    /// Its effect, in a sentence.
    pub effect: &'static str,
    field: Field,
    /// Whether it can be changed when reading has begun.
    pub is_live: bool,
}

/// Where a setting is kept, and which values it takes.
#[derive(Debug, Clone, Copy)]
enum Field {
    Bytes(fn(&mut Config) -> &mut u64, u64),
    /// The least and the most.
    Count(fn(&mut Config) -> &mut u32, u32, u32),
    Threads(fn(&mut Config) -> &mut usize, u32, u32),
    /// The least, in milliseconds.
    Seconds(fn(&mut Config) -> &mut Duration, u64),
    Switch(fn(&mut Config) -> &mut bool),
    Checksums(fn(&mut Config) -> &mut Checksums),
    /// One of some words: its values, and how it is read and written.
    Word(&'static str, fn(&Config) -> String, fn(&mut Config, &str) -> Option<()>),
    Hosts(fn(&mut Config) -> &mut Vec<String>),
    Folder(fn(&mut Config) -> &mut Option<PathBuf>),
    /// One, and further ones, with colons between them.
    Folders(fn(&mut Config) -> (&mut Option<PathBuf>, &mut Vec<PathBuf>)),
    /// Which credential is used: its values, and how it is read and written. Empty: any.
    Credential(&'static str, fn(&Choice) -> String, fn(&mut Choice, &str) -> Option<()>),
}

/// A setting's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A count, or bytes.
    Number(u64),
    /// A time.
    Seconds(f64),
    /// On or off.
    Switch(bool),
    /// One of several words, or free text.
    Text(String),
    /// A folder, or none.
    Folder(Option<PathBuf>),
}

/// Types of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number, with `k`, `M` or `G` where it is text.
    Bytes,
    /// A whole number.
    Count,
    /// Seconds, also parts of one.
    Seconds,
    /// True or false.
    Switch,
    /// Text.
    Text,
    /// A path, or none.
    Folder,
}

/// No time is longer.
const DAY: Duration = Duration::from_secs(86_400);
/// The setting on which two numbers of a configuration depend.
const CONNECTIONS: &str = "connections";
/// Begins the variables' names.
const PREFIX: &str = "FARROOT_";
/// Variables that farroot's own tests and benchmarks read.
const OTHERS: [&str; 5] = [
    "FARROOT_CORPUS",
    "FARROOT_FAULTS",
    "FARROOT_FAULT_SEED",
    "FARROOT_FUZZ_ROUNDS",
    "FARROOT_PYTHON",
];

const fn live(name: &'static str, field: Field, effect: &'static str) -> Setting {
    Setting { name, effect, field, is_live: true }
}

/// All settings, in the order in which they are shown.
pub static SETTINGS: [Setting; 27] = [
    live(
        "memory",
        Field::Bytes(|config| &mut config.memory_bytes_max, 1000),
        "Limit of the bytes in memory: requested, received, or decoded and not yet returned. Arrays that the caller has \
         are not counted.",
    ),
    Setting {
        name: "decode_threads",
        field: Field::Threads(|config| &mut config.decode_threads, 0, 1024),
        effect: "Threads that decompress and decode. With 0 the reading thread decodes.",
        is_live: false,
    },
    live(
        CONNECTIONS,
        Field::Count(|config| &mut config.connections_max, 1, 256),
        "Maximum of connections to one server. Up to 16 of them are opened at once, since each starts slowly. Unless it \
         is set, small requests of many files over HTTP have up to 48.",
    ),
    live(
        "connections_shared",
        Field::Count(|config| &mut config.connections_shared, 0, 4096),
        "Maximum of connections to one server for all processes of a user on one machine. More processes take turns. 0: \
         no limit.",
    ),
    live(
        "store",
        Field::Bytes(|config| &mut config.store_bytes_max, 0),
        "Size of the metadata store: metadata of remote files, on the disk, for later processes. 0 stores nothing.",
    ),
    live(
        "store_folder",
        Field::Folder(|config| &mut config.store_folder),
        "Folder of the metadata store. farroot creates its own folders in it, and changes no other files.",
    ),
    live(
        "cache",
        Field::Bytes(|config| &mut config.cache.bytes_max, 0),
        "Size of the [cache](cache.md) of remote files on a disk of this machine. 0 caches nothing.",
    ),
    live(
        "cache_folder",
        Field::Folders(|config| (&mut config.cache.folder, &mut config.cache.more_folders)),
        "Folder of the cache. It must not be on a network file system. Several, on disks of their own, stand with \
         colons between them: each takes as much as `cache` says.",
    ),
    live(
        "cache_mode",
        Field::Word(
            "`off`, `touched`, `whole` or `auto`",
            |config| config.cache.mode.name().to_owned(),
            |config, text| {
                config.cache.mode = CacheMode::named(text)?;
                Some(())
            },
        ),
        "Cached bytes of a file: `touched`, the requested ones; `whole`, all; `auto`, all of small files and of files of \
         which more than half is requested.",
    ),
    live(
        "cache_check",
        Field::Word(
            "`verify`, `trust=7d` or `immutable`",
            |config| config.cache.check.shown(),
            |config, text| {
                config.cache.check = CacheCheck::named(text)?;
                Some(())
            },
        ),
        "Validation of a cached file: `verify`, at its server in each open; `trust=7d`, if the server confirmed it \
         longer ago; `immutable`, never again.",
    ),
    live(
        "cache_form",
        Field::Word(
            "`recompressed`, `original` or `both`",
            |config| config.cache.form.name().to_owned(),
            |config, text| {
                config.cache.form = CacheForm::named(text)?;
                Some(())
            },
        ),
        "Codec of cached baskets and pages that a read has decompressed with LZMA: `recompressed`, a fast one in place of \
         it; `original`, that of the file; `both`.",
    ),
    live(
        "cache_local",
        Field::Word(
            "`off`, `network` or `all`",
            |config| config.cache.local.name().to_owned(),
            |config, text| {
                config.cache.local = CacheLocal::named(text)?;
                Some(())
            },
        ),
        "Cached files of this machine's file systems: `network`, those on a mount of NFS, Lustre, GPFS, CephFS, FUSE and \
         others that machines share; `all`.",
    ),
    live(
        "cache_free",
        Field::Bytes(|config| &mut config.cache.free_bytes_min, 0),
        "Bytes of its disk that the cache leaves free, or a tenth of the disk if that is less.",
    ),
    live(
        "connect_timeout",
        Field::Seconds(|config| &mut config.connect_timeout, 1),
        "Timeout of a TCP connection.",
    ),
    live(
        "read_timeout",
        Field::Seconds(|config| &mut config.read_timeout, 1),
        "Timeout of a file's requested bytes, over all retries and sources, if none arrive, or less than 1 kB for each \
         second of it. A server may ask for up to 20 times as long.",
    ),
    live(
        "retry_timeout",
        Field::Seconds(|config| &mut config.retry_timeout, 0),
        "How long farroot tries again to reach a server that has answered before, until reads of its files fail.",
    ),
    live(
        "discovery",
        Field::Switch(|config| &mut config.discovery),
        "Whether farroot asks redirectors for further servers of a file.",
    ),
    live(
        "checksums",
        Field::Checksums(|config| &mut config.checksums),
        "When XRootD servers that can do so send a checksum with every 4 KiB: `auto`, for copies outside TLS; `always`, \
         for all reads, which fail if a server cannot; `never`.",
    ),
    live(
        "plain_redirects",
        Field::Switch(|config| &mut config.plain_redirects),
        "Whether an `https` server may redirect to an `http` server, as XRootD and dCache do for data. farroot sends no \
         credential there in either case.",
    ),
    live(
        "http_proxy",
        Field::Word(
            "`http://HOST:PORT`, `http://USER:PASSWORD@HOST:PORT` or `none`",
            |config| config.proxies.shown(),
            |config, text| config.proxies.set(text),
        ),
        "The proxy for `http`, `https`, `s3` and `osdf` addresses. Default: the [variables of curl](at-my-site.md).",
    ),
    live(
        "near",
        Field::Word(
            "`off`, `on`, `auto` or the address of a proxy",
            |config| config.near.shown(),
            |config, text| {
                config.near = Near::named(text)?;
                Some(())
            },
        ),
        "Where entries are [selected](near.md): `off`, here; `on`, at the file's own server; `auto`, there if it \
         takes less time; at a proxy. If a server cannot, farroot reads the entries itself.",
    ),
    live(
        "redirect_credentials",
        Field::Hosts(|config| &mut config.redirect_credentials),
        "Hosts to which farroot sends a token or, over `https`, an X.509 proxy even after a redirection from another \
         server. `.site.org` means all hosts of that domain.",
    ),
    live(
        "token_file",
        Field::Credential(FILE, token_file, |choice, text| {
            choice.token = Some(TokenFrom::File(whole(Path::new(text))?));
            Some(())
        }),
        "A file with a bearer token, in place of the [usual ones](at-my-site.md).",
    ),
    live(
        "x509_proxy",
        Field::Credential(
            FILE,
            |choice| path_shown(choice.proxy.as_deref()),
            |choice, text| {
                choice.proxy = Some(whole(Path::new(text))?);
                Some(())
            },
        ),
        "A file with an X.509 proxy, or with a certificate and its key, in place of the usual ones.",
    ),
    live(
        "ticket_cache",
        Field::Credential(
            "a name as `KRB5CCNAME` has it",
            |choice| choice.ccache.clone().unwrap_or_default(),
            |choice, text| {
                choice.ccache = Some(text.to_owned());
                Some(())
            },
        ),
        "The cache of Kerberos tickets, in place of the usual one.",
    ),
    live(
        "s3_profile",
        Field::Credential(
            "a name",
            |choice| choice.s3_profile.clone().unwrap_or_default(),
            |choice, text| {
                choice.s3_profile = Some(text.to_owned());
                Some(())
            },
        ),
        "The profile of the files in `~/.aws`.",
    ),
    live(
        "auth",
        Field::Credential(
            "of `token`, `x509`, `kerberos`, `s3`, `unix` some, with commas",
            order,
            |choice, text| {
                let names = text.split([',', ' ']).filter(|name| !name.is_empty());
                choice.order =
                    Some(names.map(str::parse).collect::<std::result::Result<_, _>>().ok()?);
                Some(())
            },
        ),
        "The kinds of credentials that may be used, in this order, in place of the server's order and `XrdSecPROTOCOL`.",
    ),
];

const FILE: &str = "an absolute path, or one that begins with `~/`";

fn path_shown(path: Option<&Path>) -> String {
    path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

fn token_file(choice: &Choice) -> String {
    match &choice.token {
        Some(TokenFrom::File(path)) => path_shown(Some(path)),
        Some(TokenFrom::Secret(_)) | None => String::new(),
    }
}

fn order(choice: &Choice) -> String {
    let names = choice.order.iter().flatten().map(|kind| kind.name());
    names.collect::<Vec<_>>().join(",")
}

impl Setting {
    /// The setting of a name, as Python spells it.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that none has, with the nearest.
    pub fn named(name: &str) -> Result<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.name == name).ok_or_else(|| {
            let error =
                Error::new(ErrorKind::InvalidArgument, format!("there is no setting {name:?}"));
            error.with_advice(match nearest(name, SETTINGS.iter().map(|setting| setting.name)) {
                Some(near) => format!("did you mean {near}?"),
                None => "docs/settings.md lists them".to_owned(),
            })
        })
    }

    /// The environment variable.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.to_uppercase())
    }

    /// The type of its value.
    pub fn kind(&self) -> Kind {
        match self.field {
            Field::Bytes(..) => Kind::Bytes,
            Field::Count(..) | Field::Threads(..) => Kind::Count,
            Field::Seconds(..) => Kind::Seconds,
            Field::Switch(_) => Kind::Switch,
            Field::Checksums(_) | Field::Word(..) | Field::Hosts(_) | Field::Credential(..) => {
                Kind::Text
            }
            Field::Folder(_) | Field::Folders(_) => Kind::Folder,
        }
    }

    /// Whether it takes several values, with colons between them.
    pub fn is_list(&self) -> bool {
        matches!(self.field, Field::Folders(_))
    }

    /// Its value in a configuration.
    pub fn get(&self, config: &Config) -> Value {
        let mut config = config.clone();
        match self.field {
            Field::Bytes(at, _) => Value::Number(*at(&mut config)),
            Field::Count(at, ..) => Value::Number(u64::from(*at(&mut config))),
            Field::Threads(at, ..) => Value::Number(*at(&mut config) as u64),
            Field::Seconds(at, _) => Value::Seconds(at(&mut config).as_secs_f64()),
            Field::Switch(at) => Value::Switch(*at(&mut config)),
            Field::Checksums(at) => Value::Text(at(&mut config).name().to_owned()),
            Field::Word(_, get, _) => Value::Text(get(&config)),
            Field::Hosts(at) => Value::Text(at(&mut config).join(",")),
            Field::Folder(at) => Value::Folder(at(&mut config).clone()),
            Field::Folders(at) => {
                let (first, more) = at(&mut config);
                let all: Vec<&OsStr> =
                    first.iter().chain(more.iter()).map(|path| path.as_os_str()).collect();
                Value::Folder((!all.is_empty()).then(|| all.join(OsStr::new(":")).into()))
            }
            Field::Credential(_, get, _) => Value::Text(get(config.credential_store.choice())),
        }
    }

    /// # Errors
    /// `InvalidArgument` for a value that is not of its kind or beyond its limits.
    pub fn set(&self, config: &mut Config, value: Value) -> Result<()> {
        let wrong = || self.wrong(&shown(&value));
        match (self.field, &value) {
            (Field::Bytes(at, least), Value::Number(bytes)) if *bytes >= least => {
                *at(config) = *bytes
            }
            (Field::Count(at, least, most), Value::Number(number)) => {
                *at(config) = within(*number, least, most).ok_or_else(wrong)?;
            }
            (Field::Threads(at, least, most), Value::Number(number)) => {
                *at(config) = within(*number, least, most).ok_or_else(wrong)? as usize;
            }
            (Field::Seconds(at, least), Value::Seconds(seconds)) => {
                let time = Duration::try_from_secs_f64(*seconds).map_err(|_| wrong())?;
                if time > DAY || time < Duration::from_millis(least) {
                    return Err(wrong());
                }
                *at(config) = time;
            }
            (Field::Switch(at), Value::Switch(is_on)) => *at(config) = *is_on,
            (Field::Checksums(at), Value::Text(name)) => {
                *at(config) = Checksums::named(name).ok_or_else(wrong)?;
            }
            (Field::Word(_, _, put), Value::Text(text)) => put(config, text).ok_or_else(wrong)?,
            (Field::Hosts(at), Value::Text(text)) => *at(config) = hosts(text).ok_or_else(wrong)?,
            (Field::Folder(at), Value::Folder(Some(path))) => {
                *at(config) = Some(whole(path).ok_or_else(wrong)?);
            }
            (Field::Folders(at), Value::Folder(Some(paths))) => {
                let mut paths = folders(paths).ok_or_else(wrong)?.into_iter();
                let (first, more) = at(config);
                *first = paths.next();
                *more = paths.collect();
            }
            (Field::Credential(_, _, put), Value::Text(text))
                if !text.is_empty() && !text.contains(char::is_control) =>
            {
                let mut choice = config.credential_store.choice().clone();
                put(&mut choice, text).ok_or_else(wrong)?;
                config.credential_store = config.credential_store.with(choice);
            }
            _ => return Err(wrong()),
        }
        if self.name == CONNECTIONS {
            config.connections_initial = LinkModel::USUAL.connections.min(config.connections_max);
            config.connections_for_requests_max = config.connections_max;
        }
        Ok(())
    }

    /// Sets a value as a person writes it: `2 GB`, `0.5`, `off`.
    ///
    /// # Errors
    /// As [`Setting::set`].
    pub fn set_text(&self, config: &mut Config, text: &str) -> Result<()> {
        let text = text.trim();
        let value = match self.kind() {
            Kind::Bytes => parse_bytes(text).ok().map(Value::Number),
            Kind::Count => text.parse().ok().map(Value::Number),
            Kind::Seconds => {
                text.strip_suffix('s').unwrap_or(text).trim_end().parse().ok().map(Value::Seconds)
            }
            Kind::Switch => switch(text).map(Value::Switch),
            Kind::Text => Some(Value::Text(text.to_owned())),
            Kind::Folder => Some(Value::Folder(Some(text.into()))),
        };
        self.set(config, value.ok_or_else(|| self.wrong(&format!("{text:?}")))?)
    }

    /// Its values, in words.
    pub fn takes(&self) -> String {
        let seconds = |least: u64| format!("seconds, {} to {}", least as f64 / 1e3, DAY.as_secs());
        match self.field {
            Field::Bytes(_, 0) => "bytes, as `4096` or `100 MB`".to_owned(),
            Field::Bytes(_, least) => {
                format!("bytes, as `500 MB` or `2 GiB`; {} at least", size(least))
            }
            Field::Count(_, least, most) | Field::Threads(_, least, most) => {
                format!("{least} to {most}")
            }
            Field::Seconds(_, least) => seconds(least),
            Field::Switch(_) => "`1` or `0`, `on` or `off`".to_owned(),
            Field::Checksums(_) => "`auto`, `always` or `never`".to_owned(),
            Field::Word(takes, ..) => takes.to_owned(),
            Field::Hosts(_) => "names of hosts, with commas".to_owned(),
            Field::Credential(takes, ..) => takes.to_owned(),
            Field::Folder(_) => "an absolute path, or one that begins with `~/`".to_owned(),
            Field::Folders(_) => {
                "absolute paths, or such that begin with `~/`, with `:` between them".to_owned()
            }
        }
    }

    /// The error for a value that the setting does not take.
    pub fn wrong(&self, value: &str) -> Error {
        let text = format!("{}={value}: it takes {}", self.name, self.takes().replace('`', ""));
        Error::new(ErrorKind::InvalidArgument, text)
    }

    /// The default as the documentation shows it.
    fn default_shown(&self) -> String {
        match (self.name, self.get(&Config::default())) {
            ("decode_threads", _) => "one per core".to_owned(),
            ("store_folder" | "cache_folder", _) => {
                "`farroot` in the platform's cache folder".to_owned()
            }
            _ if matches!(self.field, Field::Credential(..)) => "found automatically".to_owned(),
            _ if matches!(self.field, Field::Hosts(_)) => "none".to_owned(),
            (_, Value::Number(bytes)) if bytes > 0 && bytes % (1 << 30) == 0 => {
                format!("`{} GiB`", bytes >> 30)
            }
            (_, Value::Number(bytes)) if self.kind() == Kind::Bytes => format!("`{}`", size(bytes)),
            (_, value) => format!("`{}`", shown(&value).trim_matches('"')),
        }
    }
}

/// The settings as rows of a table in Markdown.
pub fn table() -> String {
    let mut rows = String::from(
        "| setting | variable | values | default | later | meaning |\n|---|---|---|---|---|---|\n",
    );
    for setting in &SETTINGS {
        rows.push_str(&format!(
            "| `{}` | `{}` | {} | {} | {} | {} |\n",
            setting.name,
            setting.variable(),
            setting.takes(),
            setting.default_shown(),
            if setting.is_live { "yes" } else { "no" },
            setting.effect,
        ));
    }
    rows
}

/// Changes `config` by variables; those that are empty count as not set.
///
/// # Errors
/// `InvalidArgument` naming the variable that cannot be understood.
pub(crate) fn apply(
    config: &mut Config,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<()> {
    for (name, value) in variables {
        let Some(setting) = SETTINGS.iter().find(|setting| name == setting.variable().as_str())
        else {
            continue;
        };
        let set = match (setting.kind(), value.to_str()) {
            (_, Some(text)) if text.trim().is_empty() => continue,
            // A path need not be text.
            (Kind::Folder, _) => setting.set(config, Value::Folder(Some(value.into()))),
            (_, Some(text)) => setting.set_text(config, text),
            (_, None) => Err(setting.wrong("what is no text")),
        };
        set.map_err(|error| {
            let text = error.message().replacen(setting.name, &setting.variable(), 1);
            Error::new(ErrorKind::InvalidArgument, text)
        })?;
    }
    Ok(())
}

/// A warning for each `FARROOT_*` variable that is no setting, with the nearest one.
pub fn misspelt(names: impl Iterator<Item = OsString>) -> Vec<String> {
    let names = names.filter_map(|name| name.into_string().ok());
    let mut unknown: Vec<String> = names
        .filter(|name| name.starts_with(PREFIX) && !OTHERS.contains(&name.as_str()))
        .filter(|name| SETTINGS.iter().all(|setting| setting.variable() != *name))
        .collect();
    unknown.sort();
    let variables: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let warning = |name: String| match nearest(&name, variables.iter().map(String::as_str)) {
        Some(near) => format!("the variable {name} is no setting; did you mean {near}?"),
        None => format!("the variable {name} is no setting, and changes nothing"),
    };
    unknown.into_iter().map(warning).collect()
}

fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = names.map(|other| (levenshtein(other, name), other)).min()?;
    (near.0 <= 3).then_some(near.1)
}

fn within(number: u64, least: u32, most: u32) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| (least..=most).contains(number))
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Without ports and schemes: those would be taken for parts of a name, which no host has.
fn hosts(text: &str) -> Option<Vec<String>> {
    let names = text.split([',', ' ']).filter(|name| !name.is_empty());
    let is_host = |name: &str| {
        let bare = name.strip_prefix('.').unwrap_or(name);
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        !bare.is_empty() && !bare.starts_with('.') && bare.chars().all(is_part)
    };
    names.map(|name| is_host(name).then(|| name.to_ascii_lowercase())).collect()
}

/// A path from the root on; one that depends on where a program starts is none.
fn whole(path: &Path) -> Option<PathBuf> {
    let path = expanded(path);
    path.is_absolute().then_some(path)
}

/// Paths with colons between them: each begins with a slash or `~`.
fn folders(paths: &Path) -> Option<Vec<PathBuf>> {
    let mut folders: Vec<OsString> = Vec::new();
    for part in paths.as_os_str().as_bytes().split(|byte| *byte == b':') {
        let part = OsStr::from_bytes(part);
        match folders.last_mut() {
            Some(last)
                if !part.as_bytes().starts_with(b"/") && !part.as_bytes().starts_with(b"~") =>
            {
                last.push(":");
                last.push(part);
            }
            _ => folders.push(part.to_owned()),
        }
    }
    folders.iter().map(|folder| whole(Path::new(folder))).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Seconds(seconds) => seconds.to_string(),
        Value::Switch(is_on) => u8::from(*is_on).to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Folder(path) => format!("{:?}", path.as_deref().unwrap_or(Path::new(""))),
    }
}

#[cfg(test)]
mod tests;
