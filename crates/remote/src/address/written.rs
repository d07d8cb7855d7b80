//! Addresses as callers write them: one or several of the same file, and `FILE:OBJECT`.

use std::borrow::Cow;
use std::path::Path;

use super::Address;
use super::access::{self, CallAccess, left_out};
use crate::error::Result;
use crate::expanded;
use crate::proofs::{is_proof, is_usual};

/// Stands between several addresses of one file.
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

/// An address, or several with `|` between them, with a call's choice of credentials.
pub fn with_access(address: &str, access: &CallAccess) -> String {
    let each: Vec<String> = parts(address).into_iter().map(|one| access.attached(one)).collect();
    join(each.iter().map(String::as_str))
}

/// An address, or several with `|` between them, as it may go to other processes and into files:
/// without passwords, tokens and signatures. In this process and those that it forks it still leads
/// to the same file; elsewhere, a reader shows the server the credentials of its own process.
pub fn for_others(address: &str) -> String {
    let each: Vec<String> = parts(address).into_iter().map(left_out).collect();
    join(each.iter().map(String::as_str))
}

/// An address, or several with `|` between them, without its caller's word about credentials and
/// about where entries are selected: for callers that ask which file this is.
pub fn plain(address: &str) -> String {
    let each: Vec<String> = parts(address).into_iter().map(access::plain).collect();
    join(each.iter().map(String::as_str))
}

/// The address that [`for_others`] was given, as far as this process knows it.
pub(crate) fn restored(address: &str) -> String {
    let whole = |part: &str| access::whole(part).unwrap_or_else(|| part.to_owned());
    let each: Vec<String> = parts(address).into_iter().map(whole).collect();
    join(each.iter().map(String::as_str))
}

/// A file's name may contain the separator, so it counts only within a text that has a URL in it,
/// and where another URL follows or a path that begins with `/`, `./` or `../`.
pub(super) fn parts(address: &str) -> Vec<&str> {
    if !address.contains("://") {
        return vec![address];
    }
    let mut parts = Vec::new();
    let mut start = 0;
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

/// A file, and the object in it that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAndObject<'a> {
    /// The file's address, or several with `|` between them, or a pattern.
    pub file: Cow<'a, str>,
    /// The object's path in the file; `None` where the address names none.
    pub object: Option<&'a str>,
}

/// Splits `FILE:OBJECT`: the one place where an address is cut.
///
/// On a local disk the longest part before a colon that is a file is the file. Elsewhere the file
/// ends at the first `.root:`, so that an object's name may have colons; without `.root:` it ends
/// at the last colon that is not part of a scheme or a port. `root://host:1094//f.root:dir/Events`
/// is `root://host:1094//f.root` and `dir/Events`. Of several addresses of one file, the object
/// follows the last one.
///
/// An object stands before a URL's query, as in `https://host/f.root:Events?authz=TOKEN`, or behind
/// it. A parameter that holds a credential is never cut: tokens have colons and slashes of their
/// own.
pub fn split_object(address: &str) -> FileAndObject<'_> {
    let last = parts(address).last().map_or(0, |part| address.len() - part.len());
    let split = split_one(&address[last..]);
    let file = match split.file {
        Cow::Borrowed(file) => Cow::Borrowed(&address[..last + file.len()]),
        Cow::Owned(file) => Cow::Owned(format!("{}{file}", &address[..last])),
    };
    FileAndObject { file, ..split }
}

fn split_one(address: &str) -> FileAndObject<'_> {
    let Some(scheme) = address.find("://") else { return split_local(address, 0) };
    let after_scheme = scheme + "://".len();
    if address.starts_with("file://") {
        return split_local(address, after_scheme);
    }
    // A port stands before the first slash of the path.
    let path = address[after_scheme..].find('/').map_or(address.len(), |at| after_scheme + at);
    let query = address[path..].find('?').map_or(address.len(), |at| path + at);
    match object_colon(&address[path..query]) {
        Some(colon) if query == address.len() => cut_at(address, path + colon),
        Some(colon) => FileAndObject {
            file: Cow::Owned(format!("{}{}", &address[..path + colon], &address[query..])),
            object: Some(&address[path + colon + 1..query]),
        },
        None => match query_colon(&address[query..]) {
            Some(colon) => cut_at(address, query + colon),
            None => whole(address),
        },
    }
}

/// Paths on a disk have no query, and the disk says which part is a file.
fn split_local(address: &str, path: usize) -> FileAndObject<'_> {
    let is_file = |end: usize| expanded(Path::new(&address[path..end])).is_file();
    if expanded(Path::new(&address[path..])).exists() {
        return whole(address);
    }
    let colons = address[path..].rmatch_indices(':').map(|(at, _)| path + at);
    let named = colons.clone().find(|colon| is_file(*colon));
    match named.or_else(|| object_colon(&address[path..]).map(|colon| path + colon)) {
        Some(colon) if colon + 1 < address.len() => cut_at(address, colon),
        _ => whole(address),
    }
}

