//! Files by pattern: `root://host//store/run*/nano_{1,2}.root`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use glob::{MatchOptions, Pattern};

use crate::address::Address;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::home::expanded;
use crate::source::network::Network;
use crate::source::one_shot;

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
/// begins the query, and only XRootD servers and S3 list what they have.
pub(crate) async fn matching(
    pattern: &str,
    config: &Config,
    network: &Arc<dyn Network>,
) -> Result<Vec<String>> {
    let scheme = pattern.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if scheme.is_none_or(|scheme| scheme == "file") {
        return on_disk(pattern);
    }
    // The host of an address may be `[::1]`.
    if !split_address(pattern).1.contains(['*', '[', '{']) {
        return Ok(vec![pattern.to_owned()]);
    }
    let mut found = Vec::new();
    for choice in choices(pattern)? {
        found.extend(on_server(&choice, config, network).await?);
    }
    Ok(found)
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
    let address = Address::parse(pattern)?;
    let is_url = pattern.contains("://");
    let path = match address.to_local().filter(|_| is_url) {
        Some(path) => as_text(path.to_owned())?,
        None => as_text(expanded(Path::new(pattern)))?,
    };
    if !path.contains(['*', '?', '[', '{']) || Path::new(&path).exists() {
        return Ok(vec![pattern.to_owned()]);
    }
    let mut found = Vec::new();
    for choice in choices(&path)? {
        found.extend(on_disk_one(&choice, pattern)?);
    }
    Ok(found)
}

/// As `glob::glob` does it, which panics where a name beside is not UTF-8.
fn on_disk_one(choice: &str, pattern: &str) -> Result<Vec<String>> {
    let start = if choice.starts_with('/') { "/" } else { "" };
    let mut found = vec![PathBuf::from(start)];
    for part in choice.trim_start_matches('/').split('/') {
        let mut next = Vec::new();
        match part {
            "**" => found.iter().for_each(|folder| add_folders(folder, &mut next)),
            _ if !part.contains(['*', '?', '[']) => {
                next.extend(found.iter().map(|folder| folder.join(part)));
            }
            _ => {
                let wanted = Pattern::new(part).map_err(|why| invalid(pattern, &why))?;
                for folder in &found {
                    let names = names_in(folder);
                    let is_wanted =
                        |name: &&OsString| wanted.matches_with(&name.to_string_lossy(), OPTIONS);
                    next.extend(names.iter().filter(is_wanted).map(|name| folder.join(name)));
                }
            }
        }
        found = next;
    }
    found.retain(|path| path.symlink_metadata().is_ok());
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(as_text).collect()
}

/// The names in a directory. One that may not be read holds nothing for us, as in a shell.
fn names_in(folder: &Path) -> Vec<OsString> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// A directory and all below it, but for hidden ones and those behind links, which may lead back.
fn add_folders(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for name in names_in(&folder) {
            let path = folder.join(&name);
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            if !is_hidden && path.symlink_metadata().is_ok_and(|there| there.is_dir()) {
                left.push(path);
            }
        }
        found.push(folder);
    }
}

/// A file that is left out is not to go unnoticed.
fn as_text(path: PathBuf) -> Result<String> {
    path.into_os_string().into_string().map_err(|path| {
        let what = "among the files that the pattern matches is one whose name is not UTF-8";
        Error::new(ErrorKind::Unsupported, what)
            .with_url(path.to_string_lossy())
            .with_advice("give the file another name")
    })
}

async fn on_server(
    pattern: &str,
    config: &Config,
    network: &Arc<dyn Network>,
) -> Result<Vec<String>> {
    let (host, path, query) = split_address(pattern);
    let parts: Vec<&str> = path.split('/').collect();
    let literal = parts.iter().take_while(|part| !part.contains(['*', '['])).count();
    // An alternative may be a name as it is.
    if literal == parts.len() {
        return Ok(vec![pattern.to_owned()]);
    }
    let start = format!("{host}{}/{query}", parts[..literal].join("/"));
    let mut found = vec![Address::parse(&start)?];
    for part in &parts[literal..] {
        let wanted = Pattern::new(part).map_err(|why| invalid(pattern, &why))?;
        let listings = found.iter().map(|directory| {
            let (directory, wanted) = (directory.clone(), wanted.clone());
            async move {
                let mut names =
                    match one_shot::list(&directory, false, config, network.clone()).await {
                        // Among what a pattern matches may be files.
                        Err(error) if is_no_directory(&error) => Vec::new(),
                        listed => listed?.into_iter().map(|entry| entry.name).collect(),
                    };
                // No name leads out of its directory.
                names.retain(|name| !matches!(&**name, "." | "..") && !name.contains('/'));
                names.retain(|name| wanted.matches_with(name, OPTIONS));
                names.sort_unstable();
                names.iter().map(|name| directory.child(name)).collect::<Result<Vec<_>>>()
            }
        });
        let listed: Vec<Vec<Address>> =
            stream::iter(listings.collect::<Vec<_>>()).buffered(LISTINGS_MAX).try_collect().await?;
        found = listed.into_iter().flatten().collect();
    }
    Ok(found.iter().map(|address| address.as_str().to_owned()).collect())
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
        assert!(!split_address("http://[::1]:80/f.root?a=*").1.contains('*'));
        assert_eq!(split_address("root://[::1]//a/*.root").1, "//a/*.root");
    }

    /// Names that mean something in a URL were looked for under another name.
    #[test]
    fn odd_names_on_a_disk_are_found_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["100%.root", "a b.root", "a#b.root", "a%20b.root", "a?b.root", "a[1].root"];
        names.iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let expected = names.map(path).to_vec();
        assert_eq!(on_disk(&path("*.root")).unwrap(), expected);
        assert_eq!(on_disk(&format!("file://{}", path("*.root"))).unwrap(), expected);
        assert_eq!(on_disk(&path("a[1].root")).unwrap(), [path("a[1].root")]);
        assert_eq!(on_disk("file:///a%20b").unwrap(), ["file:///a%20b"]);
    }

    /// It made the look-up panic, wherever it lay beside what was looked for.
    #[test]
    fn a_name_that_is_no_text_is_an_error_where_it_matches() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let name = std::ffi::OsStr::from_bytes(b"\xe9.root");
        std::fs::write(folder.path().join(name), "").unwrap();
        let matching = |end| on_disk(folder.path().join(end).to_str().unwrap());
        assert_eq!(matching("*.root").unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(matching("*.txt").unwrap().is_empty());
    }

    #[test]
    fn directories_are_gone_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for name in ["a/1.root", "a/b/2.root", "c/3.root", ".d/4.root", "a/.5.root"] {
            std::fs::create_dir_all(Path::new(&path(name)).parent().unwrap()).unwrap();
            std::fs::write(path(name), "").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), path("c/loop")).unwrap();
        for (pattern, found) in [
            ("**/*.root", &["a/1.root", "a/b/2.root", "c/3.root"][..]),
            ("*/*.root", &["a/1.root", "c/3.root"]),
            ("*/b/*.root", &["a/b/2.root"]),
            ("{c,a}/?.root", &["c/3.root", "a/1.root"]),
            ("[a-b]/**", &["a", "a/b"]),
            (".d/*", &[".d/4.root"]),
            ("a/.*", &["a/.5.root"]),
            ("x/*", &[]),
        ] {
            let found: Vec<String> = found.iter().map(|name| path(name)).collect();
            assert_eq!(on_disk(&path(pattern)).unwrap(), found, "{pattern}");
        }
    }
}
