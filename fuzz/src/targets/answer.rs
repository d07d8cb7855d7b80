//! The answer of a server that selects entries: a stream of Arrow.

use crate::Target;

/// Decoded bytes that the request allows.
const DECODED_MAX: u64 = 4 << 20;

pub const TARGET: Target = Target {
    name: "answer",
    run,
    seeds,
    rounds: 3_000,
    // The decoded bytes, and an array that is checked beside them.
    memory: (4 * DECODED_MAX as usize, 64),
};

pub fn run(data: &[u8]) {
    for piece in [97, 1 << 20] {
        let _ = engine::rows_of_answer(data, piece, DECODED_MAX);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    vec![include_bytes!("../../seeds/answer/columns.arrows").to_vec()]
}

#[test]
fn the_seeds_are_read() {
    for seed in seeds() {
        assert_eq!(engine::rows_of_answer(&seed, 97, DECODED_MAX).unwrap(), 150);
        assert!(engine::rows_of_answer(&seed, 97, 1_000).is_err(), "more than is allowed");
    }
}
