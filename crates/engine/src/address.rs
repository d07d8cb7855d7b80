//! Addresses as people write them: URLs, local paths, and `FILE:TREE`.

use url::Url;

use crate::checksum::Checksum;
use crate::error::{Error, ErrorKind, Result};
use crate::home::expanded;

/// What stands between several addresses of one file.
const SEPARATOR: char = '|';

/// Where a file is, at least one place, and what is known of it beforehand.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub urls: Vec<Url>,
    pub said: Said,
    /// Nobody looks into its bytes: they come with checksums where servers offer them.
    pub is_opaque: bool,
}

/// What somebody else says of a file: a source that has another one is not used.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// Bytes.
    pub size: Option<u64>,
    pub checksum: Option<Checksum>,
}

impl Places {
    /// What was said first counts.
    pub fn add(&mut self, more: Places) {
        self.urls.extend(more.urls);
        self.said.size = self.said.size.or(more.said.size);
        self.said.checksum = self.said.checksum.take().or(more.said.checksum);
    }
}

impl From<Vec<Url>> for Places {
    fn from(urls: Vec<Url>) -> Self {
        Places { urls, said: Said::default(), is_opaque: false }
    }
}

/// The URLs of a file, at least one: several addresses of the same file have a `|` between them.
///
/// # Errors
/// As [`parse_one`].
pub fn parse(address: &str) -> Result<Vec<Url>> {
    parts(address).into_iter().map(parse_one).collect()
}

/// One address of several of the same file.
pub fn join<'a>(addresses: impl Iterator<Item = &'a str>) -> String {
    addresses.collect::<Vec<_>>().join(&SEPARATOR.to_string())
}

/// A local path may contain the separator; what has a URL among its parts is none.
fn parts(address: &str) -> Vec<&str> {
    match address.contains("://") {
        true => address.split(SEPARATOR).collect(),
        false => vec![address],
    }
}

/// A file's address as a URL; anything without a scheme is a local path.
///
/// # Errors
/// `InvalidArgument` for what is neither.
pub fn parse_one(address: &str) -> Result<Url> {
    let wrong = |why: String| Error::new(ErrorKind::InvalidArgument, why).with_url(address);
    if address.contains("://") {
        return Url::parse(address).map_err(|e| wrong(format!("not an address: {e}")));
    }
    let path = expanded(std::path::Path::new(address));
    let path = std::path::absolute(path).map_err(|e| wrong(format!("not a path: {e}")))?;
    Url::from_file_path(path).map_err(|()| wrong("not a path".into()))
}

/// Splits `FILE:TREE` where there is a tree: at the last colon that is not part of a scheme, a
/// port or a drive, and after which no file of that name could follow.
///
/// `root://host:1094//f.root:dir/Events` gives `root://host:1094//f.root` and `dir/Events`. Of several
/// addresses of one file, the last one is followed by the tree.
pub fn split_tree(address: &str) -> (&str, Option<&str>) {
    let last = parts(address).last().map_or(0, |part| address.len() - part.len());
    let (file, tree) = split_one(&address[last..]);
    (&address[..last + file.len()], tree)
}

fn split_one(address: &str) -> (&str, Option<&str>) {
    let after_scheme = address.find("://").map_or(0, |at| at + 3);
    // A port stands before the first slash of the path.
    let path_start = match after_scheme {
        0 => 0,
        start => address[start..].find('/').map_or(address.len(), |at| start + at),
    };
    let query = address[path_start..].find('?').map_or(address.len(), |at| path_start + at);
    let Some(colon) = address[path_start..query].rfind(':').map(|at| path_start + at) else {
        return match address[query..].rfind(':') {
            Some(at) => (&address[..query + at], Some(&address[query + at + 1..])),
            None => (address, None),
        };
    };
    let (file, tree) = (&address[..colon], &address[colon + 1..]);
    let looks_like_file = tree.ends_with(".root") || tree.is_empty();
    if looks_like_file || (after_scheme == 0 && std::path::Path::new(address).exists()) {
        (address, None)
    } else {
        (file, Some(tree))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_what_follows_the_files_last_colon() {
        for (address, file, tree) in [
            ("f.root:Events", "f.root", Some("Events")),
            ("f.root", "f.root", None),
            ("root://h:1094//d/f.root:dir/Events", "root://h:1094//d/f.root", Some("dir/Events")),
            ("root://h:1094//d/f.root", "root://h:1094//d/f.root", None),
            ("http://[::1]:80/f.root:T", "http://[::1]:80/f.root", Some("T")),
            ("run:12.root", "run:12.root", None),
            ("root://a//f|http://b/f.root:T", "root://a//f|http://b/f.root", Some("T")),
            ("root://a//f.root|http://b/f.root", "root://a//f.root|http://b/f.root", None),
        ] {
            assert_eq!(split_tree(address), (file, tree), "{address}");
        }
    }

    #[test]
    fn paths_become_file_urls() {
        assert_eq!(parse_one("/a/b.root").unwrap().as_str(), "file:///a/b.root");
        assert_eq!(parse_one("root://h//x").unwrap().scheme(), "root");
        assert_eq!(parse("root://h//x|/a|b").unwrap().len(), 3);
        assert_eq!(parse("/a|b").unwrap().len(), 1, "a path");
        assert!(parse("root://").is_err() || parse("://x").is_err());
    }
}
