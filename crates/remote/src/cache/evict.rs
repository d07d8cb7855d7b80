//! Eviction: segments that leave a cache that is full, and those that may take their place. Pure.
//!
//! The order is that of SIEVE (Zhang and others, NSDI 2024): segments stand in the order in which
//! they were begun, and a hand goes over them from the oldest to the newest. One that has been used
//! stays where it is and loses one use; one without goes. New content has to have been missed more
//! often than the segment at the hand was used, as in TinyLFU (Einziger and others, 2017): a set of
//! files that is read again and again and does not fit stays in part, where the least recently used
//! would leave just before it is needed. Uses more than a day ago do not count.

/// Uses of a segment that are counted.
pub const USES_MAX: u32 = 7;
/// Misses of a file that are counted.
pub const MISSES_MAX: u32 = 8;
/// A segment that has not been used for so long may go whatever its uses, seconds.
pub const USED_WITHIN: u64 = 86_400;

/// A segment as the rule sees it; all of them in the order in which they were begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Its size on the disk.
    pub bytes: u64,
    /// See [`Usage`](super::format::Usage).
    pub uses: u32,
    /// Seconds since 1970.
    pub used: u64,
    /// It is open, or pinned.
    pub stays: bool,
}

/// The decision about the segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// These go, by position.
    pub evicted: Vec<usize>,
    /// These have one use less.
    pub aged: Vec<usize>,
    /// Where the hand stands now.
    pub hand: usize,
    /// The new content may come in.
    pub admitted: bool,
}

/// Decides about something new that has been missed `misses` times and for which `needed` bytes
/// have to go. `hand` is where the last decision left it.
pub fn decide(held: &[Held], hand: usize, needed: u64, misses: u32, now: u64) -> Decision {
    let mut decision = Decision { hand, ..Decision::default() };
    let mut room = 0;
    for _ in 0..held.len() {
        if room >= needed {
            break;
        }
        let at = decision.hand % held.len();
        decision.hand = at + 1;
        let segment = held[at];
        if segment.stays {
            continue;
        }
        let uses = if is_idle(&segment, now) { 0 } else { segment.uses };
        // Without a miss before, only idle segments make room.
        if misses > uses || is_idle(&segment, now) {
            decision.evicted.push(at);
            room += segment.bytes;
        } else {
            // With every second miss: else files that are read often would go for files that are
            // read once.
            if segment.uses > 0 && misses.is_multiple_of(2) {
                decision.aged.push(at);
            }
            break;
        }
    }
    decision.admitted = room >= needed;
    if !decision.admitted {
        // For nothing in return nothing has to go.
        decision.evicted.clear();
    }
    decision
}

/// Which segments go so that `needed` bytes are free, whatever is or is not to come: the cap has
/// become smaller, or others have filled the disk.
pub fn shrink(held: &[Held], hand: usize, needed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..held.len()).filter(|at| !held[*at].stays).collect();
    let behind = |at: &usize| (*at + held.len() - hand % held.len().max(1)) % held.len().max(1);
    order.sort_by_key(|at| (held[*at].uses, behind(at)));
    let mut room = 0;
    let goes = |at: &usize| {
        let goes = room < needed;
        room += held[*at].bytes;
        goes
    };
    order.into_iter().take_while(goes).collect()
}

