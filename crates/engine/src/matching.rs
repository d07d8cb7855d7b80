//! Files by pattern: `root://host//store/run*/nano_{1,2}.root`.

use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use glob::{MatchOptions, Pattern};
use url::Url;

use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::home::expanded;
use crate::source::network::Network;
use crate::source::question;

/// Directories that are listed at a time.
const LISTINGS_MAX: usize = 16;
/// What the alternatives of a pattern may multiply to.
const CHOICES_MAX: usize = 10_000;

const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The files that a pattern names, by name: with `*`, `?`, `[]` and `{a,b}`, on a local disk also
/// `**`. What is no pattern, or is itself a file, stands for itself. In the address of a server `?`
/// begins the query, and only directories of XRootD servers can be listed.
pub(crate) async fn matching(
    pattern: &str,
    config: &Config,
    network: &Arc<dyn Network>,
) -> Result<Vec<String>> {
    let remote = pattern.contains("://") && !pattern.starts_with("file://");
    let written = pattern;
    let at_home = expanded(Path::new(pattern));
    let pattern = match remote {
        true => pattern,
        false => at_home.to_str().unwrap_or(pattern),
    };
    let letters: &[char] = if remote { &['*', '[', '{'] } else { &['*', '?', '[', '{'] };
    if !has_pattern(pattern, remote, letters) {
        return Ok(vec![written.to_owned()]);
    }
    let mut found = Vec::new();
    for choice in choices(pattern)? {
        if remote {
            found.extend(on_server(&choice, config, network).await?);
        } else {
            found.extend(on_disk(&choice)?);
        }
    }
    Ok(found)
}

/// The host of an address may be `[::1]`.
fn has_pattern(text: &str, remote: bool, letters: &[char]) -> bool {
    let path = if remote { split_address(text).1 } else { text };
    path.contains(letters) && (remote || !std::path::Path::new(text).exists())
}

/// Scheme and host; path; query.
fn split_address(address: &str) -> (&str, &str, &str) {
    let host = address.find("://").map_or(0, |at| at + 3);
    let path = address[host..].find('/').map_or(address.len(), |at| host + at);
    let query = address[path..].find('?').map_or(address.len(), |at| path + at);
    (&address[..path], &address[path..query], &address[query..])
}

/// What `{a,b}` stands for, in turn.
fn choices(pattern: &str) -> Result<Vec<String>> {
    let mut made = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{')
        && let Some((inside, behind)) = after.split_once('}')
    {
        let ends: Vec<&str> = inside.split(',').collect();
        if made.len().saturating_mul(ends.len()) > CHOICES_MAX {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("more than {CHOICES_MAX} alternatives"),
            )
            .with_url(pattern));
        }
        let longer = |start: &String| {
            ends.iter().map(|end| format!("{start}{before}{end}")).collect::<Vec<_>>()
        };
        made = made.iter().flat_map(longer).collect();
        rest = behind;
    }
    made.iter_mut().for_each(|start| start.push_str(rest));
    Ok(made)
}

fn invalid(pattern: &str, why: &glob::PatternError) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("not a pattern: {why}")).with_url(pattern)
}

fn on_disk(pattern: &str) -> Result<Vec<String>> {
    let paths = glob::glob_with(pattern, OPTIONS).map_err(|why| invalid(pattern, &why))?;
    // A directory that may not be read holds nothing for us, as in a shell.
    let name = |path: std::path::PathBuf| path.into_os_string().into_string().ok();
    Ok(paths.filter_map(|path| name(path.ok()?)).collect())
}

async fn on_server(
    pattern: &str,
    config: &Config,
    network: &Arc<dyn Network>,
) -> Result<Vec<String>> {
    let (host, path, query) = split_address(pattern);
    let parts: Vec<&str> = path.split('/').collect();
    let literal = parts.iter().take_while(|part| !part.contains(['*', '['])).count();
    let mut paths = vec![parts[..literal].join("/")];
    for part in &parts[literal..] {
        let wanted = Pattern::new(part).map_err(|why| invalid(pattern, &why))?;
        let listings = paths.iter().map(|directory| {
            let (directory, wanted) = (directory.clone(), wanted.clone());
            async move {
                let address = format!("{host}{directory}/{query}");
                let url = Url::parse(&address).map_err(|why| {
                    Error::new(ErrorKind::InvalidArgument, why.to_string()).with_url(&*address)
                })?;
                let mut names = match question::list(&url, config, network.clone()).await {
                    // Among what a pattern matches may be files.
                    Err(error) if is_no_directory(&error) => Vec::new(),
                    names => names?,
                };
                names.retain(|name| wanted.matches_with(name, OPTIONS));
                names.sort_unstable();
                let whole = |name| format!("{directory}/{name}");
                Ok::<_, Error>(names.into_iter().map(whole).collect::<Vec<_>>())
            }
        });
        let found: Vec<Vec<String>> =
            stream::iter(listings.collect::<Vec<_>>()).buffered(LISTINGS_MAX).try_collect().await?;
        paths = found.into_iter().flatten().collect();
    }
    Ok(paths.into_iter().map(|path| format!("{host}{path}{query}")).collect())
}

fn is_no_directory(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidArgument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_tried_in_their_order() {
        assert_eq!(choices("a{1,2}b{x,y}").unwrap(), ["a1bx", "a1by", "a2bx", "a2by"]);
        assert_eq!(choices("a").unwrap(), ["a"]);
        assert_eq!(choices("a{b").unwrap(), ["a{b"]);
        assert!(choices(&"{a,b,c,d,e,f,g,h,i,j}".repeat(5)).is_err());
    }

    #[test]
    fn a_pattern_is_in_the_path() {
        let letters = ['*', '[', '{'];
        assert!(!has_pattern("http://[::1]:80/f.root?a=*", true, &letters));
        assert!(has_pattern("root://[::1]//a/*.root", true, &letters));
    }
}
