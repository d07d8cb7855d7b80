//! `pelican://federation/path` and `osdf:///path`: a file that a federation's director knows
//! caches of.

use url::Url;

use super::{Address, Target, no_url, wrong};
use crate::error::Result;

/// The federation of `osdf://`: the Open Science Data Federation.
const OSDF: &str = "osg-htc.org";

/// The file, as if the federation served it by https.
pub(super) fn parse(text: &str, scheme: &str, rest: &str) -> Result<Url> {
    let url = match (scheme, rest.split_once('/')) {
        ("osdf", Some(("", path))) => format!("https://{OSDF}/{path}"),
        // As Pelican's own client reads it: there is one federation, and no host to name.
        ("osdf", _) => format!("https://{OSDF}/{rest}"),
        (_, Some(("", path))) => {
            let (host, path) = path.split_once('/').unwrap_or((path, ""));
            let meant = if host.is_empty() { "pelican://federation/path" } else { "" };
            let meant =
                if meant.is_empty() { format!("pelican://{host}/{path}") } else { meant.into() };
            let error = wrong(text, "no federation is named");
            return Err(error.with_advice(format!("write {meant}, or osdf:///path for the OSDF")));
        }
        _ => format!("https://{rest}"),
    };
    let url = Url::parse(&url).map_err(|error| no_url(text, error))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(text, "an address of a federation has no user and no password")
            .with_advice("a token is found where the tools of the field leave it: BEARER_TOKEN"));
    }
    Ok(url)
}

impl Address {
    pub(super) fn pelican(url: Url) -> Self {
        let text = format!("pelican{}", url.as_str().trim_start_matches("https"));
        Address::of(text, Target::Pelican(url))
    }

    /// The address in a federation, as if the federation served it by https.
    pub fn to_pelican(&self) -> Option<&Url> {
        match &self.target {
            Target::Pelican(url) => Some(url),
            _ => None,
        }
    }
}
