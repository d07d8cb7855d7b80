//! A directory as a page of links, as nginx, Apache and other servers write it.

use std::collections::BTreeSet;
use std::time::SystemTime;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use url::Url;

use super::decoded;
use crate::metalink::meant;
use crate::source::ListedName;

/// Words of titles and headings of pages that list files.
const TITLES: [&str; 3] = ["index of", "directory", "listing"];

/// An entry of nginx's `autoindex_format json`.
#[derive(Deserialize)]
struct JsonEntry {
    name: String,
    r#type: String,
    mtime: Option<String>,
    size: Option<u64>,
}

/// The names in a list as nginx writes it for programs; `None` for another document.
pub fn entries_of_json(document: &[u8]) -> Option<Vec<ListedName>> {
    let all: Vec<JsonEntry> = serde_json::from_slice(document).ok()?;
    let date = |text: String| httpdate::parse_http_date(&text).ok();
    let name = |one: JsonEntry| {
        let is_directory = one.r#type == "directory";
        let size = one.size.filter(|_| !is_directory);
        let modified: Option<SystemTime> = one.mtime.and_then(date);
        ListedName { name: one.name, is_directory: Some(is_directory), size, modified }
    };
    Some(all.into_iter().map(name).collect())
}

/// The names that a page links to directly below its own address; `None` where it is no list of
/// files. Directories end with a slash there.
pub fn entries(page: &str, base: &Url) -> Option<Vec<ListedName>> {
    if !is_list(page, base) {
        return None;
    }
    let mut names = BTreeSet::new();
    let mut entries = Vec::new();
    let mut rest = page;
    let mut leads_elsewhere = false;
    while let Some((tag, behind)) = next_tag(rest) {
        rest = behind;
        let Some(link) = link_of(tag) else { continue };
        let Some((name, is_directory)) = name_of(&link, base) else {
            leads_elsewhere |= !is_above(&link, base);
            continue;
        };
        if names.insert(name.clone()) {
            let size = size_behind(rest).filter(|_| !is_directory);
            let is_directory = Some(is_directory);
            entries.push(ListedName { name, is_directory, size, modified: None });
        }
    }
    // A page of which no link is understood is not taken for an empty directory.
    (!entries.is_empty() || !leads_elsewhere).then_some(entries)
}

/// Whether a link leads to the page itself, in another order, or to a directory above it.
fn is_above(link: &str, base: &Url) -> bool {
    base.join(link).is_ok_and(|there| base.path().starts_with(there.path()))
}

/// Whether a page is a list of files, and not any page with links.
fn is_list(page: &str, base: &Url) -> bool {
    let lower = page.to_ascii_lowercase();
    let path = decoded(base.path()).to_ascii_lowercase();
    let path = path.trim_end_matches('/');
    let is_said = ["title", "h1", "h2"].iter().any(|element| {
        let begin = lower.find(&format!("<{element}")).map(|at| &lower[at..]);
        let text = begin.and_then(|text| Some(&text[text.find('>')? + 1..]));
        let text = text.map(|text| text.split("</").next().unwrap_or_default());
        let says = |text: &str| {
            TITLES.iter().any(|title| text.contains(title))
                || text.trim().trim_end_matches('/') == path
        };
        text.is_some_and(says)
    });
    is_said || lower.contains("<pre>")
}

/// The next tag, without its brackets, and the text behind it.
fn next_tag(text: &str) -> Option<(&str, &str)> {
    let begin = text.find('<')?;
    let rest = &text[begin + 1..];
    // An attribute may hold a bracket.
    let mut quote = None;
    let end = rest.bytes().position(|byte| match (quote, byte) {
        (None, b'>') => true,
        (None, b'"' | b'\'') => {
            quote = Some(byte);
            false
        }
        (Some(open), byte) if open == byte => {
            quote = None;
            false
        }
        _ => false,
    })?;
    Some((&rest[..end], &rest[end + 1..]))
}

/// Where an `a` leads.
fn link_of(tag: &str) -> Option<String> {
    let (name, attributes) = tag.split_once(|letter: char| letter.is_ascii_whitespace())?;
    if !name.eq_ignore_ascii_case("a") {
        return None;
    }
    let lower = attributes.to_ascii_lowercase();
    let at = lower.match_indices("href").map(|(at, _)| at).find(|at| {
        let is_word = *at == 0 || lower.as_bytes()[at - 1].is_ascii_whitespace();
        is_word && lower[at + 4..].trim_start().starts_with('=')
    })?;
    let value = attributes[at + 4..].trim_start().strip_prefix('=')?.trim_start();
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value.split_ascii_whitespace().next()?,
    };
    Some(unescaped(value))
}

/// Text of HTML without its entities; one that is not known stays.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        plain.push_str(before);
        let entity = behind.split_once(';').and_then(|(name, left)| Some((meant(name)?, left)));
        match entity {
            Some((letter, left)) => {
                plain.push_str(&letter);
                rest = left;
            }
            None => {
                plain.push('&');
                rest = behind;
            }
        }
    }
    plain + rest
}

