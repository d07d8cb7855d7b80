//! Files by pattern: `root://host//store/run*/nano_{1,2}.root`. One walk goes through directories
//! of disks and of servers, so that a pattern means the same wherever files lie.

mod places;
mod walk;

use std::path::Path;
use std::sync::Arc;

use glob::{MatchOptions, Pattern};

pub use self::places::is_no_directory;

use self::places::MatchedPlace;
use self::walk::{PatternStep, Walk};
use crate::address::Address;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::home::expanded;
use crate::source::network::Network;

/// Alternatives that one pattern may multiply to.
const CHOICES_MAX: usize = 10_000;
const SPECIAL: [char; 3] = ['*', '?', '['];

const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The files that a pattern names, by name: with `*`, `?`, `[]`, `{a,b}`, and `**` for any number
/// of directories. An address that is no pattern, an alternative that is none, and the name of a
/// file on a disk stand for themselves. In the address of a server `?` begins the query, and not
/// every server lists its directories.
pub(crate) async fn matching(
    pattern: &str,
    config: &Config,
    network: &Arc<dyn Network>,
) -> Result<Vec<String>> {
    let scheme = pattern.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let walk = Walk::new(pattern, config, network);
    if scheme.is_none_or(|scheme| scheme == "file") {
        return on_disk(pattern, walk).await;
    }
    // The host of an address may be `[::1]`.
    if !split_address(pattern).1.contains(['*', '[', '{']) {
        return Ok(vec![pattern.to_owned()]);
    }
    let mut found = Vec::new();
    for choice in choices(pattern)? {
        found.extend(on_server(&choice, &walk).await?);
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

/// Patterns without alternatives that one with `{a,b}` stands for, in turn. `globset` has braces,
/// but matches whole paths: it cannot name the directories to list, or return an alternative that
/// is no pattern as it is. Its `*` matches hidden files, and it refuses a brace that stays open.
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

/// The steps that a part of a path stands for, one for each directory or name in it.
fn steps<'a>(pattern: &str, parts: impl Iterator<Item = &'a str>) -> Result<Vec<PatternStep>> {
    let invalid = |why: glob::PatternError| {
        let error = Error::new(ErrorKind::InvalidArgument, format!("not a pattern: {why}"));
        error.with_url(pattern)
    };
    let step = |part: &str| match part {
        "**" => Ok(PatternStep::AnyDepth),
        _ if part.contains(SPECIAL) => Pattern::new(part).map(PatternStep::Like).map_err(invalid),
        _ => Ok(PatternStep::Name(part.to_owned())),
    };
    parts.map(step).collect()
}

async fn on_disk(pattern: &str, walk: Walk<'_>) -> Result<Vec<String>> {
    let address = Address::parse(pattern)?;
    let is_url = pattern.contains("://");
    let path = match address.to_local().filter(|_| is_url) {
        Some(path) => path.to_owned(),
        None => expanded(Path::new(pattern)),
    };
    let path = places::as_text(&path)?;
    let is_pattern = path.contains(SPECIAL) || path.contains('{');
    if !is_pattern || Path::new(&path).exists() {
        return Ok(vec![pattern.to_owned()]);
    }
    let mut found = Vec::new();
    for choice in choices(&path)? {
        // An alternative may be a name as it is: if no such file is there, the read of it fails.
        if !choice.contains(SPECIAL) {
            found.push(choice);
            continue;
        }
        let start = if choice.starts_with('/') { "/" } else { "" };
        let parts = choice.trim_start_matches('/').split('/');
        found.extend(walk.go(MatchedPlace::Disk(start.into()), &steps(pattern, parts)?).await?);
    }
    Ok(found)
}

async fn on_server(pattern: &str, walk: &Walk<'_>) -> Result<Vec<String>> {
    let (host, path, query) = split_address(pattern);
    let parts: Vec<&str> = path.split('/').collect();
    let literal = parts.iter().take_while(|part| !part.contains(['*', '['])).count();
    // An alternative may be a name as it is.
    if literal == parts.len() {
        return Ok(vec![pattern.to_owned()]);
    }
    let start = format!("{host}{}/{query}", parts[..literal].join("/"));
    let start = MatchedPlace::Far(Address::parse(&start)?);
    let behind = parts[literal..].iter().map(|part| start.name_in_path(part)).collect::<Vec<_>>();
    walk.go(start, &steps(pattern, behind.iter().map(|part| &**part))?).await
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;

    use super::*;

    struct NoNetwork;

    impl Network for NoNetwork {
        fn connect(
            &self,
            _: &str,
            _: u16,
        ) -> BoxFuture<'static, std::io::Result<Box<dyn crate::source::network::Stream>>> {
            Box::pin(async { Err(std::io::ErrorKind::Unsupported.into()) })
        }
    }

    fn on_disk(pattern: &str) -> Result<Vec<String>> {
        let network: Arc<dyn Network> = Arc::new(NoNetwork);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(matching(pattern, &Config::default(), &network))
    }

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

    /// Such a name made the search panic, wherever it lay beside the matches.
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
            ("*/**", &["a", "a/b", "c"]),
            ("**/b/**/*.root", &["a/b/2.root"]),
            ("a/**/**/*.root", &["a/1.root", "a/b/2.root"]),
            ("*/1.root/*", &[]),
            ("*/b/", &["a/b/"]),
            ("{a,x}/1.root", &["a/1.root", "x/1.root"]),
        ] {
            let found: Vec<String> = found.iter().map(|name| path(name)).collect();
            assert_eq!(on_disk(&path(pattern)).unwrap(), found, "{pattern}");
        }
    }
}