fn is_idle(segment: &Held, now: u64) -> bool {
    now.saturating_sub(segment.used) >= USED_WITHIN
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use super::*;

    /// A cache of so many segments of one byte.
    #[derive(Default)]
    struct Cache {
        names: Vec<u32>,
        held: Vec<Held>,
        hand: usize,
        misses: BTreeMap<u32, u32>,
        room: usize,
        now: u64,
    }

    impl Cache {
        fn of(room: usize) -> Self {
            Cache { room, now: 10 * USED_WITHIN, ..Cache::default() }
        }

        /// Whether it was there.
        fn read(&mut self, name: u32) -> bool {
            if let Some(at) = self.names.iter().position(|held| *held == name) {
                self.held[at].uses = (self.held[at].uses + 1).min(USES_MAX);
                self.held[at].used = self.now;
                return true;
            }
            let misses = self.misses.entry(name).or_default();
            if self.names.len() == self.room {
                let decision = decide(&self.held, self.hand, 1, *misses, self.now);
                self.hand = decision.hand;
                decision.aged.iter().for_each(|at| self.held[*at].uses -= 1);
                *misses = (*misses + 1).min(MISSES_MAX);
                if !decision.admitted {
                    return false;
                }
                for at in decision.evicted.into_iter().rev() {
                    self.misses.insert(self.names.remove(at), 0);
                    self.held.remove(at);
                    self.hand -= usize::from(at < self.hand);
                }
            }
            self.names.push(name);
            self.held.push(Held { bytes: 1, uses: 0, used: self.now, stays: false });
            false
        }

        fn hits(&mut self, reads: impl Iterator<Item = u32>) -> f64 {
            let came: Vec<bool> = reads.map(|name| self.read(name)).collect();
            came.iter().filter(|hit| **hit).count() as f64 / came.len() as f64
        }
    }

    /// S3-FIFO as it was published (Yang and others, SOSP 2023, algorithm 1): a small queue of a
    /// tenth, a main queue with up to three uses, and a queue of names that left the small one.
    struct Reference {
        small: VecDeque<(u32, u32)>,
        main: VecDeque<(u32, u32)>,
        ghosts: VecDeque<u32>,
        room: usize,
    }

    impl Reference {
        fn read(&mut self, name: u32) -> bool {
            let queues = self.small.iter_mut().chain(&mut self.main);
            if let Some((_, uses)) = queues.into_iter().find(|(held, _)| *held == name) {
                *uses = (*uses + 1).min(3);
                return true;
            }
            while self.small.len() + self.main.len() >= self.room {
                self.evict();
            }
            match self.ghosts.iter().position(|ghost| *ghost == name) {
                Some(at) => {
                    self.ghosts.remove(at);
                    self.main.push_back((name, 0));
                }
                None => self.small.push_back((name, 0)),
            }
            false
        }

        fn evict(&mut self) {
            if self.small.len() < self.room / 10 {
                while let Some((name, uses)) = self.main.pop_front() {
                    match uses {
                        0 => return,
                        _ => self.main.push_back((name, uses - 1)),
                    }
                }
            }
            while let Some((name, uses)) = self.small.pop_front() {
                if uses > 1 {
                    self.main.push_back((name, 0));
                } else {
                    self.ghosts.push_back(name);
                    if self.ghosts.len() > self.room {
                        self.ghosts.pop_front();
                    }
                    return;
                }
            }
        }
    }

    /// Where a pass reads half more than the cache holds, the least recently used are always those
    /// that are read next: a cache in that order never had a hit.
    #[test]
    fn passes_over_more_than_fits_find_half_of_it() {
        let passes = (0..20).flat_map(|_| 0..300);
        let hits = Cache::of(200).hits(passes);
        assert!(hits >= 0.5, "{hits}");
    }

    #[test]
    fn a_mix_finds_as_much_as_the_reference() {
        for skew in [0.6, 0.8, 1.0] {
            let weights = (1..1500).map(|rank| 1.0 / f64::from(rank).powf(skew));
            let sums: Vec<f64> = weights
                .scan(0.0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                })
                .collect();
            let mut seed: u64 = 17;
            let reads: Vec<u32> = (0..30_000)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let at = (seed >> 11) as f64 / (1_u64 << 53) as f64 * sums[sums.len() - 1];
                    sums.partition_point(|sum| *sum < at) as u32
                })
                .collect();
            let mut reference = Reference {
                small: VecDeque::new(),
                main: VecDeque::new(),
                ghosts: VecDeque::new(),
                room: 150,
            };
            let expected = reads.iter().filter(|name| reference.read(**name)).count();
            let expected = expected as f64 / reads.len() as f64;
            let hits = Cache::of(150).hits(reads.into_iter());
            assert!(hits > expected - 0.02, "skew {skew}: {hits}, the reference {expected}");
        }
    }

    #[test]
    fn what_was_used_within_a_day_stays_and_what_was_not_goes() {
        let held = |uses, used| Held { bytes: 10, uses, used, stays: false };
        let now = 5 * USED_WITHIN;
        let old = now - USED_WITHIN;
        let decision = decide(&[held(7, old), held(0, now)], 0, 10, 0, now);
        assert_eq!((decision.evicted, decision.admitted), (vec![0], true));
        let decision = decide(&[held(1, now), held(0, old)], 0, 20, 0, now);
        assert_eq!(decision.evicted, [0_usize; 0], "one of them is in use, and both are needed");
        assert_eq!((decision.aged, decision.admitted), (vec![0], false));
        let decision = decide(&[held(1, now), held(0, old)], 0, 20, 1, now);
        assert_eq!((decision.aged, decision.admitted), (vec![], false));
    }

    #[test]
    fn what_is_open_or_pinned_never_goes() {
        let stays = Held { bytes: 10, uses: 0, used: 0, stays: true };
        let goes = Held { stays: false, ..stays };
        let decision = decide(&[stays, goes, stays], 0, 20, 8, USED_WITHIN);
        assert!(!decision.admitted && decision.evicted.is_empty());
        assert_eq!(decide(&[stays, goes, stays], 0, 10, 0, USED_WITHIN).evicted, [1]);
        assert_eq!(shrink(&[stays, goes, stays], 7, 30), [1]);
        assert_eq!(shrink(&[], 3, 30), [0_usize; 0]);
        assert_eq!(decide(&[], 3, 30, 8, 0).evicted, [0_usize; 0]);
    }

    #[test]
    fn what_has_to_go_goes_least_used_first() {
        let held = |uses| Held { bytes: 10, uses, used: 0, stays: false };
        let all = [held(3), held(0), held(1), held(0)];
        assert_eq!(shrink(&all, 2, 15), [3, 1]);
        assert_eq!(shrink(&all, 2, 25), [3, 1, 2]);
    }
}
