//! Eviction: segments that leave a cache that is full, and those that may take their place. Pure.
//!
//! The order is that of SIEVE (Zhang and others, NSDI 2024): segments stand in the order in which
//! they were begun, and a hand goes over them from the oldest to the newest. One that has been used
//! stays where it is and loses one use; one without goes. New content has to have been missed more
//! often than the segment at the hand was used, as in TinyLFU (Einziger and others, 2017): a set of
//! files that is read again and again and does not fit stays in part, where the least recently used
//! would leave just before it is needed. Uses more than a day ago do not count.

use super::disks::DiskNumber;
use crate::charges::Charges;

/// Uses of a segment that are counted.
pub const USES_MAX: u32 = 7;
/// Misses of a file that are counted.
pub const MISSES_MAX: u32 = 8;
/// A segment that has not been used for so long may go whatever its uses, seconds.
pub const USED_WITHIN: u64 = 86_400;

/// A segment as the rule sees it; all of them in the order in which they were begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Its size on the disk.
    pub bytes: u64,
    /// See [`Usage`](super::format::Usage).
    pub uses: u32,
    /// Seconds since 1970.
    pub used: u64,
    /// It is open, or pinned.
    pub stays: bool,
    /// Where it is.
    pub disk: DiskNumber,
    /// The quotas that it is charged to.
    pub charges: Charges,
}

/// Segments that have one limit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitScope {
    /// All on a disk.
    Disk(DiskNumber),
    /// All that are charged to the quota at this position.
    Quota(usize),
}

impl LimitScope {
    /// Whether a segment is one of them.
    pub fn has(self, held: &Held) -> bool {
        match self {
            LimitScope::Disk(number) => held.disk == number,
            LimitScope::Quota(at) => held.charges.has(at),
        }
    }

    /// The positions of its segments.
    pub fn members(self, held: &[Held]) -> Vec<usize> {
        (0..held.len()).filter(|at| self.has(&held[*at])).collect()
    }

    /// Their bytes.
    pub fn bytes(self, held: &[Held]) -> u64 {
        held.iter().filter(|held| self.has(held)).map(|held| held.bytes).sum()
    }
}

/// A limit that something new has to respect.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Whose limit it is.
    pub scope: LimitScope,
    /// Bytes of these segments at the most.
    pub bytes_max: u64,
    /// Bytes that are to come.
    pub wanted: u64,
    /// Bytes that have to go in any case.
    pub lacking: u64,
    /// Where the last decision has left the hand: before this one of the scope's segments.
    pub hand: usize,
}

impl Budget {
    /// Bytes that have to go.
    pub fn needed(&self, held: &[Held]) -> u64 {
        let taken = self.scope.bytes(held).saturating_add(self.wanted);
        taken.saturating_sub(self.bytes_max).max(self.lacking)
    }
}

/// The decision about the segments of several limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JointDecision {
    /// These go, by position.
    pub evicted: Vec<usize>,
    /// These have one use less.
    pub aged: Vec<usize>,
    /// Where the hands stand now, of the limits that were looked at.
    pub hands: Vec<usize>,
    /// The first limit for which too little may go; `None`: the new content may come in.
    pub refused_by: Option<LimitScope>,
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

/// Decides about something new that has to respect several limits: for each of them only its own
/// segments go, and those that go for one count for the next.
pub fn decide_jointly(held: &[Held], budgets: &[Budget], misses: u32, now: u64) -> JointDecision {
    let mut joint = JointDecision::default();
    for budget in budgets {
        let members = budget.scope.members(held);
        let gone = |at: &&usize| joint.evicted.contains(at);
        let freed: u64 = members.iter().filter(gone).map(|at| held[*at].bytes).sum();
        let as_seen = |at: &usize| Held { stays: held[*at].stays || gone(&at), ..held[*at] };
        let own: Vec<Held> = members.iter().map(as_seen).collect();
        let needed = budget.needed(held).saturating_sub(freed);
        let decision = decide(&own, budget.hand, needed, misses, now);
        joint.hands.push(decision.hand);
        joint.aged.extend(decision.aged.iter().map(|at| members[*at]));
        joint.evicted.extend(decision.evicted.iter().map(|at| members[*at]));
        if !decision.admitted {
            joint.refused_by = Some(budget.scope);
            joint.evicted.clear();
            break;
        }
    }
    joint
}

