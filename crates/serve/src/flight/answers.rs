//! Entries as messages of Flight: each has one message of the stream of Arrow.

use std::time::Duration;

use arrow_flight::FlightData;
use engine::Frames;
use futures::stream::{self, Stream};
use tokio::sync::mpsc;
use tonic::Status;

use super::status::status_of;
use crate::select::Answer;

/// Messages that are made before the client takes them.
const AHEAD: usize = 2;

/// The messages of an answer. The work ends when the stream is dropped, or when its client has
/// taken nothing for the time `stalled`.
pub fn entries(
    answer: Answer,
    stalled: Duration,
) -> impl Stream<Item = Result<FlightData, Status>> + Send + 'static {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let gone = sender.clone();
        tokio::select! {
            () = send_all(answer, sender, stalled) => {}
            () = gone.closed() => {}
        }
    });
    stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|data| (data, receiver))
    })
}

async fn send_all(
    mut answer: Answer,
    sender: mpsc::Sender<Result<FlightData, Status>>,
    stalled: Duration,
) {
    let mut frames = Frames::default();
    loop {
        let next = match frames.next_frame() {
            Ok(Some(frame)) => {
                Ok(FlightData::new().with_data_header(frame.metadata).with_data_body(frame.body))
            }
            Err(error) => Err(status_of(&error)),
            Ok(None) => match answer.next().await {
                Ok(Some(bytes)) => {
                    frames.supply(bytes);
                    continue;
                }
                Ok(None) => return,
                Err(error) => Err(status_of(&error)),
            },
        };
        let is_last = next.is_err();
        if sender.send_timeout(next, stalled).await.is_err() || is_last {
            return;
        }
    }
}
