//! Files of a cache on the disk: headers, records, indexes and notices.

use remote::cache::format::{
    ContentId, HEADER_BYTES, Header, Index, Record, Usage, decode_header, decode_index,
    decode_record, encode_header, encode_index, encode_record, record_length,
};
use remote::cache::notices::record::{NOTICE_BYTES, Notice, Subject, decode_notice, encode_notice};

use crate::Target;

pub const TARGET: Target =
    Target { name: "cache", run, seeds, rounds: 20_000, memory: (1 << 16, 8) };

const CONTENT: ContentId = *b"0123456789abcdef";

pub fn run(data: &[u8]) {
    if let Some(header) = decode_header(data) {
        assert_eq!(encode_header(&header), data[..HEADER_BYTES as usize]);
    }
    let mut rest = data;
    while let Some((offset, bytes)) = decode_record(&CONTENT, rest) {
        let mut again = Vec::new();
        encode_record(&CONTENT, offset, bytes, &mut again);
        assert_eq!(record_length(rest), Some(again.len() as u64));
        assert!(rest.starts_with(&again), "a record that was not written so");
        rest = &rest[again.len()..];
    }
    if let Some(notice) = decode_notice(data) {
        assert_eq!(encode_notice(&notice), data[..NOTICE_BYTES]);
    }
    if let Some(index) = decode_index(data) {
        assert!(index.records.iter().all(|record| record.end() <= index.covers));
        assert_eq!(encode_index(&index), data);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let usage = Usage { used: 1_800_000_000, uses: 2 };
    let header = Header { content: CONTENT, begun: 1_790_000_000, usage };
    let mut records = Vec::new();
    encode_record(&CONTENT, 1000, b"basket", &mut records);
    encode_record(&CONTENT, 5000, b"another basket", &mut records);
    let record = |offset, position| Record { offset, length: 6, position };
    let held = vec![record(1000, HEADER_BYTES), record(5000, HEADER_BYTES + 26)];
    let index = Index { content: CONTENT, covers: HEADER_BYTES + 52, records: held };
    let notice = Notice { process: 3, range: 1000..1006, subject: Subject::Fetching };
    let notice = encode_notice(&notice).to_vec();
    vec![encode_header(&header), records, encode_index(&index), notice]
}

#[test]
fn the_seeds_are_read() {
    let [header, records, index, notice] = seeds().try_into().unwrap();
    assert_eq!(decode_header(&header).unwrap().usage.uses, 2);
    assert_eq!(decode_record(&CONTENT, &records), Some((1000, &b"basket"[..])));
    assert_eq!(decode_index(&index).unwrap().records.len(), 2);
    assert_eq!(decode_notice(&notice).unwrap().process, 3);
}