/// The colon of a path that an object's name follows.
fn object_colon(path: &str) -> Option<usize> {
    if let Some(at) = path.find(".root:") {
        let colon = at + ".root".len();
        return (colon + 1 < path.len()).then_some(colon);
    }
    let colon = path.rfind(':')?;
    let object = &path[colon + 1..];
    (!object.is_empty() && !object.ends_with(".root")).then_some(colon)
}

/// The same of a query, whose last parameter an object may follow.
fn query_colon(query: &str) -> Option<usize> {
    let start = query.rfind(['?', '&'])? + 1;
    let last = &query[start..];
    let is_proof = !last.contains('=') || is_proof(last) || is_usual(last);
    let colon = last.rfind(':').filter(|_| !is_proof)?;
    (start + colon + 1 < query.len()).then_some(start + colon)
}

fn cut_at(address: &str, colon: usize) -> FileAndObject<'_> {
    FileAndObject { file: Cow::Borrowed(&address[..colon]), object: Some(&address[colon + 1..]) }
}

fn whole(address: &str) -> FileAndObject<'_> {
    FileAndObject { file: Cow::Borrowed(address), object: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(address: &str) -> (String, Option<&str>) {
        let FileAndObject { file, object } = split_object(address);
        (file.into_owned(), object)
    }

    /// An RNTuple of ATLAS is called `RNT:CollectionTree`: its file was taken to be `f.root:RNT`.
    #[test]
    fn the_file_ends_at_the_first_root_and_colon() {
        for (address, file, object) in [
            ("f.root:Events", "f.root", Some("Events")),
            ("f.root", "f.root", None),
            ("f.root:", "f.root:", None),
            ("f.root:RNT:Coll", "f.root", Some("RNT:Coll")),
            ("f.root:dir/a:b", "f.root", Some("dir/a:b")),
            ("f.root:b.root", "f.root", Some("b.root")),
            ("root://h:1094//d/f.root:dir/Events", "root://h:1094//d/f.root", Some("dir/Events")),
            ("root://h:1094//d/f.root:a:b", "root://h:1094//d/f.root", Some("a:b")),
            ("root://h:1094//d/f.root", "root://h:1094//d/f.root", None),
            ("root://h:1094//d/f:T", "root://h:1094//d/f", Some("T")),
            ("http://[::1]:80/f.root:T", "http://[::1]:80/f.root", Some("T")),
            ("run:12.root", "run:12.root", None),
            ("run:12.root:T", "run:12.root", Some("T")),
            ("root://a//f|http://b/f.root:T", "root://a//f|http://b/f.root", Some("T")),
            ("root://a//f.root|http://b/f.root", "root://a//f.root|http://b/f.root", None),
            ("/d/*.root:T", "/d/*.root", Some("T")),
        ] {
            assert_eq!(split(address), (file.to_owned(), object), "{address}");
        }
    }

    /// The text after the colon of an EOS token was taken for the name of a tree, and printed in an
    /// error.
    #[test]
    fn a_token_in_a_query_is_not_cut() {
        for (address, file, object) in [
            (
                "root://h//f.root?authz=zteos64:MDAw/a",
                "root://h//f.root?authz=zteos64:MDAw/a",
                None,
            ),
            ("root://h//f?x=1&access_token=a:b", "root://h//f?x=1&access_token=a:b", None),
            ("https://h/f.root:T?authz=a:b", "https://h/f.root?authz=a:b", Some("T")),
            ("https://h/f.root:a:b?x=1", "https://h/f.root?x=1", Some("a:b")),
            ("root://h//f.root?x=a:T", "root://h//f.root?x=a", Some("T")),
            (
                "root://a//f?x=1|root://b//f.root:T?y=1",
                "root://a//f?x=1|root://b//f.root?y=1",
                Some("T"),
            ),
        ] {
            assert_eq!(split(address), (file.to_owned(), object), "{address}");
        }
    }

    #[test]
    fn on_a_disk_the_longest_name_of_a_file_is_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for name in ["a.root:b", "c:d", "e.root"] {
            std::fs::write(at(name), "").unwrap();
        }
        for (address, file, object) in [
            ("a.root:b", "a.root:b", None),
            ("a.root:b:T", "a.root:b", Some("T")),
            ("a.root:T", "a.root", Some("T")),
            ("c:d:x:y", "c:d", Some("x:y")),
            ("e.root:x:y.root", "e.root", Some("x:y.root")),
        ] {
            assert_eq!(split(&at(address)), (at(file), object), "{address}");
            let url = format!("file://{}", at(address));
            assert_eq!(split(&url), (format!("file://{}", at(file)), object), "{url}");
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
        assert_eq!(split("run:1/a?b.root:T"), ("run:1/a?b.root".to_owned(), Some("T")));
        assert_eq!(split("file:///a?b.root:T"), ("file:///a?b.root".to_owned(), Some("T")));
    }
}
