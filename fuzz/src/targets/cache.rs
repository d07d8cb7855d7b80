//! What a cache on the disk is made of: headers, records and indexes.

use remote::cache::format::{
    ContentId, HEADER_BYTES, Header, Index, Record, Usage, decode_header, decode_index,
    decode_record, encode_header, encode_index, encode_record, record_length,
};

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
    vec![encode_header(&header), records, encode_index(&index)]
}

#[test]
fn the_seeds_are_read() {
    let [header, records, index] = seeds().try_into().unwrap();
    assert_eq!(decode_header(&header).unwrap().usage.uses, 2);
    assert_eq!(decode_record(&CONTENT, &records), Some((1000, &b"basket"[..])));
    assert_eq!(decode_index(&index).unwrap().records.len(), 2);
}
