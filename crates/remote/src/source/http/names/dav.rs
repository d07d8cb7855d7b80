//! The answer to PROPFIND: `multistatus` of WebDAV (RFC 4918, section 13).

use std::time::SystemTime;

use super::decoded;
use crate::error::{Error, ErrorKind, Result};
use crate::source::ListedName;
use crate::source::http::s3::xml::elements;

/// The properties of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Properties {
    /// Without escapes and a slash at its end.
    path: String,
    is_directory: bool,
    size: Option<u64>,
    modified: Option<SystemTime>,
}

/// The names in a directory, which has this path without escapes.
///
/// # Errors
/// `Corrupt` for another document; `InvalidArgument` where the path is that of a file.
pub fn entries(document: &[u8], directory: &str) -> Result<Vec<ListedName>> {
    let wrong =
        |why: String| Error::new(ErrorKind::Corrupt, format!("not an answer to PROPFIND: {why}"));
    let mut all = read(document).map_err(wrong)?;
    let directory = parts(directory);
    let own = all.iter().position(|one| parts(&one.path) == directory).or_else(|| {
        // A server behind another one may call its paths otherwise.
        let (at, first) = all.iter().enumerate().min_by_key(|(_, one)| parts(&one.path).len())?;
        let above = parts(&first.path);
        let is_above = |one: &Properties| parts(&one.path).starts_with(&above);
        (first.is_directory && all.iter().all(is_above)).then_some(at)
    });
    let Some(own) = own else {
        // Some write the name of a file without escapes.
        if let [one] = &all[..]
            && !one.is_directory
        {
            return Err(is_file());
        }
        return Err(wrong("the directory itself is not in it".to_owned()));
    };
    let own = all.swap_remove(own);
    if !own.is_directory && all.is_empty() {
        return Err(is_file());
    }
    let above = parts(&own.path);
    let mut names = Vec::with_capacity(all.len());
    for one in &all {
        let parts = parts(&one.path);
        if let Some([name]) = parts.strip_prefix(&*above) {
            let is_directory = Some(one.is_directory);
            let size = one.size.filter(|_| !one.is_directory);
            let modified = one.modified;
            names.push(ListedName { name: (*name).to_owned(), is_directory, size, modified });
        }
    }
    Ok(names)
}

fn is_file() -> Error {
    Error::new(ErrorKind::InvalidArgument, "it is a file, and no directory")
}

/// Some servers write two slashes where there is one.
fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

fn read(document: &[u8]) -> std::result::Result<Vec<Properties>, String> {
    let mut all = Vec::new();
    let mut is_multistatus = false;
    let mut one = Properties::default();
    let mut found = Properties::default();
    let mut is_there = true;
    elements(document, |path, text| match path {
        ["multistatus"] => is_multistatus = true,
        ["multistatus", "response", "href"] => one.path = path_of(text.trim()),
        ["multistatus", "response", "propstat", "status"] => {
            is_there = text.split_whitespace().nth(1).is_none_or(|code| code == "200");
        }
        ["multistatus", "response", "propstat", "prop", "resourcetype", "collection"] => {
            found.is_directory = true;
        }
        ["multistatus", "response", "propstat", "prop", "getcontentlength"] => {
            found.size = text.trim().parse().ok();
        }
        ["multistatus", "response", "propstat", "prop", "getlastmodified"] => {
            found.modified = httpdate::parse_http_date(text.trim()).ok();
        }
        ["multistatus", "response", "propstat"] => {
            let said = std::mem::take(&mut found);
            if std::mem::replace(&mut is_there, true) {
                one.is_directory |= said.is_directory;
                one.size = said.size.or(one.size);
                one.modified = said.modified.or(one.modified);
            }
        }
        ["multistatus", "response"] => all.push(std::mem::take(&mut one)),
        _ => {}
    })?;
    match is_multistatus {
        true => Ok(all),
        false => Err("something else".to_owned()),
    }
}

/// The path of an `href`, which may be a whole address.
fn path_of(href: &str) -> String {
    let path = match href.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => href,
    };
    decoded(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(href: &str, props: &str) -> String {
        format!(
            "<D:response><D:href>{href}</D:href><D:propstat><D:prop>{props}</D:prop>\
             <D:status>HTTP/1.1 200 OK</D:status></D:propstat><D:propstat><D:prop>\
             <D:quota/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>\
             </D:response>"
        )
    }

    fn document(responses: &[String]) -> Vec<u8> {
        let all = responses.concat();
        let head = "<?xml version=\"1.0\"?>";
        format!("{head}<D:multistatus xmlns:D=\"DAV:\">{all}</D:multistatus>").into_bytes()
    }

    const FOLDER: &str = "<lp1:resourcetype><D:collection/></lp1:resourcetype>";
    const FILE: &str = "<D:resourcetype/><D:getcontentlength>12</D:getcontentlength>\
        <D:getlastmodified>Sun, 06 Nov 1994 08:49:37 GMT</D:getlastmodified>";

    #[test]
    fn names_are_those_directly_below() {
        let all = document(&[
            response("/d/", FOLDER),
            response("/d/a%20b.root", FILE),
            response("http://server:80/d/sub/", FOLDER),
            response("/d/sub/deeper.root", FILE),
            response("/d/x&amp;y", FILE),
        ]);
        let names = entries(&all, "/d").unwrap();
        let name = |at: usize| (&*names[at].name, names[at].is_directory, names[at].size);
        assert_eq!(name(0), ("x&y", Some(false), Some(12)));
        assert_eq!(names.len(), 3);
        assert!(names.iter().any(|one| one.name == "a b.root" && one.modified.is_some()));
        assert!(names.iter().any(|one| one.name == "sub" && one.is_directory == Some(true)));
    }

    #[test]
    fn a_server_may_call_its_paths_otherwise() {
        let all = document(&[response("/inner/d", FOLDER), response("/inner/d/f", FILE)]);
        assert_eq!(entries(&all, "/outer/d/").unwrap()[0].name, "f");
    }

    #[test]
    fn a_file_is_no_directory_and_nonsense_no_answer() {
        let file = document(&[response("/d/f", FILE)]);
        assert_eq!(entries(&file, "/d/f/").unwrap_err().kind(), ErrorKind::InvalidArgument);
        let whole = document(&[response("/d/", FOLDER), response("/d/f", FILE)]);
        for end in 0..whole.len() {
            assert!(entries(&whole[..end], "/d").is_err());
        }
        for wrong in [&b"<html></html>"[..], b"", b"<multistatus/>"] {
            assert!(entries(wrong, "/d").is_err());
        }
    }
}
