//! The parts of a caller's time: every moment between the first call and the last answer belongs to
//! exactly one phase or to the caller, so that the parts sum up to the whole.
//!
//! An activity is a piece of work that a caller may wait for: an open, a look at metadata, a read
//! in batches. It is in one phase at a time. A moment counts for the phase of the activity that is
//! waited for; where several are, for the earliest phase among them; where none is, the time is the
//! caller's own. Pure: the time is an argument.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;

/// Spells kept for the timeline; sums go on beyond them.
const SPELLS_KEPT: usize = 20_000;

/// Phases of an activity, in the order in which a read goes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// No connection to the file's server is usable yet.
    Connecting,
    /// The open has been sent to the server.
    Opening,
    /// The file's own directory and trees are being fetched and understood.
    Metadata,
    /// Baskets of the batch in question have not arrived.
    Bytes,
    /// They have, and are being decompressed and decoded.
    Decoding,
    /// Decoded baskets are being joined to columns and handed over.
    Joining,
}

impl Phase {
    /// In the order in which a read passes them.
    pub const ALL: [Phase; 6] = [
        Phase::Connecting,
        Phase::Opening,
        Phase::Metadata,
        Phase::Bytes,
        Phase::Decoding,
        Phase::Joining,
    ];

    /// As the report and the timeline call it.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Connecting => "connecting",
            Phase::Opening => "opening",
            Phase::Metadata => "metadata",
            Phase::Bytes => "waiting for bytes",
            Phase::Decoding => "decoding",
            Phase::Joining => "joining",
        }
    }
}

/// A caller waited so long for one phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spell {
    /// Since the engine started.
    pub time: Range<Duration>,
    /// The phase that lasted.
    pub phase: Phase,
    /// The trace's number of the file concerned.
    pub file: Option<u32>,
}

/// Time by phase, for one file or for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent {
    /// In the order of [`Phase::ALL`].
    phases: [Duration; 6],
    /// Times at which a caller found that bytes of its batch were lacking.
    pub stalls: u64,
    /// From the first activity to the last moment at which a caller waited.
    pub span: Option<Range<Duration>>,
}

impl Spent {
    /// Waits of one phase.
    pub fn on(&self, phase: Phase) -> Duration {
        self.phases[phase as usize]
    }

    /// Waits of all phases.
    pub fn waited(&self) -> Duration {
        self.phases.iter().sum()
    }

    /// From the first call to the last answer.
    pub fn wall(&self) -> Duration {
        self.span.as_ref().map_or(Duration::ZERO, |span| span.end.saturating_sub(span.start))
    }

    fn begin(&mut self, now: Duration) {
        self.span.get_or_insert(now..now);
    }

    fn add(&mut self, time: Range<Duration>, phase: Phase) {
        self.phases[phase as usize] += time.end - time.start;
        self.begin(time.start);
        self.reach(time.end);
    }

    fn reach(&mut self, now: Duration) {
        if let Some(span) = &mut self.span {
            span.end = span.end.max(now);
        }
    }

