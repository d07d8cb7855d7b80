//! Seeded chance, the same on every machine: a lab run with the same seed draws the same numbers.

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, good enough to lose packets by.
#[derive(Debug, Clone)]
pub struct Chance {
    state: u64,
}

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance { state: seed }
    }

    /// True with the given probability; 0 is never, 1 is always.
    pub fn happens(&mut self, probability: f64) -> bool {
        // A double holds 53 bits exactly, so the draw is below 1.
        let draw = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        draw < probability
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_about_as_often_as_asked() {
        let draws = |seed| {
            let mut chance = Chance::new(seed);
            (0..100_000).map(|_| chance.happens(0.01)).collect::<Vec<_>>()
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
        let hits = draws(1).into_iter().filter(|hit| *hit).count();
        assert!((900..1100).contains(&hits), "{hits}");
    }

    #[test]
    fn never_and_always() {
        let mut chance = Chance::new(5);
        assert!((0..1000).all(|_| !chance.happens(0.0) && chance.happens(1.0)));
    }
}
