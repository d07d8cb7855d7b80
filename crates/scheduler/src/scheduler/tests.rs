//! What scheduling costs, in chunks touched.

use super::*;

/// Wants so many ranges, has them delivered by a server that answers at once, releases each;
/// how many chunks were touched, and how many requests were made.
fn schedule(wants: u64, budgets: Budgets) -> (u64, u64) {
    let mut scheduler = Scheduler::new(budgets);
    let now = Time::from_secs(1);
    let traits = ServerTraits { segments_max: 1024, pipelined: true, ..ServerTraits::default() };
    let server = scheduler.add_server(now, traits);
    let file = scheduler.add_file(now);
    scheduler.add_source(now, file, server);
    for want in 0..wants {
        let start = want * 50_000;
        scheduler.want(now, file, start..start + 2_500, Urgency::Demand, want / 100, 2_500);
    }
    let mut ready = 0;
    loop {
        while let Some(event) = scheduler.poll_event() {
            if let Event::Ready { want } = event {
                ready += 1;
                scheduler.release(now, want);
            }
        }
        match scheduler.poll_action(now) {
            Some(Action::Connect { connection, .. }) => scheduler.handle_connected(now, connection),
            Some(Action::Fetch { request, segments, .. }) => {
                for segment in segments {
                    scheduler.handle_data(now, request, segment);
                }
                scheduler.handle_done(now, request);
            }
            Some(other) => panic!("{other:?}"),
            None => break,
        }
    }
    assert_eq!(ready, wants);
    (scheduler.files[&file].chunks.touched, scheduler.counters.fetches)
}

#[test]
fn a_hundred_thousand_wants_cost_a_few_chunks_each() {
    let (touched, fetches) = schedule(100_000, Budgets::default());
    assert!(touched <= 100_000 * 5, "{touched}");
    assert!(fetches <= 100_000 / 20, "{fetches}");
}

#[test]
fn waiting_for_memory_costs_nothing() {
    let little = Budgets { memory_bytes_max: 1 << 20, ..Budgets::default() };
    let (touched, _) = schedule(20_000, little);
    assert!(touched <= 20_000 * 5, "{touched}");
}
