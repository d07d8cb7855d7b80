//! The documents of S3: what it refuses, and what is in a bucket (S3 API Reference, "Error
//! responses" and "ListObjectsV2").

use percent_encoding::percent_decode_str;
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::{Error, ErrorKind, Result};
use crate::metalink::meant;

/// Deeper documents are none of S3's.
const DEPTH_MAX: usize = 16;

/// Why S3 refuses a request. Other elements may repeat what was signed, and are not kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// `NoSuchKey` and so on.
    pub code: String,
    /// In the server's words.
    pub message: String,
    /// The region that the bucket is in, where a request went to another.
    pub region: Option<String>,
}

/// A page of what is in a bucket below a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Whole keys of objects.
    pub keys: Vec<String>,
    /// What several keys begin with, up to and with a slash.
    pub prefixes: Vec<String>,
    /// To ask for the next page with.
    pub next: Option<String>,
}

impl Refusal {
    /// Reads the body of an answer that is no success. Servers between may answer with something
    /// else, which says nothing.
    pub fn parse(document: &[u8]) -> Option<Refusal> {
        let mut refusal = Refusal::default();
        let read = elements(document, |path, text| match path {
            ["Error", "Code"] => refusal.code = text,
            ["Error", "Message"] => refusal.message = text,
            ["Error", "Region"] if !text.is_empty() => refusal.region = Some(text),
            _ => {}
        });
        (read.is_ok() && !refusal.code.is_empty()).then_some(refusal)
    }
}

impl Page {
    /// Reads the answer to ListObjectsV2.
    ///
    /// # Errors
    /// `Corrupt` for anything else.
    pub fn parse(document: &[u8]) -> Result<Page> {
        let (mut page, mut is_list, mut is_truncated) = (Page::default(), false, false);
        let (mut is_encoded, mut next) = (false, None);
        elements(document, |path, text| {
            match path {
                ["ListBucketResult", "Contents", "Key"] => page.keys.push(text),
                ["ListBucketResult", "CommonPrefixes", "Prefix"] => page.prefixes.push(text),
                ["ListBucketResult", "IsTruncated"] => is_truncated = text == "true",
                ["ListBucketResult", "NextContinuationToken"] => next = Some(text),
                ["ListBucketResult", "EncodingType"] => is_encoded = text == "url",
                _ => {}
            }
            is_list |= path.first() == Some(&"ListBucketResult");
        })
        .map_err(|why| corrupt(&why))?;
        if !is_list {
            return Err(corrupt("something else"));
        }
        if is_encoded {
            page.keys.iter_mut().chain(&mut page.prefixes).try_for_each(decode)?;
        }
        if is_truncated {
            let lacks = || corrupt("there is more, and no token to ask for it with");
            page.next = Some(next.filter(|next| !next.is_empty()).ok_or_else(lacks)?);
        }
        Ok(page)
    }
}

