//! The share of the queue that each source takes: so much that all end at the same time.
//!
//! A source delivers nothing for a while (its round trip, the bytes in flight there already), then
//! bytes at its rate. The moment at which all queued bytes can be here, and each one's part until
//! then, follow as water fills basins of different depth:
//!
//! ```text
//!   bytes |        near  /        far
//!         |            /        ___/      T: near 60 %, far 40 %
//!         |          /      ___/
//!         |________/____ __/______________ time
//!                wait   wait           T
//! ```
//!
//! A short queue goes to the near one alone. Since the parts are worked out anew for each request,
//! a source that slows down takes less of the rest.

use crate::ids::Time;

/// A source as the next bytes see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Until its first byte.
    pub wait: Time,
    /// Bytes per second; 0: nothing is to go there.
    pub rate: u64,
    /// Bytes asked for and not here.
    pub in_flight: u64,
}

impl Load {
    /// When the bytes that it owes have arrived, nanoseconds.
    fn free_at(&self) -> u128 {
        let owed = u128::from(self.in_flight) * 1_000_000_000 / u128::from(self.rate.max(1));
        self.wait.as_nanos() + owed
    }
}

/// The part of `queued` bytes for each load.
pub(crate) fn shares(loads: &[Load], queued: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..loads.len()).filter(|at| loads[*at].rate > 0).collect();
    order.sort_by_key(|at| loads[*at].free_at());
    // Bytes x nanoseconds a second: those of the loads that take part, and the time they lose.
    let mut rate = 0u128;
    let mut lost = 0u128;
    let mut end = 0;
    for (taken, at) in order.iter().enumerate() {
        let load = &loads[*at];
        rate += u128::from(load.rate);
        lost = lost.saturating_add(u128::from(load.rate).saturating_mul(load.free_at()));
        end = (u128::from(queued) * 1_000_000_000).saturating_add(lost) / rate;
        if order.get(taken + 1).is_none_or(|next| end <= loads[*next].free_at()) {
            break;
        }
    }
    let share = |load: &Load| {
        let time = end.saturating_sub(load.free_at());
        let bytes = u128::from(load.rate).saturating_mul(time).div_ceil(1_000_000_000);
        u64::try_from(bytes).unwrap_or(u64::MAX).min(queued)
    };
    loads.iter().map(|load| if load.rate > 0 { share(load) } else { 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(wait_ms: u64, rate: u64, in_flight: u64) -> Load {
        Load { wait: Time::from_millis(wait_ms), rate, in_flight }
    }

    #[test]
    fn equal_sources_take_equal_parts() {
        assert_eq!(shares(&[load(100, 1000, 0), load(100, 1000, 0)], 600), [300, 300]);
    }

    #[test]
    fn much_is_shared_in_proportion_to_the_rates() {
        let shares = shares(&[load(0, 20_000, 0), load(0, 40_000, 0), load(0, 80_000, 0)], 140_000);
        assert_eq!(shares, [20_000, 40_000, 80_000]);
    }

    #[test]
    fn little_goes_to_the_near_one_alone() {
        let near_and_far = [load(20, 5_000_000, 0), load(140, 20_000_000, 0)];
        assert_eq!(shares(&near_and_far, 500_000), [500_000, 0], "here before the other begins");
        let much = shares(&near_and_far, 50_000_000);
        assert_eq!(much, [10_480_000, 39_520_000], "four times the rate, 0.12 s later");
    }

    #[test]
    fn what_is_owed_counts() {
        assert_eq!(shares(&[load(0, 1000, 500), load(0, 1000, 0)], 700), [100, 600]);
        assert_eq!(shares(&[load(0, 1000, 5000), load(0, 1000, 0)], 700), [0, 700]);
    }

    #[test]
    fn somebody_takes_what_there_is() {
        assert_eq!(shares(&[load(900_000, 1, u64::MAX), load(1, 0, 0)], 7), [7, 0]);
        assert_eq!(shares(&[load(0, 0, 0)], 7), [0]);
        assert!(shares(&[load(0, u64::MAX, u64::MAX); 3], u64::MAX).iter().any(|s| *s > 0));
        assert_eq!(shares(&[], 7), [0u64; 0]);
    }
}
