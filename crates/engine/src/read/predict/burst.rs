//! Neighbours that are fetched with a branch that is touched for the first time.
//!
//! Where one such branch is touched, more may follow, each of which would cost a round trip of its
//! own. So it brings as many bytes as the link delivers in half a round trip; that costs less than
//! a right guess saves, and not much where the guess is wrong. The next one in the same step brings
//! twice as many, and so on. Where nothing followed, the next burst is half as large.

/// How many bytes of branches never touched before come with one of them.
#[derive(Debug, Default)]
pub struct ColdStartBurst {
    /// The step of the last one, and how many there were in it.
    step: u64,
    in_step: u32,
    /// Bursts that brought nothing the reader used, less those that did.
    doubt: u32,
}

impl ColdStartBurst {
    /// Bytes of a further burst in a step, on links that hold `pipe_bytes`.
    pub fn bytes(&mut self, step: u64, pipe_bytes: u64) -> u64 {
        if self.in_step > 0 && step == self.step {
            self.in_step += 1;
            self.doubt = self.doubt.saturating_sub(1);
        } else {
            self.doubt += u32::from(self.in_step == 1);
            (self.step, self.in_step) = (step, 1);
        }
        let first = pipe_bytes.checked_shr(self.doubt + 1).unwrap_or(0);
        first.saturating_mul(1u64.checked_shl(self.in_step - 1).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(steps: &[u64]) -> Vec<u64> {
        let mut burst = ColdStartBurst::default();
        steps.iter().map(|step| burst.bytes(*step, 1600)).collect()
    }

    #[test]
    fn they_grow_while_more_is_touched_and_shrink_where_nothing_follows() {
        assert_eq!(burst(&[5, 5, 5, 5]), [800, 1600, 3200, 6400]);
        assert_eq!(burst(&[5, 6, 7, 9]), [800, 400, 200, 100]);
        assert_eq!(burst(&[5, 6, 6, 7]), [800, 400, 1600, 800]);
        assert_eq!(burst(&[5; 200]).last(), Some(&u64::MAX));
        let lonely: Vec<u64> = (0..100).collect();
        assert_eq!(burst(&lonely).last(), Some(&0));
    }
}