/// Which segments go so that a limit is respected that has become smaller: the least used first.
pub fn surplus(held: &[Held], scope: LimitScope, bytes_max: u64) -> Vec<usize> {
    let members = scope.members(held);
    let own: Vec<Held> = members.iter().map(|at| held[*at]).collect();
    let goes = shrink(&own, 0, scope.bytes(held).saturating_sub(bytes_max));
    goes.into_iter().map(|at| members[at]).collect()
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
            self.held.push(Held { bytes: 1, used: self.now, ..Held::default() });
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
        let held = |uses, used| Held { bytes: 10, uses, used, ..Held::default() };
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
        let stays = Held { bytes: 10, stays: true, ..Held::default() };
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
        let held = |uses| Held { bytes: 10, uses, ..Held::default() };
        let all = [held(3), held(0), held(1), held(0)];
        assert_eq!(shrink(&all, 2, 15), [3, 1]);
        assert_eq!(shrink(&all, 2, 25), [3, 1, 2]);
    }

    const NOW: u64 = 5 * USED_WITHIN;

    /// A segment of 10 bytes that was just begun, charged to these quotas.
    fn charged(quotas: &[usize]) -> Held {
        let charges = Charges::of(quotas.iter().copied());
        Held { bytes: 10, used: NOW, charges, ..Held::default() }
    }

    fn budget(scope: LimitScope, bytes_max: u64, wanted: u64) -> Budget {
        Budget { scope, bytes_max, wanted, lacking: 0, hand: 0 }
    }

    #[test]
    fn a_full_quota_evicts_its_own_contents_alone() {
        let held = [charged(&[]), charged(&[1]), charged(&[0]), charged(&[0]), charged(&[])];
        let quota = budget(LimitScope::Quota(0), 20, 10);
        let disk = budget(LimitScope::Disk(0), 1000, 10);
        let decision = decide_jointly(&held, &[quota, disk], 1, NOW);
        assert_eq!((decision.evicted, decision.refused_by), (vec![2], None));
        // In the order of eviction: not without a miss before, and nothing that is used as often.
        let decision = decide_jointly(&held, &[quota, disk], 0, NOW);
        assert_eq!((decision.evicted, decision.refused_by), (vec![], Some(LimitScope::Quota(0))));
        // What goes for the quota counts for the disk, which then takes others' by its own order.
        let full = budget(LimitScope::Disk(0), 50, 20);
        let decision = decide_jointly(&held, &[quota, full], 1, NOW);
        assert_eq!((decision.evicted, decision.refused_by), (vec![2, 0], None));
        // On another disk it does not.
        let decision = decide_jointly(&held, &[quota, budget(LimitScope::Disk(1), 0, 0)], 1, NOW);
        assert_eq!((decision.evicted, decision.refused_by), (vec![2], None));
    }

    #[test]
    fn where_nothing_of_a_quota_may_go_nothing_of_others_does() {
        let pinned = Held { stays: true, ..charged(&[0]) };
        let held = [charged(&[]), pinned, charged(&[1]), pinned];
        let quota = budget(LimitScope::Quota(0), 20, 10);
        let full = budget(LimitScope::Disk(0), 40, 10);
        let decision = decide_jointly(&held, &[quota, full], 8, NOW);
        assert_eq!((decision.evicted, decision.refused_by), (vec![], Some(LimitScope::Quota(0))));
        // The disk has no room: what would have gone for the quota stays.
        let held = [charged(&[0]), Held { stays: true, ..charged(&[]) }];
        let quota = budget(LimitScope::Quota(0), 10, 10);
        let decision = decide_jointly(&held, &[quota, budget(LimitScope::Disk(0), 10, 10)], 8, NOW);
        assert_eq!((decision.evicted, decision.refused_by), (vec![], Some(LimitScope::Disk(0))));
    }

    #[test]
    fn a_quota_of_nothing_admits_nothing() {
        let held = [charged(&[0]), charged(&[])];
        for misses in [0, 8] {
            let decision = decide_jointly(
                &held,
                &[budget(LimitScope::Quota(0), 0, 1)],
                misses,
                9 * USED_WITHIN,
            );
            assert_eq!(
                (decision.evicted, decision.refused_by),
                (vec![], Some(LimitScope::Quota(0)))
            );
        }
        assert_eq!(surplus(&held, LimitScope::Quota(0), 0), [0]);
        assert_eq!(surplus(&held, LimitScope::Quota(0), 10), [0_usize; 0]);
        assert_eq!(surplus(&[], LimitScope::Quota(0), 0), [0_usize; 0]);
    }

    #[test]
    fn a_content_of_several_quotas_has_to_respect_all() {
        let held = [charged(&[0]), charged(&[0, 1]), charged(&[1])];
        let both = [budget(LimitScope::Quota(0), 20, 10), budget(LimitScope::Quota(1), 20, 10)];
        // The first one that goes is of one quota alone.
        let decision = decide_jointly(&held, &both, 1, NOW);
        assert_eq!((decision.evicted, decision.hands), (vec![0, 1], vec![1, 1]));
        // One that is of both counts for both.
        let first = Budget { hand: 1, ..both[0] };
        let decision = decide_jointly(&held, &[first, both[1]], 1, NOW);
        assert_eq!((decision.evicted, decision.refused_by), (vec![1], None));
        let narrow = [both[0], budget(LimitScope::Quota(1), 5, 10)];
        let decision = decide_jointly(&held, &narrow, 1, NOW);
        assert_eq!((decision.evicted, decision.refused_by), (vec![], Some(LimitScope::Quota(1))));
    }
}
