//! Addresses of files that another file names.

use std::path::Path;

use remote::Result;
use remote::address::{Address, Way};

/// Where the file of a friend is; `None` for the tree's own file.
///
/// A tree names the file as it was when the friend was added. Who moves files moves both: so a file
/// of the name of the tree's own is that one, unless another one is at the place that is named, and
/// one named by a path that leads nowhere from here is beside it. A path in a file of a server is
/// never one of this machine.
///
/// # Errors
/// Where a URL is named that may not follow the file's own (see [`remote::address`]).
pub(crate) fn friend_file(own: &Address, named: &str) -> Result<Option<Address>> {
    let is_url = is_remote(named);
    let rest = named.split_once("://").map_or(named, |(_, rest)| rest);
    let path = if is_url { rest.split(['?', '#']).next().unwrap_or_default() } else { rest };
    let last = path.rsplit('/').next().unwrap_or_default();
    let is_of_own_name = *own.file_name() == *last;
    if named.is_empty() || is_of_own_name && (is_url || !own.is_local()) {
        return Ok(None);
    }
    if is_url {
        return own.led_to(named, Way::Mention).map(Some);
    }
    let is_absolute = Path::new(path).is_absolute();
    let found = match (own.is_local(), is_absolute) {
        (false, true) => own.beside(last)?,
        (false, false) => own.beside(path)?,
        (true, true) => nearer(Address::local(Path::new(path))?, own.beside(last)?),
        (true, false) => nearer(own.beside(path)?, Address::local(Path::new(path))?),
    };
    let is_own = is_of_own_name && !is_another(&found, own);
    Ok((!is_own).then_some(found))
}

/// Whether a file of this machine is there, and another one.
fn is_another(found: &Address, own: &Address) -> bool {
    let real = |address: &Address| address.to_local().and_then(|path| path.canonicalize().ok());
    real(found).is_some_and(|found| real(own) != Some(found))
}

/// A URL of another scheme than `file`, which is but another way to write a path.
fn is_remote(named: &str) -> bool {
    named.split_once("://").is_some_and(|(scheme, _)| !scheme.eq_ignore_ascii_case("file"))
}

/// The first of two that is there, or else the first.
fn nearer(first: Address, second: Address) -> Address {
    let is_there = |address: &Address| address.to_local().is_some_and(Path::exists);
    if !is_there(&first) && is_there(&second) { second } else { first }
}

/// Where a file of a chain is, which a file at `own` names.
pub(crate) fn beside(own: &Address, named: &str) -> Result<Address> {
    let path = Path::new(named);
    if own.is_local() && path.is_absolute() && path.exists() {
        return Address::local(path);
    }
    if is_remote(named) {
        return own.led_to(named, Way::Mention);
    }
    Ok(friend_file(own, named)?.unwrap_or_else(|| own.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_friends_are() {
        for (own, named, there) in [
            ("root://a//store/one.root?token=x", "", None),
            ("root://a//store/one.root", "/far/away/one.root", None),
            ("root://a//store/one.root", "root://b//one.root", None),
            ("root://a//store/one.root", "root://b//two.root", Some("root://b//two.root")),
            ("root://a//store/one.root?x", "two.root", Some("root://a//store/two.root")),
            ("root://a//store/one.root", "sub/two.root", Some("root://a//store/sub/two.root")),
            ("root://a//store/one.root", "../two.root", Some("root://a//two.root")),
            ("root://a//store/one.root", "/far/away/two.root", Some("root://a//store/two.root")),
            ("root://a//store/one.root", "50%#.root", Some("root://a//store/50%#.root")),
            ("http://a/store/one.root", "50%#?.root", Some("http://a/store/50%25%23%3F.root")),
            ("http://a/store/50%25.root", "50%.root", None),
            // A server's file once named files of the reader's disk, and they were opened.
            ("http://a/store/one.root", "file:///etc/passwd", Some("http://a/store/passwd")),
            ("root://a//store/one.root", "FILE:///etc/passwd", Some("root://a//store/passwd")),
            (
                "http://a/store/one.root",
                "two.root|/etc/passwd",
                Some("http://a/store/two.root%7C/etc/passwd"),
            ),
        ] {
            let found = friend_file(&Address::parse(own).unwrap(), named).unwrap();
            let there = there.map(|there| Address::parse(there).unwrap());
            assert_eq!(found, there, "{own} {named}");
        }
        let own = Address::parse("root://a//store/one.root").unwrap();
        for refused in ["root://b//x|/etc/passwd", "root://localhost//x", "ftp://b/x", "a?b.root"] {
            assert!(friend_file(&own, refused).is_err(), "{refused}");
            assert!(beside(&own, refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn where_friends_are_on_a_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(path("there.root"), b"").unwrap();
        let own = Address::parse(&path("one.root")).unwrap();
        let file = |named: &str| friend_file(&own, named).unwrap().map(|at| at.to_string());
        assert_eq!(file("there.root").unwrap(), path("there.root"));
        assert_eq!(file(&path("there.root")).unwrap(), path("there.root"));
        assert_eq!(file(&format!("file://{}", path("there.root"))).unwrap(), path("there.root"));
        assert_eq!(file("/elsewhere/there.root").unwrap(), path("there.root"));
        assert_eq!(file("absent.root").unwrap(), path("absent.root"));
        assert_eq!(file("/elsewhere/one.root"), None);
        // Regression: another file of the tree's own name was the tree's own.
        std::fs::create_dir(path("sub")).unwrap();
        std::fs::write(path("sub/one.root"), b"").unwrap();
        std::fs::write(path("one.root"), b"").unwrap();
        assert_eq!(file("sub/one.root").unwrap(), path("sub/one.root"));
        assert_eq!(file(&path("sub/one.root")).unwrap(), path("sub/one.root"));
        assert_eq!(file("one.root"), None);
        assert_eq!(file("../one.root"), None);
        let below = Address::parse(&path("sub/one.root")).unwrap();
        let above = friend_file(&below, "../one.root").unwrap().unwrap();
        assert!(is_another(&above, &below) && above.file_name() == "one.root");
    }
}