/// The name of a link directly below the page, and whether it is a directory.
fn name_of(link: &str, base: &Url) -> Option<(String, bool)> {
    let there = base.join(link).ok()?;
    // `mailto:` and others lead to no file.
    if !matches!(there.scheme(), "http" | "https") {
        return None;
    }
    // Whatever name the server has for itself: of a link to another one nothing is taken.
    let is_here = there.origin() == base.origin() || !link.contains("//");
    if !is_here || there.query().is_some() {
        return None;
    }
    // Some servers write two slashes where there is one, and some get requests with two.
    let parts = |url: &Url| -> Vec<String> {
        url.path().split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let there_parts = parts(&there);
    let base_parts = parts(base);
    let [name] = there_parts.strip_prefix(&*base_parts)? else { return None };
    // An address cannot hold a name that is no text: under another one it would not be found.
    let name = percent_decode_str(name).decode_utf8().ok()?;
    Some((name.into_owned(), there.path().ends_with('/')))
}

/// The bytes of a file, where a line says them exactly: behind a date and a time, as nginx and
/// Apache have it. Rounded ones, as in `1.2K`, are no sizes.
fn size_behind(rest: &str) -> Option<u64> {
    let line = rest.split(['\n', '\r']).next()?;
    let line = line.split("<a").next()?;
    let mut text = String::new();
    let mut left = line;
    while let Some((before, tag)) = left.split_once('<') {
        text.push_str(before);
        text.push(' ');
        left = tag.split_once('>')?.1;
    }
    text.push_str(left);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_time = |word: &str| word.len() >= 5 && word.as_bytes().get(2) == Some(&b':');
    let is_date = |word: &str| word.matches('-').count() == 2;
    let at = words.windows(3).position(|three| is_date(three[0]) && is_time(three[1]))?;
    words[at + 2].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(page: &str, path: &str) -> Option<Vec<(String, bool, Option<u64>)>> {
        let mut base = Url::parse("http://server/").unwrap();
        base.set_path(path);
        let entries = entries(page, &base)?;
        let of = |one: ListedName| (one.name, one.is_directory == Some(true), one.size);
        Some(entries.into_iter().map(of).collect())
    }

    #[test]
    fn pages_of_known_servers_are_read() {
        let nginx = "<html>\n<head><title>Index of /d/</title></head>\n<body>\n<h1>Index of /d/</h1>\
            <hr><pre><a href=\"../\">../</a>\n<a href=\"sub/\">sub/</a>   29-Nov-2026 01:00   -\n\
            <a href=\"a%20b%3F.root\">a b?.root</a>   29-Nov-2026 01:00   12345\n</pre></html>";
        let expected = [("sub".into(), true, None), ("a b?.root".into(), false, Some(12345))];
        assert_eq!(listed(nginx, "/d/").unwrap(), expected);
        let apache = "<title>Index of /d</title><table><tr><th><a href=\"?C=N;O=D\">Name</a>\
            <tr><td><a href=\"/\">Parent Directory</a><td>\n<tr><td><A HREF='x&amp;y.root'>x</A></td>\
            <td align=\"right\">2026-11-29 01:00  </td><td align=\"right\">1.2K</td></tr>\n\
            <a href=\"http://other/d/no\">no</a><a href=\"/d/deep/er\">no</a><a href=\"/d/z\">z</a>";
        let expected = [("x&y.root".into(), false, None), ("z".into(), false, None)];
        assert_eq!(listed(apache, "/d/").unwrap(), expected);
        let own =
            "<!doctype html><meta charset=\"utf-8\"><pre>\n   12  <a href=\"/d/f\">f</a>\n</pre>";
        assert_eq!(listed(own, "/d/").unwrap(), [("f".into(), false, None)]);
        assert_eq!(listed(own, "//d/").unwrap(), [("f".into(), false, None)]);
        let json = br#"[{"name":"s","type":"directory","mtime":"Sun, 06 Nov 1994 08:49:37 GMT"},
            {"name":"f","type":"file","mtime":"Sun, 06 Nov 1994 08:49:37 GMT","size":3}]"#;
        let all = entries_of_json(json).unwrap();
        assert_eq!((all[0].is_directory, all[1].size), (Some(true), Some(3)));
        assert!(entries_of_json(b"{}").is_none());
    }

    #[test]
    fn any_page_with_links_is_no_list() {
        let page = "<title>Our data</title><a href=\"a.root\">a</a>";
        assert_eq!(listed(page, "/d/"), None);
        assert_eq!(listed("<title>/d/</title><a href=a.root>a</a>", "/d/").unwrap().len(), 1);
    }

    /// Regression: links of the page's foot, to a mailbox or a script, were listed as files, and a
    /// name that is not UTF-8 as another one, under which the server has no file.
    #[test]
    fn only_links_to_files_are_names() {
        let page = "<title>Index of /d/</title><a href=\"f\">f</a>\
            <a href=\"mailto:a@b\">m</a>\
            <a href=\"javascript:void(0)\">j</a><a href=\"tel:12\">t</a>\
            <a href=\"data:,x\">d</a>\
            <a href=\"caf%E9.root\">c</a><a href=\"caf%C3%A9.root\">c</a>\
            <a href=\"a:b\">u</a>\
            <a href=\"./a:b\">f</a>";
        for path in ["/d/", "/"] {
            let all = listed(page, path).unwrap();
            let names: Vec<String> = all.into_iter().map(|one| one.0).collect();
            assert_eq!(names, ["f", "café.root", "a:b"], "{path}");
        }
    }

    #[test]
    fn every_beginning_of_a_page_is_read() {
        let page =
            "<title>Index of /</title><a title='>' href=\"a&#x41;&b;%zz\">a</a> x-y-z 01:00 1";
        for end in 0..page.len() {
            let _ = listed(&page[..end], "/");
        }
        assert_eq!(listed(page, "/").unwrap(), [("aA&b;%zz".into(), false, Some(1))]);
    }
}
