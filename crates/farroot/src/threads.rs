//! Threads on which the tasks of a read run.

use std::pin::pin;

use engine::Engine;

/// Waits for a future whose tasks run on the engine's threads, whichever executor polls it.
pub async fn on_threads_of<F: Future>(engine: &Engine, future: F) -> F::Output {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| {
        let _inside = engine.enter();
        future.as_mut().poll(cx)
    })
    .await
}
