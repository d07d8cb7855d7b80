//! The only file that reads the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Time since the engine started, which leaves call `Time`.
///
/// It is tokio's clock, so that a paused runtime makes it virtual.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// A clock whose zero is now.
    pub fn start() -> Self {
        Clock { epoch: Instant::now() }
    }

    /// Time since [`Clock::start`].
    pub fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// The instant of a time of this clock, for tokio's timers.
    pub fn instant(&self, time: Duration) -> Instant {
        self.epoch + time
    }
}

/// The time of day as signatures have it: seconds since 1970.
pub fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Sleeps until an instant; without one, for ever.
pub async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// CPU time that this process has used, on all its threads.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
