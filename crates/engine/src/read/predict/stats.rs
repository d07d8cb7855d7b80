//! Frequencies of accesses to branches, and the accesses that they predict. Knows steps and
//! branches, no bytes.

/// Steps after which the pattern of accesses counts as known. Before, the number of steps that are
/// read ahead doubles with each step.
pub const KNOWN_AFTER: u64 = 6;
/// Steps that are remembered one by one.
const REMEMBERED: u64 = 64;
/// Steps after which a branch that the last reader touched steadily is not expected any more, if
/// this one has not touched it.
const PRIOR_HOLDS: u64 = 8;
/// Below so many steps even a single touch counts.
const EARLY: u64 = 2;

/// How often each branch is touched, and when last.
#[derive(Debug)]
pub struct AccessStats {
    branches: Vec<BranchAccess>,
    /// Steps begun.
    steps: u64,
    /// Branches touched at some step, in order.
    touched: Vec<usize>,
    has_prior: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct BranchAccess {
    /// Bit `k`: touched `k` steps before `last`.
    recent: u64,
    last: Option<u64>,
    /// Steps between the last two touches, and how many spaces before were as long.
    gap: u64,
    regular: u32,
    /// Steps with a touch.
    touches: u64,
    prior: Option<Prior>,
}

/// How the last reader of such a tree used a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prior {
    /// Touched in nearly every step.
    Steady,
    /// Touched now and then.
    Rare,
}

impl AccessStats {
    pub fn new(branches: usize) -> Self {
        let branches = vec![BranchAccess::default(); branches];
        AccessStats { branches, steps: 0, touched: Vec::new(), has_prior: false }
    }

    /// Sets how the last reader used a branch.
    pub fn set_prior(&mut self, branch: usize, prior: Prior) {
        self.branches[branch].prior = Some(prior);
        self.has_prior = true;
    }

    pub fn prior(&self, branch: usize) -> Option<Prior> {
        self.branches[branch].prior
    }

    /// Whether anything is known of the last reader.
    pub fn has_prior(&self) -> bool {
        self.has_prior
    }

