//! Questions to servers whether files that are open have changed.
//!
//! Clients may keep a file open without an end, and further clients share it. So a client that
//! opens it when the server's last answer does not count any more asks again, and clients that come
//! meanwhile wait for the same answer.

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared as SharedFuture, WeakShared};
use mutex::Mutex;

use super::WatchKey;
use super::opens::FailedOpen;
use super::shared::{EngineShared, Shared};
use crate::read::file::session::Session;

type CheckFuture = BoxFuture<'static, std::result::Result<bool, FailedOpen>>;

/// The questions under way.
#[derive(Debug, Default)]
pub struct Checks(Mutex<HashMap<WatchKey, WeakShared<CheckFuture>>>);

impl Checks {
    /// Whether an open file is still the one that its server has; asks it unless another client
    /// has just done so.
    ///
    /// # Errors
    /// Why the server does not say: the next client opens the file anew.
    pub async fn check(
        &self,
        session: &Session,
        key: &WatchKey,
        shared: &Arc<Shared>,
        engine: &EngineShared,
    ) -> std::result::Result<bool, FailedOpen> {
        match self.question(session, key, shared, engine) {
            Some(question) => question.await,
            None => Ok(!shared.is_stale()),
        }
    }

    /// The question about a file; `None` where it has been answered meanwhile.
    fn question(
        &self,
        session: &Session,
        key: &WatchKey,
        shared: &Arc<Shared>,
        engine: &EngineShared,
    ) -> Option<SharedFuture<CheckFuture>> {
        let mut questions = self.0.lock();
        questions.retain(|_, question| question.upgrade().is_some());
        let there = questions.get(key).and_then(WeakShared::upgrade);
        if let Some(there) = there.filter(|question| question.peek().is_none()) {
            return Some(there);
        }
        if shared.is_stale() || !shared.is_aged(session.config().cache.check) {
            return None;
        }
        let session = session.clone();
        let address = key.0.clone();
        let shared = shared.clone();
        let engine = engine.clone();
        let asked = async move {
            let asked = shared.ask(&session, &address, &engine).await;
            asked.map_err(FailedOpen::from)
        };
        let question = asked.boxed().shared();
        questions.extend(question.downgrade().map(|weak| (key.clone(), weak)));
        Some(question)
    }
}