impl Page {
    /// Names of what is in the "directory" of this prefix; those of directories without their
    /// slash. The prefix itself may be an object, which stands for the directory.
    pub fn names_below(&self, prefix: &str) -> Vec<String> {
        let names = self.keys.iter().chain(&self.prefixes).filter_map(|key| {
            let name = key.strip_prefix(prefix)?;
            Some(name.strip_suffix('/').unwrap_or(name))
        });
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

/// As queries encode: with a `+` for a blank.
fn decode(name: &mut String) -> Result<()> {
    let text = name.replace('+', " ");
    let text = percent_decode_str(&text).decode_utf8();
    *name = text.map_err(|_| corrupt("a key that is not UTF-8"))?.into_owned();
    Ok(())
}

fn corrupt(why: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("not a listing of S3: {why}"))
}

/// Calls for each element, at its end, with the names of those around it and its own, and its text.
fn elements(
    document: &[u8],
    mut take: impl FnMut(&[&str], String),
) -> std::result::Result<(), String> {
    let mut reader = Reader::from_reader(document);
    let (mut path, mut text) = (Vec::<String>::new(), String::new());
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(element) => {
                if path.len() == DEPTH_MAX {
                    return Err("elements in elements, too many".into());
                }
                path.push(String::from_utf8_lossy(element.local_name().as_ref()).into_owned());
                text.clear();
            }
            Event::End(_) => {
                let names: Vec<&str> = path.iter().map(String::as_str).collect();
                take(&names, std::mem::take(&mut text));
                path.pop();
            }
            Event::Text(more) => text.push_str(&more.decode().map_err(|e| e.to_string())?),
            Event::CData(more) => text.push_str(&more.decode().map_err(|e| e.to_string())?),
            Event::GeneralRef(name) => {
                let name = name.decode().map_err(|error| error.to_string())?;
                text.push_str(&meant(&name).ok_or("an entity that is not known")?);
            }
            Event::Eof if path.is_empty() => return Ok(()),
            Event::Eof => return Err("it ends too early".into()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSAL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>AuthorizationHeaderMalformed</Code><Message>The region &apos;us-east-1&apos; is wrong;
 expecting 'eu-central-1'</Message><Region>eu-central-1</Region><StringToSign>AWS4</StringToSign>
<RequestId>1</RequestId></Error>"#;

    const PAGE: &str = r#"<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
<Name>bucket</Name><Prefix>d%2F</Prefix><EncodingType>url</EncodingType>
<IsTruncated>true</IsTruncated><NextContinuationToken>1/a+b=</NextContinuationToken>
<Contents><Key>d/a+%2B%25%26.root</Key><Size>12</Size><Owner><ID>x</ID></Owner></Contents>
<Contents><Key>d/b.root</Key></Contents>
<CommonPrefixes><Prefix>d/e/</Prefix></CommonPrefixes></ListBucketResult>"#;

    #[test]
    fn a_refusal_says_why_and_where_else() {
        let refusal = Refusal::parse(REFUSAL.as_bytes()).unwrap();
        assert_eq!(refusal.code, "AuthorizationHeaderMalformed");
        assert!(refusal.message.starts_with("The region 'us-east-1' is wrong;"));
        assert_eq!(refusal.region.as_deref(), Some("eu-central-1"));
        for other in ["", "<html><body>no</body></html>", "<Error><Code></Code></Error>", "<Error>"]
        {
            assert_eq!(Refusal::parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_page_has_keys_prefixes_and_the_next_one() {
        let page = Page::parse(PAGE.as_bytes()).unwrap();
        assert_eq!(page.keys, ["d/a +%&.root", "d/b.root"]);
        assert_eq!(page.prefixes, ["d/e/"]);
        assert_eq!(page.next.as_deref(), Some("1/a+b="));
        assert_eq!(page.names_below("d/"), ["a +%&.root", "b.root", "e"]);
        let plain = PAGE.replace("<EncodingType>url</EncodingType>", "").replace("true", "false");
        let page = Page::parse(plain.as_bytes()).unwrap();
        assert_eq!(page.keys[0], "d/a+%2B%25%26.root");
        assert_eq!(page.next, None);
    }

    #[test]
    fn a_listing_that_cannot_be_gone_on_with_is_refused() {
        let endless = PAGE.replace("NextContinuationToken", "Else");
        for wrong in ["", "<Error/>", &endless, "<ListBucketResult><Contents>&x;</Contents>"] {
            assert_eq!(Page::parse(wrong.as_bytes()).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        let deep = "<a>".repeat(100_000);
        assert!(Page::parse(deep.as_bytes()).unwrap_err().message().contains("too many"));
        // An element that is empty by itself is a list of nothing.
        assert_eq!(Page::parse(b"<ListBucketResult></ListBucketResult>").unwrap(), Page::default());
        let not_text = PAGE.replace("%2B", "%FF");
        assert!(Page::parse(not_text.as_bytes()).is_err());
    }

    #[test]
    fn every_beginning_is_refused_or_read() {
        for end in 0..PAGE.len() {
            assert!(Page::parse(&PAGE.as_bytes()[..end]).is_err(), "{end}");
            let _ = Refusal::parse(&REFUSAL.as_bytes()[..end.min(REFUSAL.len())]);
        }
    }
}
