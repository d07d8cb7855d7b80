//! The documents of S3: its refusals, and the listings of buckets (S3 API Reference, "Error
//! responses" and "ListObjectsV2").

use std::time::{Duration, SystemTime};

use percent_encoding::percent_decode_str;
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::{Error, ErrorKind, Result};
use crate::metalink::meant;
use crate::source::ListedName;

use super::sign::seconds;

/// Deeper documents are none of S3's.
const DEPTH_MAX: usize = 16;

/// Why S3 refuses a request. Other elements may repeat the signed text, and are not kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// `NoSuchKey` and so on.
    pub code: String,
    /// In the server's words.
    pub message: String,
    /// The region that the bucket is in, where a request went to another.
    pub region: Option<String>,
}

/// An object, as a listing has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedObject {
    /// Whole.
    pub key: String,
    /// Bytes; `None` where the server does not report it, or not as a number.
    pub size: Option<u64>,
    /// When it was written; `None` where the server does not report it in S3's form.
    pub modified: Option<SystemTime>,
}

/// A page of the keys in a bucket below a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub objects: Vec<ListedObject>,
    /// Beginnings that several keys share, up to and with a slash.
    pub prefixes: Vec<String>,
    /// The token of the request for the next page.
    pub next: Option<String>,
}

/// A server's answer when it has put an object together of its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whole {
    /// CRC-32C of the whole object, in base64, where it has one.
    pub crc32c: Option<String>,
}

/// Reads the name of an upload that has begun (CreateMultipartUpload).
///
/// # Errors
/// `Corrupt` for anything else.
pub fn parse_upload_id(document: &[u8]) -> Result<String> {
    let mut id = String::new();
    let read = elements(document, |path, text| {
        if path == ["InitiateMultipartUploadResult", "UploadId"] {
            id = text;
        }
    });
    let why = match read {
        Ok(()) if !id.is_empty() => return Ok(id),
        Ok(()) => "it names none".to_owned(),
        Err(why) => why,
    };
    Err(Error::new(ErrorKind::Corrupt, format!("not an upload of S3: {why}")))
}

impl Whole {
    /// Reads the answer to CompleteMultipartUpload that is no refusal.
    ///
    /// # Errors
    /// `Corrupt` for anything else.
    pub fn parse(document: &[u8]) -> Result<Whole> {
        let mut whole = Whole::default();
        let mut is_whole = false;
        let read = elements(document, |path, text| {
            is_whole |= path.first() == Some(&"CompleteMultipartUploadResult");
            if path == ["CompleteMultipartUploadResult", "ChecksumCRC32C"] {
                whole.crc32c = Some(text);
            }
        });
        let why = match read {
            Ok(()) if is_whole => return Ok(whole),
            Ok(()) => "something else".to_owned(),
            Err(why) => why,
        };
        Err(Error::new(ErrorKind::Corrupt, format!("not the end of an upload to S3: {why}")))
    }
}

