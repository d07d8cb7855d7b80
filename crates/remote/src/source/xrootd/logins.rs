//! Logins that cost a server much, a few at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Logins at one time, beside the first.
const LOGINS_MAX: usize = 2;
/// How long a connection leaves the server to the logins of others.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Who logs in when: the first connection at once, the others after it, in turn.
pub struct Logins {
    /// A session has come up.
    is_up: watch::Sender<bool>,
    turns: Arc<Semaphore>,
}

/// Held until the login is through.
#[derive(Debug)]
pub struct LoginTurn {
    _permit: OwnedSemaphorePermit,
}

impl Logins {
    pub fn new() -> Self {
        let turns = Arc::new(Semaphore::new(LOGINS_MAX));
        Logins { is_up: watch::Sender::new(false), turns }
    }

    /// A session has come up.
    pub fn succeeded(&self) {
        self.is_up.send_replace(true);
    }

    /// Waits for the first login and then for a turn; `None` when that takes too long.
    pub async fn turn(&self) -> Option<LoginTurn> {
        let mut up = self.is_up.subscribe();
        let turn = async {
            up.wait_for(|up| *up).await.ok()?;
            let permit = self.turns.clone().acquire_owned().await.ok()?;
            Some(LoginTurn { _permit: permit })
        };
        tokio::time::timeout(TIMEOUT, turn).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::poll;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn connections_log_in_behind_the_first_and_a_few_at_a_time() {
        let logins = Logins::new();
        let mut second = pin!(logins.turn());
        let mut third = pin!(logins.turn());
        let mut fourth = pin!(logins.turn());
        assert!(poll!(&mut second).is_pending(), "before the first login");
        logins.succeeded();
        let turn = second.await.expect("a turn");
        let _other = third.as_mut().await.expect("a turn");
        assert!(poll!(&mut fourth).is_pending(), "two others are logging in");
        drop(turn);
        assert!(fourth.await.is_some(), "one of them is through");
    }

    #[tokio::test(start_paused = true)]
    async fn a_login_that_hangs_holds_the_others_up_for_a_while_only() {
        let logins = Logins::new();
        assert!(logins.turn().await.is_none());
    }
}
