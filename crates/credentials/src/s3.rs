//! Keys of S3: from the environment and the files of Amazon's tools. farroot sends no request to a
//! cloud's metadata service: it does not answer elsewhere, and then all hangs.

use std::path::PathBuf;

use secrecy::SecretString;
use zeroize::Zeroizing;

use crate::files::{self, Access};
use crate::{Choice, Environment, Kind, Place, Reason, Unusable};

/// An access key of S3.
#[derive(Debug, Clone)]
pub struct S3Keys {
    /// Its name, which is not secret.
    pub access_key: String,
    /// The secret with which requests are signed.
    pub secret_key: SecretString,
    /// The token of a key for a limited time.
    pub session_token: Option<SecretString>,
    /// Where they were found.
    pub place: Place,
    /// The permissions of the file.
    pub mode: Option<u32>,
}

impl S3Keys {
    /// The end of the access key's name, by which its user knows it, and no more: users copy it
    /// into mails and tickets.
    pub fn shown_name(&self) -> String {
        let letters = self.access_key.chars().count();
        let hidden = letters.saturating_sub(4).max(letters.min(4));
        format!("****{}", self.access_key.chars().skip(hidden).collect::<String>())
    }
}

/// Where S3 is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct S3Settings {
    /// The region, if one is named.
    pub region: Option<String>,
    /// The address of the service, if it is not Amazon's.
    pub endpoint: Option<String>,
    /// Whether the bucket is in the path (`true`) or in the name of the host (`false`), where the
    /// environment or the profile chooses.
    pub path_style: Option<bool>,
}

/// The variables with keys: of Amazon, and of ROOT.
pub(crate) const VARIABLES: [[&str; 3]; 2] = [
    ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
    ["S3_ACCESS_KEY", "S3_SECRET_KEY", "S3_SESSION_TOKEN"],
];

/// The keys; `None` where no place has any.
pub(crate) fn keys(environment: &Environment, choice: &Choice) -> Result<Option<S3Keys>, Unusable> {
    // As in Amazon's tools: a profile that the caller names goes before the environment, one that
    // the environment names does not.
    if choice.s3_profile.is_none() {
        for variables in VARIABLES {
            if let Some(keys) = of_variables(environment, variables)? {
                return Ok(Some(keys));
            }
        }
    }
    Profile::load(environment, choice)?.keys()
}

/// Where S3 is.
pub(crate) fn settings(environment: &Environment, choice: &Choice) -> Result<S3Settings, Unusable> {
    let profile = Profile::load(environment, choice)?;
    let variable = |names: &[&str]| {
        names.iter().find_map(|name| environment.variable(name)).map(str::to_owned)
    };
    let named = |name: &str| profile.value(name).map(|(value, ..)| value.to_string());
    let own = choice.s3_profile.is_some();
    let region = variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
    let endpoint = variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
    let of_profile = profile.service_value("s3.endpoint_url");
    let of_profile = of_profile.or_else(|| named("s3.endpoint_url"));
    let of_profile = of_profile.or_else(|| named("endpoint_url"));
    let first = |environment: Option<String>, profile: Option<String>| match own {
        true => profile.or(environment),
        false => environment.or(profile),
    };
    Ok(S3Settings {
        region: first(region, named("region")),
        endpoint: first(endpoint, of_profile),
        path_style: match named("s3.addressing_style").as_deref() {
            Some("path") => Some(true),
            Some("virtual") => Some(false),
            _ => None,
        },
    })
}

