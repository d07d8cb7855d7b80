//! Mutations that a number determines: the same number, the same mutation.

/// A small generator of numbers (splitmix64); not for secrets.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.number() % limit as u64) as usize }
    }
}

/// Numbers at which counts and offsets break.
const EDGES: [u64; 10] =
    [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];

/// Changes `seed` in one to four places.
pub fn mutated(seed: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len());
        match chance.below(8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, chance.number() as u8),
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            3 => {
                // A piece from elsewhere, as it would stand if an offset were wrong.
                let from = chance.below(bytes.len());
                let length = chance.below(64).min(bytes.len() - from).min(bytes.len() - at);
                bytes.copy_within(from..from + length, at);
            }
            4 | 5 => {
                let width = [1, 2, 4, 8][chance.below(4)];
                let edge = EDGES[chance.below(EDGES.len())].to_be_bytes();
                let end = (at + width).min(bytes.len());
                bytes[at..end].copy_from_slice(&edge[8 - (end - at)..]);
            }
            6 if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
            _ if !bytes.is_empty() => bytes[at] = chance.number() as u8,
            _ => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_determines_its_mutation_and_most_change_something() {
        let seed: Vec<u8> = (0..100).collect();
        let all = |start: u64| -> Vec<Vec<u8>> {
            (start..start + 200).map(|number| mutated(&seed, &mut Chance::new(number))).collect()
        };
        assert_eq!(all(0), all(0));
        assert!(all(0).iter().filter(|bytes| **bytes != seed).count() > 180);
        let mut chance = Chance::new(1);
        for _ in 0..200 {
            mutated(&[], &mut chance);
        }
    }
}
