//! Pauses of requests and uploads that a server refuses for their number: nothing is wrong with
//! them, only with the moment.

use std::time::Duration;

use crate::error::Error;

/// Attempts beyond the first.
const AGAIN_MAX: u32 = 6;
/// The first pause where the server names none; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How often one request has been put off.
#[derive(Debug, Default)]
pub struct Pauses(u32);

impl Pauses {
    /// Waits after a refusal, for as long as the server requires; returns whether the request is
    /// then repeated: not after another error, and not for ever.
    pub async fn after(&mut self, error: &Error) -> bool {
        if !error.is_busy() || self.0 == AGAIN_MAX {
            return false;
        }
        let usual = PAUSE * 2_u32.pow(self.0);
        self.0 += 1;
        tokio::time::sleep(error.retry_after().unwrap_or(usual).min(PAUSE_MAX)).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[tokio::test(start_paused = true)]
    async fn a_busy_server_is_asked_again_and_not_for_ever() {
        let other = Error::new(ErrorKind::Io, "no");
        let mut pauses = Pauses::default();
        assert!(!pauses.after(&other).await);
        let busy = other.busy(true).with_retry_after(Duration::from_secs(3));
        let begun = tokio::time::Instant::now();
        let mut again = 0;
        while pauses.after(&busy).await {
            again += 1;
        }
        assert_eq!((again, begun.elapsed().as_secs()), (AGAIN_MAX, 18));
    }
}
