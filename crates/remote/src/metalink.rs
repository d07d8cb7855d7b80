//! Metalink: a document with the locations, the length and the checksums of a file. Specifications:
//! RFC 5854 (version 4) and "Metalink 3.0 Specification".

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::address::{Address, Claims, FileLocations, Way};
use crate::checksum::{Algorithm, Checksum};
use crate::error::{Error, ErrorKind, Result};
use crate::source::check_size;

/// Longer documents are not read: they describe other things than the sources of one file.
pub const BYTES_MAX: u64 = 1 << 20;
/// Addresses beyond these are left out.
const URLS_MAX: usize = 32;

/// The statements of a Metalink about the one file that it describes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metalink {
    /// Those that can be read here, the preferred ones first.
    pub urls: Vec<Address>,
    /// Bytes.
    pub size: Option<u64>,
    /// Those of known algorithms.
    pub checksums: Vec<Checksum>,
    /// The file's, without the folders that a document may put before it.
    pub name: Option<String>,
}

impl From<Metalink> for FileLocations {
    fn from(metalink: Metalink) -> Self {
        let Metalink { urls, size, checksums, name } = metalink;
        let claims = Claims { size, checksums, name };
        FileLocations { urls, claims, ..FileLocations::default() }
    }
}

/// Whether an address names a Metalink rather than the file itself.
pub fn is_metalink(url: &Address) -> bool {
    [".meta4", ".metalink"].iter().any(|ending| url.path().ends_with(ending))
}

/// An element within which text counts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Field {
    Size,
    Hash(Option<Algorithm>),
    /// Lower comes first.
    Url(i64),
}

impl Metalink {
    /// Reads a document of version 3 or 4 that was found at an address, which decides which
    /// addresses it may name. Other documents of this kind are not followed.
    ///
    /// # Errors
    /// `Corrupt` for anything else; `Unsupported` where it describes several files, or one at
    /// places that cannot be read here.
    pub fn parse(document: &[u8], found: &Address) -> Result<Metalink> {
        let mut reader = Reader::from_reader(document);
        let mut parsing = Parsing::default();
        loop {
            match reader.read_event().map_err(|error| corrupt(&error.to_string()))? {
                Event::Start(element) => parsing.begin(&element)?,
                Event::End(_) => parsing.end(found)?,
                Event::Text(text) => {
                    parsing.text.push_str(&text.decode().map_err(|e| corrupt(&e.to_string()))?);
                }
                Event::CData(text) => {
                    parsing.text.push_str(&text.decode().map_err(|e| corrupt(&e.to_string()))?);
                }
                Event::GeneralRef(name) => {
                    let name = name.decode().map_err(|e| corrupt(&e.to_string()))?;
                    parsing.text.push_str(&meant(&name).ok_or_else(|| corrupt("an entity"))?);
                }
                Event::Eof => return parsing.finish(),
                _ => {}
            }
        }
    }
}

/// The character that `&name;` stands for.
pub(crate) fn meant(name: &str) -> Option<String> {
    if let Some(known) = quick_xml::escape::resolve_xml_entity(name) {
        return Some(known.to_owned());
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).map(String::from)
}

#[derive(Debug, Default)]
struct Parsing {
    /// The names of the elements around.
    path: Vec<String>,
    field: Option<Field>,
    text: String,
    files: u32,
    is_metalink: bool,
    found: Metalink,
    ranked: Vec<(i64, Address)>,
}

impl Parsing {
    fn begin(&mut self, element: &BytesStart<'_>) -> Result<()> {
        let name = String::from_utf8_lossy(element.local_name().as_ref()).into_owned();
        let attribute = |wanted: &str| {
            let found = element.attributes().flatten();
            let mut found =
                found.filter(|found| found.key.local_name().as_ref() == wanted.as_bytes());
            found.next().map(|found| String::from_utf8_lossy(&found.value).into_owned())
        };
        let number = |wanted| attribute(wanted).and_then(|text| text.trim().parse::<i64>().ok());
        self.is_metalink |= self.path.is_empty() && name == "metalink";
        let parent = self.path.last().map(String::as_str);
        self.field = match (parent, &*name) {
            (Some("file"), "size") => Some(Field::Size),
            // Version 3 has them within `verification`; those within `pieces` are of parts.
            (Some("file" | "verification"), "hash") => {
                let algorithm = attribute("type").and_then(|name| name.parse().ok());
                Some(Field::Hash(algorithm))
            }
            // Version 3 prefers higher numbers.
            (Some("resources"), "url") => {
                Some(Field::Url(number("preference").and_then(i64::checked_neg).unwrap_or(0)))
            }
            (Some("file"), "url") => Some(Field::Url(number("priority").unwrap_or(999_999))),
            _ => None,
        };
        if name == "file" {
            self.files += 1;
            let name = attribute("name").map(|name| unescaped(&name)).transpose()?;
            self.found.name = name.and_then(|name| file_name(&name));
        }
        self.text.clear();
        self.path.push(name);
        Ok(())
    }

