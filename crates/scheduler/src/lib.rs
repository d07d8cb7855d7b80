//! A pure scheduler for ranged reads: which bytes next, when, from where.
//!
//! It knows files as ranges, servers by their limits, connections by their deliveries. It never
//! sees a byte of a file, opens no connection, reads no clock; and it cannot fail, only decide.
//! Its decisions, each in its own module:
//!
//! * `demand`: who is served next, who waits for memory;
//! * `readahead`: how far ahead of the consumer to read;
//! * `coalesce`: which ranges become one segment;
//! * `split`: which connection takes how many of the queued bytes;
//! * `growth`: how many connections;
//! * `sources`, `replicas`: where to read a file;
//! * `share`: which source takes how much of it;
//! * `hedge`: which late bytes are requested from another source, too;
//! * `progress`: how long to wait for bytes that are owed;
//! * `silence`, `trouble`: where the work of failed servers and sources goes;
//! * `estimate`: measured properties of the link, on which all the others rest;
//! * `link`: assumptions about the link before that;
//! * `budget`: every limit.
//!
//! # The run-loop law
//!
//! After every `handle_*` and every command, call `poll_action` and `poll_event` until both return
//! nothing; then sleep until something happens or until `poll_timeout`, whichever is first. Time
//! is an argument ([`Time`], since an epoch of the caller's choosing) and never goes back.
//!
//! # Example
//!
//! ```
//! use farroot_scheduler::{Action, Budgets, Event, Scheduler, ServerTraits, Time, Urgency};
//!
//! let mut scheduler = Scheduler::new(Budgets::default());
//! let mut now = Time::ZERO;
//! let server = scheduler.add_server(now, ServerTraits { pipelined: true, ..Default::default() });
//! let file = scheduler.add_file(now);
//! scheduler.add_source(now, file, server);
//! let want = scheduler.want(now, file, 100..200, Urgency::Demand, 0, 100);
//! loop {
//!     while let Some(action) = scheduler.poll_action(now) {
//!         now += Time::from_millis(50);
//!         match action {
//!             Action::Connect { connection, .. } => scheduler.handle_connected(now, connection),
//!             Action::Fetch { request, segments, .. } => {
//!                 for segment in segments {
//!                     scheduler.handle_data(now, request, segment);
//!                 }
//!                 scheduler.handle_done(now, request);
//!             }
//!             _ => {}
//!         }
//!     }
//!     match scheduler.poll_event() {
//!         Some(event) => assert_eq!(event, Event::Ready { want }),
//!         None => break,
//!     }
//! }
//! scheduler.release(now, want);
//! assert_eq!(scheduler.poll_event(), Some(Event::Forget { file, range: 100..200 }));
//! assert_eq!(scheduler.snapshot().memory_bytes, 0);
//! ```

#![allow(clippy::single_range_in_vec_init, reason = "a list of ranges may have one")]

mod budget;
mod chunk;
mod coalesce;
mod connection;
mod counters;
mod demand;
mod dispatch;
mod estimate;
mod growth;
mod handle;
mod hedge;
mod ids;
mod link;
mod listing;
mod message;
mod progress;
mod readahead;
mod replicas;
mod scheduler;
mod server;
mod share;
mod silence;
mod snapshot;
mod sources;
mod split;
mod trouble;
mod want;

pub use budget::Budgets;
pub use counters::Counters;
pub use ids::{ConnectionId, FileId, RequestId, ServerId, SourceId, Time, WantId};
pub use link::LinkModel;
pub use message::{Action, Event, Failure, FileEnd, OpenEnds, Urgency, WantFailure};
pub use replicas::COMPARED_BYTES;
pub use scheduler::{FILE_BYTES_MAX, Scheduler};
pub use server::{BothEnds, ServerTraits};
pub use snapshot::{ServerSnapshot, Snapshot, SourceSnapshot};
pub use sources::{Quality, SourceState};
