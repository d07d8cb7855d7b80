//! Blocks written by ROOT 6.40's own `R__zipMultipleAlgorithm`, level 5, from [`CONTENT`].

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

const CONTENT: &[u8] = b"farroot farroot farroot farroot farroot farroot farroot farroot ";

#[rustfmt::skip]
const ZL: &[u8] = &[
    b'Z', b'L', 8,                                  // algorithm, Z_DEFLATED
    0x13, 0, 0,  0x40, 0, 0,                        // 19 bytes, of 64
    0x78, 0x5e,                                     // zlib header
    0x4b, 0x4b, 0x2c, 0x2a, 0xca, 0xcf, 0x2f, 0x51, 0x48, 0x23, 0x93, 0x06, 0x00,
    0x30, 0x3d, 0x18, 0xe9,                         // Adler-32
];
#[rustfmt::skip]
const CS: &[u8] = &[
    b'C', b'S', 8,
    0x0d, 0, 0,  0x40, 0, 0,
    0x4b, 0x4b, 0x2c, 0x2a, 0xca, 0xcf, 0x2f, 0x51, 0x48, 0x23, 0x93, 0x06, 0x00,
];
#[rustfmt::skip]
const XZ: &[u8] = &[
    b'X', b'Z', 0,
    0x48, 0, 0,  0x40, 0, 0,
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, // stream header
    0x02, 0x00, 0x21, 0x01, 0x00, 0x00, 0x00, 0x00, 0x37, 0x27, 0x97, 0xd6, // block header
    0xe0, 0x00, 0x3f, 0x00, 0x0e, 0x5d, 0x00, 0x33, 0x18, 0x4a, 0xbd, 0xfc, // LZMA2
    0x1e, 0x76, 0x5d, 0x16, 0xae, 0x9d, 0xf0, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xd9, 0x96, 0xfc, 0xf3,                                                 // CRC-32
    0x00, 0x01, 0x26, 0x40, 0x9f, 0x77, 0x84, 0x95,                         // index
    0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a, // stream footer
];
#[rustfmt::skip]
const L4: &[u8] = &[
    b'L', b'4', 1,
    0x1a, 0, 0,  0x40, 0, 0,
    0x79, 0x69, 0x07, 0xf4, 0x64, 0x7d, 0x23, 0x46,  // XXH64, big-endian
    0x8f, 0x66, 0x61, 0x72, 0x72, 0x6f, 0x6f, 0x74, 0x20, 0x08, 0x00, 0x20,
    0x50, 0x72, 0x6f, 0x6f, 0x74, 0x20,
];
#[rustfmt::skip]
const ZS: &[u8] = &[
    b'Z', b'S', 1,
    0x17, 0, 0,  0x40, 0, 0,
    0x28, 0xb5, 0x2f, 0xfd,                          // frame magic
    0x20, 0x40, 0x75, 0x00, 0x00, 0x40, 0x66, 0x61, 0x72, 0x72, 0x6f, 0x6f, 0x74, 0x20,
    0x01, 0x00, 0xdd, 0x59, 0xb8,
];
const ALL: [&[u8]; 5] = [ZL, CS, XZ, L4, ZS];

fn unpack(payload: &[u8], len: usize) -> Result<Vec<u8>> {
    decompress(&mut Codecs::new(), payload, len)
}

fn kind(result: Result<Vec<u8>>) -> ErrorKind {
    result.unwrap_err().kind
}

#[test]
fn reads_what_root_wrote() {
    for payload in ALL {
        assert_eq!(unpack(payload, CONTENT.len()).unwrap(), CONTENT);
    }
}

#[test]
fn joins_blocks_of_any_algorithm_with_one_set_of_codecs() {
    let mut codecs = Codecs::new();
    let payload = [ZS, L4, ZL, XZ, CS, ZS, ZL].concat();
    let mut content = b"left over from before".to_vec();
    for _ in 0..2 {
        let content =
            decompress_into(&mut codecs, &payload, 7 * CONTENT.len(), &mut content).unwrap();
        assert_eq!(content, CONTENT.repeat(7));
    }
}