    fn end(&mut self, found: &Address) -> Result<()> {
        self.path.pop();
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        match self.field.take() {
            Some(Field::Size) => {
                let size = text.parse().map_err(|_| corrupt("a size"))?;
                check_size(size)?;
                self.found.size = Some(size);
            }
            Some(Field::Hash(Some(algorithm))) => {
                self.found.checksums.push(Checksum::from_hex(algorithm, text)?);
            }
            // Addresses of other kinds are for others.
            Some(Field::Url(rank)) => {
                let url = found.led_to(text, Way::Replica).ok().filter(|url| !is_metalink(url));
                self.ranked.extend(url.map(|url| (rank, url)));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Metalink> {
        if !self.is_metalink || !self.path.is_empty() {
            return Err(corrupt("something else, or a part of one"));
        }
        let unsupported = |text: &str| Error::new(ErrorKind::Unsupported, text);
        if self.files != 1 {
            let text = format!("a Metalink that describes {} files", self.files);
            return Err(unsupported(&text).with_advice("one of one file can be read"));
        }
        self.ranked.sort_by_key(|(rank, _)| *rank);
        self.found.urls = self.ranked.into_iter().map(|(_, url)| url).take(URLS_MAX).collect();
        if self.found.urls.is_empty() {
            return Err(unsupported("a Metalink without a root:// or http:// address"));
        }
        Ok(self.found)
    }
}

/// An attribute's text, with the characters that its entities stand for.
fn unescaped(text: &str) -> Result<String> {
    let plain = quick_xml::escape::unescape(text);
    plain.map(String::from).map_err(|error| corrupt(&error.to_string()))
}

/// The last part of a path, where it is the name of a file.
fn file_name(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_name = !matches!(name, "" | "." | "..") && !name.contains('\0');
    is_name.then(|| name.to_owned())
}

fn corrupt(why: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("no Metalink: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION_4: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink">
  <file name="f.root"><size>33554432</size>
    <hash type="adler32">5bdad19a</hash><hash type="sha-384">00</hash>
    <pieces length="10" type="md5"><hash>00</hash></pieces>
    <url priority="2">root://b:1094//f.root</url>
    <url priority="1">http://a/f.root?x=1&amp;y=&#50;</url>
    <url>ftp://c/f.root</url><url priority="1">file:///etc/passwd</url>
  </file>
</metalink>"#;

    const VERSION_3: &str = r#"<metalink version="3.0" xmlns="http://www.metalinker.org/"><files>
  <file name="f.root"><size> 7 </size>
    <verification><hash type="md5">900150983cd24fb0d6963f7d28e17f72</hash></verification>
    <resources><url type="http" preference="10">http://a/f.root</url>
      <url type="root" preference="90"><![CDATA[root://b//f.root]]></url></resources>
  </file></files></metalink>"#;

    fn parse(document: &[u8]) -> Result<Metalink> {
        Metalink::parse(document, &Address::parse("http://h/f.root.meta4").unwrap())
    }

    fn urls(metalink: &Metalink) -> Vec<&str> {
        metalink.urls.iter().filter_map(|url| url.as_str().split('#').next()).collect()
    }

    #[test]
    fn both_versions_are_read() {
        let four = parse(VERSION_4.as_bytes()).unwrap();
        assert_eq!(urls(&four), ["http://a/f.root?x=1&y=2", "root://b:1094//f.root"]);
        assert_eq!(four.size, Some(33_554_432));
        assert_eq!(four.name.as_deref(), Some("f.root"));
        assert_eq!(four.checksums, ["adler32 5bdad19a".parse().unwrap()]);
        let three = parse(VERSION_3.as_bytes()).unwrap();
        assert_eq!(urls(&three), ["root://b//f.root", "http://a/f.root"]);
        assert_eq!(three.size, Some(7));
        assert_eq!(three.checksums.len(), 1);
    }

    #[test]
    fn anything_else_is_refused() {
        let several = VERSION_3.replace("<files>", "<files><file name='g'></file>");
        let nowhere = VERSION_4.replace("root://", "ftp://").replace("http://", "ftp://");
        for (document, kind) in [
            ("", ErrorKind::Corrupt),
            ("root", ErrorKind::Corrupt),
            ("<html></html>", ErrorKind::Corrupt),
            (&VERSION_4[..VERSION_4.len() - 12], ErrorKind::Corrupt),
            (&VERSION_4.replace("5bdad19a", "xyz"), ErrorKind::Corrupt),
            (&VERSION_4.replace("33554432", "-1"), ErrorKind::Corrupt),
            (&several, ErrorKind::Unsupported),
            (&nowhere, ErrorKind::Unsupported),
        ] {
            assert_eq!(parse(document.as_bytes()).unwrap_err().kind(), kind, "{document}");
        }
    }

    #[test]
    fn a_name_leads_out_of_no_folder() {
        for (written, name) in [
            ("dir/a&amp;b.root", Some("a&b.root")),
            ("../../etc/passwd", Some("passwd")),
            ("/x/..", None),
            ("", None),
        ] {
            let document =
                VERSION_4.replace(r#"<file name="f.root">"#, &format!("<file name=\"{written}\">"));
            assert_eq!(parse(document.as_bytes()).unwrap().name.as_deref(), name, "{written}");
        }
    }

    #[test]
    fn every_beginning_of_one_is_read_as_the_whole_or_refused() {
        for document in [VERSION_3, VERSION_4] {
            let whole = parse(document.as_bytes()).unwrap();
            for end in 0..document.len() {
                match parse(&document.as_bytes()[..end]) {
                    Ok(read) => assert_eq!(read, whole, "the first {end} bytes"),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
                }
            }
        }
    }

    #[test]
    fn addresses_are_told_apart_by_their_endings() {
        let is = |address: &str| is_metalink(&Address::parse(address).unwrap());
        assert!(is("http://h/f.root.meta4?x=1") && is("file:///f.metalink"));
        assert!(!is("root://h//f.root") && !is("http://h/f?x=.meta4"));
    }
}
