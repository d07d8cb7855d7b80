//! The quotas that bytes in a cache are charged to, as a reader names them.

/// Quotas of a cache at the most.
pub const QUOTAS_MAX: usize = 128;

/// Some of the quotas, by their positions in the settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Charges(u128);

impl Charges {
    /// The quotas at these positions.
    pub fn of(positions: impl IntoIterator<Item = usize>) -> Self {
        let bits = positions.into_iter().filter(|at| *at < QUOTAS_MAX).map(|at| 1 << at);
        Charges(bits.fold(0, |all, bit: u128| all | bit))
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Charges) -> Self {
        Charges(self.0 | other.0)
    }

    /// Whether the quota at a position is one of them.
    pub fn has(self, at: usize) -> bool {
        at < QUOTAS_MAX && self.0 >> at & 1 == 1
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their positions.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        (0..QUOTAS_MAX).filter(move |at| self.has(*at))
    }
}