#[test]
fn payload_as_long_as_its_content_is_the_content() {
    assert_eq!(unpack(ZL, ZL.len()).unwrap(), ZL);
    assert_eq!(unpack(b"", 0).unwrap(), b"");
}

#[test]
fn every_truncation_is_an_error() {
    for payload in ALL {
        for len in 0..payload.len() {
            // As long as the content and thus not compressed: nothing is left to contradict.
            if len != CONTENT.len() {
                assert!(unpack(&payload[..len], CONTENT.len()).is_err(), "{len} of {payload:?}");
            }
        }
    }
}

#[test]
fn a_tail_is_an_error() {
    for payload in ALL {
        for tail in [&b"\0"[..], b"ZL", ZL] {
            let long = [payload, tail].concat();
            if long.len() != CONTENT.len() {
                assert!(unpack(&long, CONTENT.len()).is_err(), "{tail:?} after {payload:?}");
            }
        }
    }
}

#[test]
fn a_size_that_lies_is_an_error() {
    for payload in ALL {
        for lie in [CONTENT.len() - 1, CONTENT.len() + 1] {
            assert!(matches!(kind(unpack(payload, lie)), ErrorKind::Corrupt(_)), "record");
            let mut block = payload.to_vec();
            block[6] = lie as u8;
            assert!(matches!(kind(unpack(&block, lie)), ErrorKind::Corrupt(_)), "block and record");
            assert!(unpack(&block, CONTENT.len()).is_err(), "block only");
        }
    }
}

#[test]
fn absurd_sizes_cost_no_memory() {
    let mut huge = ZL.to_vec();
    huge[6..9].copy_from_slice(&[0xff; 3]);
    let mut content = Vec::new();
    let mut codecs = Codecs::new();
    for len in [CONTENT.len(), i32::MAX as usize, usize::MAX] {
        assert!(decompress_into(&mut codecs, &huge, len, &mut content).is_err());
        assert!(decompress_into(&mut codecs, ZL, len / 2, &mut content).is_err());
    }
    assert!(content.capacity() < 1024, "took {}", content.capacity());
    // The header is believed for one block, and no further.
    assert!(decompress_into(&mut codecs, &huge, 0xff_ffff, &mut content).is_err());
    assert!(content.capacity() <= 1 << 24);
}

#[test]
fn an_empty_block_is_an_error() {
    let empty = [b'Z', b'L', 8, 0, 0, 0, 0, 0, 0];
    assert!(unpack(&[&empty[..], ZL].concat(), CONTENT.len()).is_err());
}

#[test]
fn a_wrong_lz4_checksum_is_called_so() {
    let mut block = L4.to_vec();
    block[HEADER_LEN] ^= 1;
    assert!(matches!(kind(unpack(&block, CONTENT.len())), ErrorKind::Checksum(_)));
}

#[test]
fn errors_name_the_block() {
    let mut payload = [ZS, ZS].concat();
    payload[ZS.len() + HEADER_LEN] ^= 1;
    assert_eq!(unpack(&payload, 2 * CONTENT.len()).unwrap_err().path, "block at 32");
    payload[ZS.len()] = b'?';
    let message = unpack(&payload, 2 * CONTENT.len()).unwrap_err().to_string();
    assert_eq!(message, "block at 32: corrupt: no compression block starts with \"?S\\x01\"");
}

proptest! {
    #[test]
    fn any_change_gives_the_content_or_an_error(
        which in 0..ALL.len(), at in any::<prop::sample::Index>(), mask in 1u8..,
    ) {
        let mut payload = ALL[which].to_vec();
        let at = at.index(payload.len());
        payload[at] ^= mask;
        // Deflate alone has no checksum.
        let content = unpack(&payload, CONTENT.len());
        prop_assert!(content.as_ref().map_or(true, |c| c.len() == CONTENT.len()));
        if [XZ, L4].contains(&ALL[which]) && at >= HEADER_LEN {
            prop_assert!(content.is_err() || content.as_deref() == Ok(CONTENT));
        }
    }

    #[test]
    fn noise_is_refused(payload in prop::collection::vec(any::<u8>(), 1..200), len in 200usize..) {
        prop_assert!(unpack(&payload, len).is_err());
    }
}