    /// How this reader has used each branch that it touched.
    pub fn made_of(&self) -> impl Iterator<Item = (usize, Prior)> + '_ {
        self.touched.iter().map(|at| {
            let steady = self.branches[*at].touches.saturating_mul(2) >= self.steps;
            (*at, if steady { Prior::Steady } else { Prior::Rare })
        })
    }

    /// Branches of a kind that the last reader touched and this one has not yet.
    pub fn remembered(&self, prior: Prior) -> impl Iterator<Item = usize> + '_ {
        let still =
            move |access: &BranchAccess| access.prior == Some(prior) && access.last.is_none();
        let branches = self.branches.iter().enumerate();
        branches.filter(move |(_, access)| self.has_prior && still(access)).map(|(at, _)| at)
    }

    /// Steps begun.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub fn begin_step(&mut self) {
        self.steps += 1;
    }

    fn step(&self) -> u64 {
        self.steps.saturating_sub(1)
    }

    /// A branch is touched in the present step; whether for the first time in it.
    pub fn touch(&mut self, branch: usize) -> bool {
        let step = self.step();
        let access = &mut self.branches[branch];
        match access.last {
            Some(last) if last == step => return false,
            Some(last) => {
                let gap = step - last;
                access.regular = if gap == access.gap { access.regular + 1 } else { 0 };
                access.gap = gap;
                access.recent =
                    access.recent.checked_shl(gap as u32).filter(|_| gap < REMEMBERED).unwrap_or(0);
            }
            None => self.touched.push(branch),
        }
        access.recent |= 1;
        access.touches += 1;
        access.last = Some(step);
        true
    }

    /// The step at which a branch was last touched.
    pub fn last(&self, branch: usize) -> Option<u64> {
        self.branches[branch].last
    }

    /// Branches whose last touch was at a step.
    pub fn last_touched_at(&self, step: u64) -> impl Iterator<Item = usize> + '_ {
        self.touched.iter().copied().filter(move |at| self.branches[*at].last == Some(step))
    }

    /// Branches that were never touched.
    pub fn untouched(&self) -> impl Iterator<Item = usize> + '_ {
        let none = |(_, access): &(usize, &BranchAccess)| access.last.is_none();
        self.branches.iter().enumerate().filter(none).map(|(at, _)| at)
    }

    /// Branches touched at least once.
    pub fn touched(&self) -> impl Iterator<Item = usize> + '_ {
        self.touched.iter().copied()
    }

    /// Whether a branch will be touched within `steps` steps, more likely than not; not where it is
    /// known more [exactly](AccessStats::regular).
    pub fn is_expected(&self, branch: usize, steps: u64) -> bool {
        let access = &self.branches[branch];
        let Some(last) = access.last else {
            return access.prior == Some(Prior::Steady) && self.steps <= PRIOR_HOLDS;
        };
        let remembered = self.steps.min(REMEMBERED);
        let age = self.step() - last;
        let recent = if age < REMEMBERED { access.recent << age } else { 0 };
        let touches = u64::from(recent.count_ones());
        let enough = touches > 1 || remembered <= EARLY;
        let exactly = access.regular > 0 && access.gap > steps;
        enough && !exactly && touches.saturating_mul(steps.saturating_add(1)) >= remembered
    }

    /// The steps from one touch of a branch to the next, if the last ones were evenly spaced, and
    /// how often they were.
    pub fn regular(&self, branch: usize) -> Option<(u64, u32)> {
        let access = &self.branches[branch];
        (access.regular > 0 && access.gap > 1).then_some((access.gap, access.regular))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statistics of so many steps, in which `touches` tells whether a branch is touched.
    fn after(steps: u64, touches: impl Fn(u64, usize) -> bool) -> AccessStats {
        let mut stats = AccessStats::new(3);
        for step in 0..steps {
            stats.begin_step();
            for branch in 0..3 {
                if touches(step, branch) {
                    assert!(stats.touch(branch));
                    assert!(!stats.touch(branch), "once a step");
                }
            }
        }
        stats
    }

    #[test]
    fn what_is_touched_mostly_is_expected() {
        let stats = after(40, |step, branch| branch == 0 || branch == 1 && step % 3 != 0);
        assert!(stats.is_expected(0, 1) && stats.is_expected(1, 1));
        assert!(!stats.is_expected(2, 1000), "never touched");
        assert_eq!(stats.untouched().collect::<Vec<_>>(), [2]);
    }

    /// The first event of a job often is one of those in which everything is looked at.
    #[test]
    fn one_touch_at_the_beginning_is_soon_forgotten() {
        let at = |steps| after(steps, |step, branch| step == 0 || branch == 0);
        assert!(at(1).is_expected(1, 1));
        assert!(at(2).is_expected(1, 1));
        assert!(!at(3).is_expected(1, 1) && !at(3).is_expected(1, 20));
        assert!(at(3).is_expected(0, 1));
    }

    #[test]
    fn rare_touches_make_a_long_basket_worth_it() {
        let stats = after(120, |step, branch| branch == 0 && step % 20 == 0);
        assert!(!stats.is_expected(0, 5));
        assert!(stats.is_expected(0, 1000));
    }

    #[test]
    fn even_spaces_tell_the_next_touch() {
        let every = |step, branch| branch == 0 && step % 50 == 0;
        assert_eq!(after(51, every).regular(0), None, "one space is no rule");
        assert_eq!(after(101, every).regular(0), Some((50, 1)));
        assert_eq!(after(201, every).regular(0), Some((50, 3)));
        let irregular = |step, branch| branch == 0 && [0, 50, 90].contains(&step);
        assert_eq!(after(101, irregular).regular(0), None);
        assert_eq!(after(101, |_, branch| branch == 0).regular(0), None, "every step");
    }

    #[test]
    fn the_last_reader_is_believed_for_a_while() {
        let mut stats = AccessStats::new(3);
        stats.set_prior(0, Prior::Steady);
        stats.set_prior(1, Prior::Rare);
        assert!(stats.is_expected(0, 1) && !stats.is_expected(1, 1000));
        assert_eq!(stats.remembered(Prior::Rare).collect::<Vec<_>>(), [1]);
        (0..20).for_each(|_| stats.begin_step());
        stats.touch(1);
        assert!(!stats.is_expected(0, 1));
        assert_eq!(stats.remembered(Prior::Rare).count(), 0);
        assert_eq!(stats.made_of().collect::<Vec<_>>(), [(1, Prior::Rare)]);
    }

    #[test]
    fn habits_change() {
        let stats = after(200, |step, branch| (step < 100) == (branch == 0));
        assert!(!stats.is_expected(0, 1) && stats.is_expected(1, 1));
        assert_eq!(stats.last_touched_at(99).collect::<Vec<_>>(), [0]);
    }
}
