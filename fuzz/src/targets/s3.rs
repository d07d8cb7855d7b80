//! The documents of S3: refusals, pages of a bucket's keys, and answers to uploads.

use remote::source::http::s3::xml::{Page, Refusal, Whole, parse_upload_id};

use crate::Target;

pub const TARGET: Target = Target { name: "s3", run, seeds, rounds: 20_000, memory: (1 << 20, 32) };

pub fn run(data: &[u8]) {
    if let Some(refusal) = Refusal::parse(data) {
        assert!(!refusal.code.is_empty(), "a refusal without a code");
    }
    if let Ok(id) = parse_upload_id(data) {
        assert!(!id.is_empty(), "an upload without a name");
    }
    let _ = Whole::parse(data);
    let Ok(page) = Page::parse(data) else { return };
    let keys = page.objects.iter().map(|object| &object.key);
    let bytes: usize = keys.chain(&page.prefixes).map(String::len).sum();
    // An entity of three letters may stand for a character of four bytes.
    assert!(bytes <= 2 * data.len(), "more text than there was");
    assert!(page.next.as_ref().is_none_or(|next| !next.is_empty()), "no token to go on with");
    for entry in page.entries_below("d/") {
        assert!(!entry.name.is_empty(), "a name of nothing");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let page = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\
                \"><Prefix>d/</Prefix><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>\
                <NextContinuationToken>1/a+b=</NextContinuationToken><Contents><Key>d/a+%2B%25&amp;.root\
                </Key><LastModified>2013-05-24T00:00:00.000Z</LastModified>\
                <Size>12</Size></Contents><CommonPrefixes><Prefix>d/e/</Prefix></CommonPrefixes>\
                </ListBucketResult>";
    let refusal = "<Error><Code>AuthorizationHeaderMalformed</Code><Message>&#34;x&apos;</Message>\
                   <Region>eu-central-1</Region></Error>";
    let begun = "<InitiateMultipartUploadResult><UploadId>a&amp;b</UploadId>\
                 </InitiateMultipartUploadResult>";
    let ended = "<CompleteMultipartUploadResult><ChecksumCRC32C>AAAAAA==</ChecksumCRC32C>\
                 </CompleteMultipartUploadResult>";
    vec![page.into(), refusal.into(), begun.into(), ended.into()]
}

#[test]
fn the_seeds_are_read() {
    let [page, refusal, begun, ended] = seeds().try_into().unwrap();
    let entries = Page::parse(&page).unwrap().entries_below("d/");
    assert_eq!(entries.iter().map(|entry| &*entry.name).collect::<Vec<_>>(), ["a +%&.root", "e"]);
    assert!(entries[0].size == Some(12) && entries[0].modified.is_some());
    assert_eq!(Refusal::parse(&refusal).unwrap().region.as_deref(), Some("eu-central-1"));
    assert_eq!(parse_upload_id(&begun).unwrap(), "a&b");
    assert_eq!(Whole::parse(&ended).unwrap().crc32c.as_deref(), Some("AAAAAA=="));
}