    /// Adds the time that an activity has spent before its file was known.
    fn join(&mut self, other: &Spent) {
        for (mine, theirs) in self.phases.iter_mut().zip(other.phases) {
            *mine += theirs;
        }
        self.stalls += other.stalls;
        if let Some(theirs) = &other.span {
            let start =
                self.span.as_ref().map_or(theirs.start, |mine| mine.start.min(theirs.start));
            let end = self.span.as_ref().map_or(theirs.end, |mine| mine.end.max(theirs.end));
            self.span = Some(start..end);
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Activity {
    phase: Phase,
    file: Option<u32>,
    waiters: u32,
    /// Up to which time its waits are booked, where it is waited for.
    booked: Duration,
    /// This wait has been counted as a stall.
    is_stalled: bool,
    before_file: Spent,
}

impl Activity {
    /// Whether a wait for bytes since it was last booked is one that has not been counted.
    fn stalls(&self, now: Duration) -> bool {
        self.phase == Phase::Bytes && !self.is_stalled && self.booked < now
    }
}

/// The time that was spent on a file.
#[derive(Debug, Clone, Default, PartialEq)]
struct FileTime {
    spent: Spent,
    /// Of each phase the number of activities that are waited for.
    waited_for: [u32; 6],
    /// Up to which time it is booked.
    booked: Duration,
}

impl FileTime {
    fn book(&mut self, now: Duration) {
        let time = self.booked..now.max(self.booked);
        self.booked = time.end;
        let earliest = Phase::ALL.into_iter().find(|phase| self.waited_for[*phase as usize] > 0);
        if let Some(phase) = earliest.filter(|_| !time.is_empty()) {
            self.spent.add(time, phase);
        }
    }
}

/// The accounts of an engine. A change costs as much however many activities there are: each is
/// booked when it changes itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    now: Duration,
    last: u64,
    activities: BTreeMap<u64, Activity>,
    /// The activities that are waited for, those in the earliest phase first.
    waited_for: BTreeSet<(Phase, u64)>,
    total: Spent,
    files: BTreeMap<u32, FileTime>,
    spells: VecDeque<Spell>,
}

impl Ledger {
    /// A piece of work begins; returns its number.
    pub fn begin(&mut self, now: Duration, phase: Phase, file: Option<u32>) -> u64 {
        self.advance(now);
        self.last += 1;
        let mut before_file = Spent::default();
        match file {
            Some(file) => self.files.entry(file).or_default().spent.begin(now),
            None => before_file.begin(now),
        }
        let state =
            Activity { phase, file, waiters: 0, booked: now, is_stalled: false, before_file };
        self.activities.insert(self.last, state);
        self.last
    }

    /// The activity goes over to another phase.
    pub fn enter(&mut self, now: Duration, activity: u64, phase: Phase) {
        self.change(now, activity, |state| {
            if state.phase != phase {
                state.phase = phase;
                state.is_stalled = false;
            }
        });
    }

    /// The activity turns out to be about this file.
    pub fn belongs(&mut self, now: Duration, activity: u64, file: u32) {
        let has_none = |state: &Activity| state.file.is_none();
        if self.activities.get(&activity).is_some_and(has_none) {
            self.files.entry(file).or_default();
        }
        let mut before_file = Spent::default();
        self.change(now, activity, |state| {
            if state.file.is_none() {
                state.file = Some(file);
                before_file = std::mem::take(&mut state.before_file);
            }
        });
        if let Some(time) = self.files.get_mut(&file) {
            time.spent.join(&before_file);
        }
    }

    /// A caller begins to wait for the activity.
    pub fn wait(&mut self, now: Duration, activity: u64) {
        let is_known = self.change(now, activity, |state| {
            state.waiters += 1;
            state.is_stalled &= state.waiters > 1;
        });
        if is_known {
            self.total.begin(now);
        }
    }

    /// A caller stops waiting for the activity.
    pub fn leave(&mut self, now: Duration, activity: u64) {
        let mut file = None;
        let is_known = self.change(now, activity, |state| {
            state.waiters = state.waiters.saturating_sub(1);
            file = state.file;
            if file.is_none() {
                state.before_file.reach(now);
            }
        });
        if is_known {
            self.total.reach(now);
        }
        if let Some(time) = file.and_then(|file| self.files.get_mut(&file)) {
            time.spent.reach(now);
        }
    }

    /// The piece of work is done or given up.
    pub fn end(&mut self, now: Duration, activity: u64) {
        self.change(now, activity, |state| state.waiters = 0);
        self.activities.remove(&activity);
    }

    /// Books an activity, and changes it; whether there is such a one.
    fn change(&mut self, now: Duration, activity: u64, change: impl FnOnce(&mut Activity)) -> bool {
        self.advance(now);
        let Some(state) = self.activities.get_mut(&activity) else { return false };
        if state.waiters > 0 {
            self.waited_for.remove(&(state.phase, activity));
            let mut file = state.file.and_then(|file| self.files.get_mut(&file));
            if let Some(time) = &mut file {
                time.book(self.now);
                let waited_for = &mut time.waited_for[state.phase as usize];
                *waited_for = waited_for.saturating_sub(1);
            }
            let stalls = u64::from(state.stalls(self.now));
            state.is_stalled |= stalls > 0;
            self.total.stalls += stalls;
            match file {
                Some(time) => time.spent.stalls += stalls,
                None if state.file.is_none() && state.booked < self.now => {
                    state.before_file.stalls += stalls;
                    state.before_file.add(state.booked..self.now, state.phase);
                }
                None => {}
            }
        }
        change(state);
        state.booked = self.now;
        if state.waiters > 0 {
            self.waited_for.insert((state.phase, activity));
            // There is none after `forget`.
            if let Some(time) = state.file.and_then(|file| self.files.get_mut(&file)) {
                time.book(self.now);
                time.waited_for[state.phase as usize] += 1;
            }
        }
        true
    }

    /// Removes the sums of a file; the sums of all files stay.
    pub fn forget(&mut self, file: u32) {
        self.files.remove(&file);
    }

    /// The number of files whose sums are kept.
    pub fn files_kept(&self) -> usize {
        self.files.len()
    }

    /// The time spent by all, or on one file.
    pub fn spent(&self, file: Option<u32>) -> Spent {
        let mut spent = match file {
            None => self.total.clone(),
            Some(file) => {
                let mut time = self.files.get(&file).cloned().unwrap_or_default();
                time.book(self.now);
                time.spent
            }
        };
        let waits = self.waited_for.range((Phase::Bytes, 0)..(Phase::Decoding, 0));
        let waiting = waits.filter_map(|(_, activity)| self.activities.get(activity));
        let stalls =
            |state: &&Activity| (file.is_none() || state.file == file) && state.stalls(self.now);
        spent.stalls += waiting.filter(stalls).count() as u64;
        spent
    }

    /// The latest waits, in the order of time.
    pub fn spells(&self) -> impl Iterator<Item = &Spell> {
        self.spells.iter()
    }

    /// Books the time since the last change.
    pub fn advance(&mut self, now: Duration) {
        let time = self.now..now.max(self.now);
        self.now = time.end;
        if time.is_empty() {
            return;
        }
        if let Some((phase, activity)) = self.waited_for.first().copied() {
            let file = self.activities.get(&activity).and_then(|state| state.file);
            self.total.add(time.clone(), phase);
            self.keep(Spell { time, phase, file });
        }
    }

    fn keep(&mut self, spell: Spell) {
        if let Some(last) = self.spells.back_mut()
            && (last.phase, last.file, last.time.end) == (spell.phase, spell.file, spell.time.start)
        {
            last.time.end = spell.time.end;
            return;
        }
        if self.spells.len() == SPELLS_KEPT {
            self.spells.pop_front();
        }
        self.spells.push_back(spell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn seconds(spent: &Spent) -> [u64; 6] {
        spent.phases.map(|time| time.as_secs())
    }

    #[test]
    fn every_moment_belongs_to_one_phase_or_to_the_caller() {
        let mut ledger = Ledger::default();
        let open = ledger.begin(s(1), Phase::Connecting, None);
        ledger.wait(s(1), open);
        ledger.enter(s(3), open, Phase::Opening);
        ledger.belongs(s(4), open, 7);
        ledger.enter(s(4), open, Phase::Metadata);
        ledger.end(s(6), open);
        let read = ledger.begin(s(6), Phase::Bytes, Some(7));
        // The caller is busy until 10; the bytes come meanwhile.
        ledger.enter(s(8), read, Phase::Decoding);
        ledger.wait(s(10), read);
        ledger.enter(s(13), read, Phase::Joining);
        ledger.leave(s(14), read);
        // The next batch: a wait for bytes that are not there.
        ledger.enter(s(14), read, Phase::Bytes);
        ledger.wait(s(15), read);
        ledger.leave(s(20), read);
        ledger.end(s(30), read);
        for spent in [ledger.spent(None), ledger.spent(Some(7))] {
            assert_eq!(seconds(&spent), [2, 1, 2, 5, 3, 1]);
            assert_eq!((spent.wall(), spent.waited(), spent.stalls), (s(19), s(14), 1));
        }
        let spells = ledger.spells().map(|spell| (spell.time.start.as_secs(), spell.phase));
        let expected = [
            (1, Phase::Connecting),
            (3, Phase::Opening),
            (4, Phase::Metadata),
            (10, Phase::Decoding),
            (13, Phase::Joining),
            (15, Phase::Bytes),
        ];
        assert_eq!(spells.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn waits_at_the_same_time_count_once_and_for_each_file() {
        let mut ledger = Ledger::default();
        let one = ledger.begin(s(0), Phase::Bytes, Some(1));
        let two = ledger.begin(s(0), Phase::Decoding, Some(2));
        let unasked = ledger.begin(s(0), Phase::Opening, Some(3));
        ledger.wait(s(0), one);
        ledger.wait(s(2), two);
        ledger.leave(s(5), one);
        ledger.leave(s(6), two);
        ledger.end(s(9), unasked);
        assert_eq!(seconds(&ledger.spent(None)), [0, 0, 0, 5, 1, 0]);
        assert_eq!(seconds(&ledger.spent(Some(1))), [0, 0, 0, 5, 0, 0]);
        assert_eq!(seconds(&ledger.spent(Some(2))), [0, 0, 0, 0, 4, 0]);
        assert_eq!(ledger.spent(Some(3)).waited(), s(0));
        assert_eq!(ledger.spent(None).wall(), s(6));
    }

    #[test]
    fn a_file_that_is_forgotten_leaves_the_sums_of_all_as_they_are() {
        let mut ledger = Ledger::default();
        let read = ledger.begin(s(0), Phase::Bytes, Some(1));
        ledger.wait(s(0), read);
        ledger.advance(s(2));
        ledger.forget(1);
        ledger.leave(s(5), read);
        ledger.end(s(5), read);
        assert_eq!((ledger.spent(None).waited(), ledger.files_kept()), (s(5), 0));
    }

    /// The waits of each second, found by looking at all activities.
    #[derive(Default)]
    struct Simple {
        activities: Vec<(Phase, Option<u32>, u32)>,
        total: [u64; 6],
        files: BTreeMap<u32, [u64; 6]>,
        /// By activity, before its file was known.
        before: BTreeMap<usize, [u64; 6]>,
    }

    impl Simple {
        fn second(&mut self) {
            let waited_for = self.activities.iter().filter(|(_, _, waiters)| *waiters > 0);
            if let Some(phase) = waited_for.clone().map(|(phase, ..)| *phase).min() {
                self.total[phase as usize] += 1;
            }
            let mut by_file: BTreeMap<u32, Phase> = BTreeMap::new();
            for (phase, file, _) in waited_for.clone() {
                if let Some(file) = file {
                    let earliest = by_file.entry(*file).or_insert(*phase);
                    *earliest = (*earliest).min(*phase);
                }
            }
            for (file, phase) in by_file {
                self.files.entry(file).or_default()[phase as usize] += 1;
            }
            for (number, (phase, file, waiters)) in self.activities.iter().enumerate() {
                if file.is_none() && *waiters > 0 {
                    self.before.entry(number).or_default()[*phase as usize] += 1;
                }
            }
        }

        fn belongs(&mut self, number: usize, file: u32) {
            if self.activities[number].1.replace(file).is_none() {
                let before = self.before.remove(&number).unwrap_or_default();
                let mine = self.files.entry(file).or_default();
                mine.iter_mut().zip(before).for_each(|(mine, theirs)| *mine += theirs);
            } else {
                self.activities[number].1 = Some(file);
            }
        }
    }

    proptest::proptest! {
        /// Each change books the one activity that changes: the sums are those of all.
        #[test]
        fn sums_are_those_of_a_look_at_all(
            steps in proptest::collection::vec((0..6_u8, 0..6_usize, 0..4_u32, 0..3_u64), 1..80)
        ) {
            let mut ledger = Ledger::default();
            let mut simple = Simple::default();
            let mut now = 0;
            for (action, number, choice, time) in steps {
                (0..time).for_each(|_| simple.second());
                now += time;
                let id = number as u64 + 1;
                let is_known = number < simple.activities.len();
                let phase = Phase::ALL[(choice as usize + number) % 6];
                match action {
                    0 => {
                        let file = (choice > 0).then_some(choice);
                        ledger.begin(s(now), phase, file);
                        simple.activities.push((phase, file, 0));
                    }
                    _ if !is_known => ledger.advance(s(now)),
                    1 => {
                        ledger.enter(s(now), id, phase);
                        simple.activities[number].0 = phase;
                    }
                    2 if simple.activities[number].1.is_none() => {
                        ledger.belongs(s(now), id, choice);
                        simple.belongs(number, choice);
                    }
                    2 | 3 => {
                        ledger.wait(s(now), id);
                        simple.activities[number].2 += 1;
                    }
                    4 => {
                        ledger.leave(s(now), id);
                        let waiters = &mut simple.activities[number].2;
                        *waiters = waiters.saturating_sub(1);
                    }
                    _ => {
                        ledger.advance(s(now));
                    }
                }
                proptest::prop_assert_eq!(seconds(&ledger.spent(None)), simple.total);
                for (file, expected) in &simple.files {
                    proptest::prop_assert_eq!(seconds(&ledger.spent(Some(*file))), *expected);
                }
            }
        }
    }

    #[test]
    fn a_stall_is_counted_while_it_lasts_and_once() {
        let mut ledger = Ledger::default();
        let reads: Vec<u64> =
            (0..3).map(|file| ledger.begin(s(0), Phase::Bytes, Some(file))).collect();
        reads.iter().for_each(|read| ledger.wait(s(0), *read));
        assert_eq!(ledger.spent(None).stalls, 0, "no time has passed");
        ledger.advance(s(1));
        assert_eq!(ledger.spent(None).stalls, 3);
        ledger.enter(s(2), reads[0], Phase::Decoding);
        ledger.enter(s(3), reads[0], Phase::Bytes);
        ledger.advance(s(4));
        assert_eq!(ledger.spent(None).stalls, 4);
        assert_eq!([0, 1, 2].map(|file| ledger.spent(Some(file)).stalls), [2, 1, 1]);
        reads.iter().for_each(|read| ledger.leave(s(5), *read));
        assert_eq!(ledger.spent(None).stalls, 4);
    }

    #[test]
    fn what_is_unknown_or_over_changes_nothing() {
        let mut ledger = Ledger::default();
        let activity = ledger.begin(s(0), Phase::Bytes, None);
        ledger.end(s(1), activity);
        ledger.wait(s(1), activity);
        ledger.enter(s(2), activity, Phase::Decoding);
        ledger.leave(s(3), 99);
        assert_eq!(ledger.spent(None), Spent::default());
    }
}
