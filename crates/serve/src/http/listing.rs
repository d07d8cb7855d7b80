//! A folder as a page of links, as small as can be.

use std::fmt::Write as _;
use std::io;

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::folder::{Entry, FolderFiles, Listing};
use crate::guest::Guest;

/// All but the characters that RFC 3986 (section 2.3) calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Bytes of a page made at a time, where there is room.
const STEP_BYTES: usize = 512 << 10;
/// Bytes of a line beside its names.
const LINE_BYTES: usize = 80;
/// Bytes that one byte of a name takes, in the link and in the shown text.
const BYTES_A_BYTE: usize = 3 + 6;

/// The page of a folder of which some names have been sent.
#[derive(Debug)]
pub struct Names {
    listing: Listing,
    /// The prefix of the names in links.
    base: String,
    guest: Guest,
    is_begun: bool,
}

impl Names {
    /// Of the folder that clients call `path`.
    pub fn new(listing: Listing, path: &[u8], guest: Guest) -> Self {
        // Two slashes at the beginning of a link would name another server.
        let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        let mut base = String::from("/");
        for part in parts {
            base.push_str(&percent_encoded(part));
            base.push('/');
        }
        Names { listing, base, guest, is_begun: false }
    }

    /// The next lines, and the rest of the folder.
    ///
    /// # Errors
    /// Those of the file system.
    pub async fn next(self, files: &FolderFiles) -> io::Result<(Bytes, Option<Names>)> {
        let Names { listing, base, guest, is_begun } = self;
        let reserved = guest.client.reserve(STEP_BYTES).await;
        let each = LINE_BYTES + base.len();
        let text_bytes = move |name: usize| each + name * BYTES_A_BYTE;
        let (entries, left) = files.names(&guest, listing, reserved.bytes(), text_bytes).await?;
        let mut html = String::new();
        if !is_begun {
            html.push_str("<!doctype html><meta charset=\"utf-8\"><pre>\n");
        }
        entries.iter().for_each(|entry| put_line(&mut html, &base, entry));
        let rest = left.map(|listing| Names { listing, base, guest, is_begun: true });
        if rest.is_none() {
            html.push_str("</pre>\n");
        }
        Ok((reserved.hold(html.into_bytes()), rest))
    }
}

fn put_line(html: &mut String, base: &str, entry: &Entry) {
    let slash = if entry.stat.is_folder { "/" } else { "" };
    let size = entry.stat.size;
    let link = percent_encoded(&entry.name);
    let name = shown(&entry.name);
    let _ = writeln!(html, "{size:>15}  <a href=\"{base}{link}{slash}\">{name}{slash}</a>");
}

/// A name as text of a page: characters that cannot be shown are replaced.
fn shown(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in String::from_utf8_lossy(name).chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            letter if letter.is_control() => text.push(char::REPLACEMENT_CHARACTER),
            letter => text.push(letter),
        }
    }
    text
}

/// The bytes of a request's path; `None` where it has a `%` without two digits.
pub fn percent_decoded(path: &str) -> Option<Vec<u8>> {
    let is_code = |part: &str| {
        let digits = part.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    // The crate would take such a `%` for itself.
    path.split('%').skip(1).all(is_code).then(|| percent_decode_str(path).collect())
}

fn percent_encoded(name: &[u8]) -> String {
    percent_encode(name, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_into_links_and_back() {
        for name in ["a b", "ü%?#\"<.root", "a:b", "line\nbreak", "\x1b[31m"] {
            let name = name.as_bytes();
            assert_eq!(percent_decoded(&percent_encoded(name)).as_deref(), Some(name));
        }
        let odd = b"\xff\xfe";
        assert_eq!(percent_encoded(odd), "%FF%FE");
        assert_eq!(percent_decoded("%FF%FE").as_deref(), Some(&odd[..]));
        for wrong in ["%", "%1", "%zz", "a%%41", "%é", "%+1", "%4"] {
            assert_eq!(percent_decoded(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_page_shows_is_text() {
        assert_eq!(shown(b"<b>&\"\n\x1b[31m"), "&lt;b&gt;&amp;&quot;\u{fffd}\u{fffd}[31m");
        assert_eq!(shown(b"\xff"), "\u{fffd}");
        assert!(shown(b"\"").len() <= 6 && shown(b"\xff").len() <= 6);
    }
}