impl Refusal {
    /// Reads the body of an answer that is no success. Servers between may answer with something
    /// else, which has no meaning here.
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
        let mut page = Page::default();
        let mut is_list = false;
        let mut is_truncated = false;
        let mut is_encoded = false;
        let mut next = None;
        let mut object = ListedObject::default();
        elements(document, |path, text| {
            match path {
                ["ListBucketResult", "Contents", "Key"] => object.key = text,
                ["ListBucketResult", "Contents", "Size"] => object.size = text.parse().ok(),
                ["ListBucketResult", "Contents", "LastModified"] => object.modified = time(&text),
                ["ListBucketResult", "Contents"] => page.objects.push(std::mem::take(&mut object)),
                ["ListBucketResult", "CommonPrefixes", "Prefix"] => page.prefixes.push(text),
                ["ListBucketResult", "IsTruncated"] => is_truncated = text == "true",
                ["ListBucketResult", "NextContinuationToken"] if !text.is_empty() => {
                    next = Some(text)
                }
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
            let keys = page.objects.iter_mut().map(|object| &mut object.key);
            keys.chain(&mut page.prefixes).try_for_each(decode)?;
        }
        if is_truncated {
            let lacks = || corrupt("there is more, and no token to ask for it with");
            page.next = Some(next.filter(|next| !next.is_empty()).ok_or_else(lacks)?);
        }
        Ok(page)
    }
}

impl Page {
    /// The entries of the "directory" of this prefix; names of directories are without their slash.
    /// The prefix itself may be an object, which stands for the directory.
    pub fn entries_below(&self, prefix: &str) -> Vec<ListedName> {
        let directory = |key: &str| ListedName {
            name: key.strip_suffix('/').unwrap_or(key).to_owned(),
            is_directory: Some(true),
            ..ListedName::default()
        };
        let of_object = |object: &ListedObject| {
            let name = object.key.strip_prefix(prefix)?;
            // Consoles make such objects to have directories without files.
            if name.ends_with('/') {
                return Some(directory(name));
            }
            let ListedObject { size, modified, .. } = *object;
            Some(ListedName { name: name.to_owned(), is_directory: Some(false), size, modified })
        };
        let objects = self.objects.iter().filter_map(of_object);
        let prefixes = self.prefixes.iter().filter_map(|key| key.strip_prefix(prefix));
        let entries = objects.chain(prefixes.map(directory));
        entries.filter(|entry| !entry.name.is_empty()).collect()
    }
}

/// `2009-10-12T17:50:30.000Z`; fractions of seconds are left out.
fn time(text: &str) -> Option<SystemTime> {
    let since = seconds(&text.replace(['-', ':'], ""))?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(since))
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
pub fn elements(
    document: &[u8],
    mut take: impl FnMut(&[&str], String),
) -> std::result::Result<(), String> {
    let mut reader = Reader::from_reader(document);
    let mut path = Vec::<String>::new();
    let mut text = String::new();
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
            Event::Empty(element) => {
                let own = String::from_utf8_lossy(element.local_name().as_ref()).into_owned();
                let names = path.iter().map(String::as_str).chain([&*own]).collect::<Vec<_>>();
                take(&names, String::new());
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
<Contents><Key>d/a+%2B%25%26.root</Key><Size>12</Size><Owner><ID>x</ID></Owner>
<LastModified>2013-05-24T00:00:00.000Z</LastModified></Contents>
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
        let [a, b] = &*page.objects else { panic!("{page:?}") };
        let day = SystemTime::UNIX_EPOCH + Duration::from_secs(1_369_353_600);
        let key = "d/a +%&.root".to_owned();
        let size = Some(12);
        let modified = Some(day);
        assert_eq!(*a, ListedObject { key, size, modified });
        assert_eq!(*b, ListedObject { key: "d/b.root".to_owned(), ..ListedObject::default() });
        assert_eq!(page.prefixes, ["d/e/"]);
        assert_eq!(page.next.as_deref(), Some("1/a+b="));
        let entries = page.entries_below("d/");
        let known: Vec<_> =
            entries.iter().map(|entry| (&*entry.name, entry.size, entry.is_directory)).collect();
        let file = Some(false);
        let expected =
            [("a +%&.root", Some(12), file), ("b.root", None, file), ("e", None, Some(true))];
        assert_eq!(known, expected);
        assert_eq!(entries[0].modified, Some(day));
        let plain = PAGE.replace("<EncodingType>url</EncodingType>", "").replace("true", "false");
        let page = Page::parse(plain.as_bytes()).unwrap();
        assert_eq!(page.objects[0].key, "d/a+%2B%25%26.root");
        assert_eq!(page.next, None);
    }

    #[test]
    fn sizes_and_times_that_are_none_are_not_known() {
        for (from, to) in [("12<", "-1<"), ("12<", "99999999999999999999<"), ("12<", "<")] {
            let page = Page::parse(PAGE.replace(from, to).as_bytes()).unwrap();
            assert_eq!(page.objects[0].size, None, "{to}");
        }
        for wrong in ["yesterday", "", "2013-13-24T00:00:00Z", "9999999-01-01T00:00:00Z"] {
            let page = PAGE.replace("2013-05-24T00:00:00.000Z", wrong);
            let modified = Page::parse(page.as_bytes()).unwrap().objects[0].modified;
            assert_eq!(modified, None, "{wrong}");
        }
        // The object that makes a directory is no file in it.
        let page = PAGE.replace("d/b.root", "d/b/");
        let entries = Page::parse(page.as_bytes()).unwrap().entries_below("d/");
        assert_eq!((&*entries[1].name, entries[1].is_directory), ("b", Some(true)));
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

    #[test]
    fn an_upload_has_a_name_and_an_end() {
        let begun = "<?xml version='1.0'?><InitiateMultipartUploadResult xmlns='x'><Bucket>b\
            </Bucket><Key>k</Key><UploadId>a&amp;b=</UploadId></InitiateMultipartUploadResult>";
        assert_eq!(parse_upload_id(begun.as_bytes()).unwrap(), "a&b=");
        let ended = "<CompleteMultipartUploadResult><ETag>\"x-2\"</ETag><ChecksumCRC32C>AAAAAA==\
            </ChecksumCRC32C></CompleteMultipartUploadResult>";
        let whole = Whole::parse(ended.as_bytes()).unwrap();
        assert_eq!(whole.crc32c.as_deref(), Some("AAAAAA=="));
        for end in 0..begun.len() {
            assert!(parse_upload_id(&begun.as_bytes()[..end]).is_err(), "{end}");
        }
        for end in 0..ended.len() {
            assert!(Whole::parse(&ended.as_bytes()[..end]).is_err(), "{end}");
        }
        for other in [REFUSAL, PAGE, &begun.replace("UploadId", "Else"), &format!("{begun}<a>")] {
            assert_eq!(parse_upload_id(other.as_bytes()).unwrap_err().kind(), ErrorKind::Corrupt);
            assert_eq!(Whole::parse(other.as_bytes()).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }
}