fn of_variables(
    environment: &Environment,
    [access, secret, session]: [&'static str; 3],
) -> Result<Option<S3Keys>, Unusable> {
    let value = |name| environment.variable(name).map(str::trim);
    let fail = |present, lacking| {
        let place = Place::Variable(present);
        let reason = Reason::Incomplete(lacking);
        Err(Unusable { kind: Kind::S3, name: "the access key", place, reason })
    };
    match (value(access), value(secret)) {
        (None, None) => Ok(None),
        (Some(_), None) => fail(access, secret),
        (None, Some(_)) => fail(secret, access),
        (Some(name), Some(key)) => Ok(Some(S3Keys {
            access_key: name.to_owned(),
            secret_key: key.into(),
            session_token: value(session).map(SecretString::from),
            place: Place::Variable(access),
            mode: None,
        })),
    }
}

/// One profile of the two files of Amazon's tools.
struct Profile {
    name: String,
    /// Whether the caller or a variable named it.
    named: bool,
    files: Vec<Loaded>,
}

struct Loaded {
    path: PathBuf,
    mode: u32,
    /// The name of the profile in this file.
    section: String,
    found: bool,
    values: Vec<(String, Zeroizing<String>)>,
    /// Of the section of `services` that the profile names.
    services: Vec<(String, Zeroizing<String>)>,
}

impl Profile {
    fn load(environment: &Environment, choice: &Choice) -> Result<Self, Unusable> {
        let variable = |name| environment.variable(name);
        let named = choice.s3_profile.as_deref();
        let named = named.or_else(|| variable("AWS_PROFILE"));
        let named = named.or_else(|| variable("AWS_DEFAULT_PROFILE"));
        let name = named.unwrap_or("default").to_owned();
        let in_config = match name.as_str() {
            "default" => name.clone(),
            name => format!("profile {name}"),
        };
        let mut files = Vec::new();
        for (variable, usual, section) in [
            ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name.clone()),
            ("AWS_CONFIG_FILE", "config", in_config),
        ] {
            let place = match (environment.variable(variable), &environment.home) {
                (Some(path), _) => Place::named(path, variable),
                (None, Some(home)) => Place::usual(home.join(".aws").join(usual)),
                (None, None) => continue,
            };
            files.extend(Loaded::read(environment.user_id, &place, section)?);
        }
        let profile = Profile { name, named: named.is_some(), files };
        if profile.named && !profile.files.iter().any(|file| file.found) {
            let place = match choice.s3_profile {
                Some(_) => Place::Argument,
                None => Place::Variable("AWS_PROFILE"),
            };
            let reason = Reason::Missing;
            return Err(Unusable { kind: Kind::S3, name: "the profile", place, reason });
        }
        Ok(profile)
    }

    fn value(&self, name: &str) -> Option<(&str, &Loaded)> {
        self.files.iter().find_map(|file| {
            let (_, value) = file.values.iter().find(|(known, _)| known == name)?;
            Some((value.as_str(), file))
        })
    }

    /// A value of the services that the profile names.
    fn service_value(&self, name: &str) -> Option<String> {
        let mut all = self.files.iter().flat_map(|file| &file.services);
        all.find(|(known, _)| known == name).map(|(_, value)| value.to_string())
    }

    fn keys(&self) -> Result<Option<S3Keys>, Unusable> {
        let fail = |file: &Loaded, reason| {
            let place = Place::Section(file.path.clone(), file.section.clone());
            Unusable { kind: Kind::S3, name: "the access key", place, reason }
        };
        let access = self.value("aws_access_key_id");
        let secret = self.value("aws_secret_access_key");
        let (name, secret, file) = match (access, secret) {
            (Some((name, _)), Some((secret, file))) => (name, secret, file),
            (Some((_, file)), None) => {
                return Err(fail(file, Reason::Incomplete("aws_secret_access_key")));
            }
            (None, Some((_, file))) => {
                return Err(fail(file, Reason::Incomplete("aws_access_key_id")));
            }
            (None, None) => return self.indirect().map_or(Ok(None), Err),
        };
        if file.mode & 0o077 != 0 {
            return Err(fail(file, Reason::Mode(file.mode)));
        }
        Ok(Some(S3Keys {
            access_key: name.to_owned(),
            secret_key: secret.into(),
            session_token: self.value("aws_session_token").map(|(token, _)| token.into()),
            place: Place::Section(file.path.clone(), file.section.clone()),
            mode: Some(file.mode),
        }))
    }

    /// Why a profile without keys has none.
    fn indirect(&self) -> Option<Unusable> {
        const WAYS: [&str; 5] =
            ["credential_process", "role_arn", "sso_session", "sso_start_url", "login_session"];
        let (how, file) = WAYS.iter().find_map(|way| Some((*way, self.value(way)?.1)))?;
        let place = Place::Section(file.path.clone(), self.name.clone());
        let reason = Reason::Indirect(how);
        Some(Unusable { kind: Kind::S3, name: "the profile", place, reason })
    }
}

impl Loaded {
    fn read(user: u32, place: &Place, section: String) -> Result<Option<Self>, Unusable> {
        let fail = |reason| {
            let place = place.clone();
            Unusable { kind: Kind::S3, name: "the file of profiles", place, reason }
        };
        let Some(path) = place.path() else { return Ok(None) };
        let Some((bytes, mode)) = files::read(path, user, Access::Open).map_err(fail)? else {
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| fail(Reason::Malformed("it is no text".to_owned())))?;
        let values = values(text, &section);
        let found = values.is_some();
        let values = values.unwrap_or_default();
        let named = values.iter().find(|(name, _)| name == "services");
        let named = named.map(|(_, name)| format!("services {}", name.as_str()));
        let services = named.and_then(|section| self::values(text, &section)).unwrap_or_default();
        Ok(Some(Loaded { path: path.to_owned(), mode, section, found, values, services }))
    }
}

/// The values of one section of a file of Amazon's tools; names of a nested part are `s3.name`.
/// `None` where the section is not there. Lines that are not understood are left out.
pub fn values(text: &str, section: &str) -> Option<Vec<(String, Zeroizing<String>)>> {
    let mut values: Option<Vec<(String, Zeroizing<String>)>> = None;
    let mut inside = false;
    let mut part = String::new();
    for line in text.lines() {
        let nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            let words: Vec<&str> = name.split_whitespace().collect();
            inside = words.join(" ") == section;
            part.clear();
            if inside {
                values.get_or_insert_default();
            }
            continue;
        }
        let (Some(values), true, Some((name, value))) =
            (values.as_mut(), inside, line.split_once('='))
        else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        // A comment after a value begins with a blank and its sign.
        let value = value.split(" #").next().and_then(|value| value.split(" ;").next());
        let value = value.unwrap_or_default().trim();
        match (nested && !part.is_empty(), value.is_empty()) {
            (true, _) => values.push((format!("{part}.{name}"), value.to_owned().into())),
            (false, true) => part = name,
            (false, false) => {
                part.clear();
                values.push((name, value.to_owned().into()));
            }
        }
    }
    values
}
