//! Compression blocks: two bytes with the length of the content, and a payload.

use rootfile::{Codecs, block};

use super::Input;
use crate::Target;

pub const TARGET: Target = Target {
    name: "block",
    run,
    seeds,
    rounds: 20_000,
    // The announced memory is taken once the blocks' headers agree with it.
    memory: (1 << 20, 16),
};

pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let length = usize::from(u16::from_be_bytes([input.byte(), input.byte()]));
    if let Ok(content) = block::decompress(&mut Codecs::default(), input.rest(), length) {
        assert_eq!(content.len(), length);
    }
}

/// `farroot ` a hundred times, as each codec's own tools compress it; the wanted length first.
fn seeds() -> Vec<Vec<u8>> {
    [
        &include_bytes!("../../seeds/block/zlib.bin")[..],
        include_bytes!("../../seeds/block/lzma.bin"),
        include_bytes!("../../seeds/block/lz4.bin"),
        include_bytes!("../../seeds/block/zstd.bin"),
        include_bytes!("../../seeds/block/old.bin"),
    ]
    .map(<[u8]>::to_vec)
    .into()
}

#[test]
fn the_seeds_are_good() {
    for seed in seeds() {
        let content = block::decompress(&mut Codecs::default(), &seed[2..], 800).unwrap();
        assert_eq!(content, b"farroot ".repeat(100));
    }
}
