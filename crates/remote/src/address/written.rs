//! What callers write: one address or several of the same file, and `FILE:TREE`.

use super::Address;
use super::access::CallAccess;
use crate::error::Result;

/// What stands between several addresses of one file.
const SEPARATOR: char = '|';

/// The addresses of a file, at least one: several of the same file have a `|` between them.
///
/// # Errors
/// As [`Address::parse`].
pub fn parse(address: &str) -> Result<Vec<Address>> {
    parts(address).into_iter().map(Address::parse).collect()
}

/// One address of several of the same file.
pub fn join<'a>(addresses: impl Iterator<Item = &'a str>) -> String {
    addresses.collect::<Vec<_>>().join(&SEPARATOR.to_string())
}

/// An address, or several with `|` between them, with what a call says of credentials.
pub fn with_access(address: &str, access: &CallAccess) -> String {
    let each: Vec<String> = parts(address).into_iter().map(|one| access.attached(one)).collect();
    join(each.iter().map(String::as_str))
}

/// A file's name may contain the separator, so it counts only within what has a URL in it, and
/// where another URL follows or a path that begins with `/`, `./` or `../`.
pub(super) fn parts(address: &str) -> Vec<&str> {
    if !address.contains("://") {
        return vec![address];
    }
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, _) in address.match_indices(SEPARATOR) {
        if begins_address(&address[at + 1..]) {
            parts.push(&address[start..at]);
            start = at + 1;
        }
    }
    parts.push(&address[start..]);
    parts
}

fn begins_address(text: &str) -> bool {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    let is_path = ["/", "./", "../"].iter().any(|start| text.starts_with(start));
    let is_url = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_path || is_url
}

/// Splits `FILE:TREE` where there is a tree: at the last colon that is not part of a scheme, a
/// port or a drive, and after which no file of that name could follow.
///
/// `root://host:1094//f.root:dir/Events` gives `root://host:1094//f.root` and `dir/Events`. Of
/// several addresses of one file, the last one is followed by the tree.
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
    // Paths on a disk have no query.
    let question = address[path_start..].find('?').map(|at| path_start + at);
    let is_remote = after_scheme > 0 && !address.starts_with("file://");
    let query = question.filter(|_| is_remote).unwrap_or(address.len());
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
    fn a_name_may_have_what_separates_addresses_and_trees() {
        for (address, count) in [
            ("root://h//x|/a|b", 2),
            ("root://h//x|./a|root://b//c", 3),
            ("root://h//x|y.root", 1),
            ("root://h//x|y: z://", 1),
            ("/a|b", 1),
            ("/a|/b", 1),
        ] {
            assert_eq!(parts(address).len(), count, "{address}");
        }
        assert_eq!(split_tree("run:1/a?b.root:T"), ("run:1/a?b.root", Some("T")));
        assert_eq!(split_tree("file:///a?b.root:T"), ("file:///a?b.root", Some("T")));
        assert_eq!(split_tree("root://h//f.root?x=a:T"), ("root://h//f.root?x=a", Some("T")));
    }
}
