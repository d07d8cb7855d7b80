//! Chunks are drawn one character per byte: `q` queued, `z` resting, `f` in flight, `R` ready,
//! `.` absent.

use super::*;

const REQUEST: RequestId = RequestId(1);

fn demand(want: u64, order: u64) -> Waiter {
    Waiter { urgency: Urgency::Demand, order, want: WantId(want) }
}

fn drawing(chunks: &Chunks, length: u64) -> String {
    let mut drawing = vec![b'.'; length as usize];
    for (start, chunk) in chunks.within(&(0..length)) {
        let letter = match chunk.state {
            State::Queued => b'q',
            State::Resting => b'z',
            State::InFlight(_) => b'f',
            State::Ready => b'R',
        };
        drawing[start as usize..chunk.end.min(length) as usize].fill(letter);
    }
    String::from_utf8(drawing).unwrap()
}

#[test]
fn a_want_goes_from_absent_to_ready_and_away() {
    let mut chunks = Chunks::default();
    let attached = chunks.attach(&(2..8), demand(1, 0));
    assert_eq!(attached, Attached { missing: 6, fresh: 6, rescued: 0 });
    assert_eq!(drawing(&chunks, 10), "..qqqqqq..");
    assert_eq!(chunks.take(&(2..5), REQUEST), 0);
    assert_eq!(drawing(&chunks, 10), "..fffqqq..");
    assert_eq!(chunks.queued(), [3, 0]);
    let delivered = chunks.deliver(&(2..5));
    assert_eq!(delivered, Delivered { arrivals: vec![(WantId(1), 3)], forget: vec![] });
    chunks.take(&(5..8), REQUEST);
    chunks.deliver(&(5..8));
    assert_eq!(drawing(&chunks, 10), "..RRRRRR..");
    assert_eq!(chunks.map.len(), 1, "pieces are joined");
    assert_eq!(chunks.detach(&(2..8), WantId(1)).forget, [2..8]);
    assert_eq!(drawing(&chunks, 10), "..........");
}

#[test]
fn overlapping_wants_share_what_is_under_way() {
    let mut chunks = Chunks::default();
    chunks.attach(&(0..6), demand(1, 5));
    chunks.take(&(0..6), REQUEST);
    let attached = chunks.attach(&(4..10), demand(2, 3));
    assert_eq!(attached, Attached { missing: 6, fresh: 4, rescued: 0 });
    assert_eq!(drawing(&chunks, 10), "ffffffqqqq");
    let delivered = chunks.deliver(&(3..6));
    assert_eq!(delivered.arrivals, [(WantId(1), 1), (WantId(2), 2), (WantId(1), 2)]);
    assert_eq!(chunks.detach(&(0..6), WantId(1)).forget, [3..4], "the rest is still wanted");
    assert_eq!(drawing(&chunks, 10), "fff.RRqqqq");
}

#[test]
fn gap_bytes_are_over_read_until_somebody_wants_them() {
    let mut chunks = Chunks::default();
    chunks.attach(&(0..2), demand(1, 0));
    chunks.attach(&(6..8), demand(1, 0));
    assert_eq!(chunks.take(&(0..8), REQUEST), 4);
    let attached = chunks.attach(&(2..4), demand(2, 0));
    assert_eq!(attached, Attached { missing: 2, fresh: 2, rescued: 2 });
    let delivered = chunks.deliver(&(0..8));
    assert_eq!(delivered.forget, [4..6]);
    assert_eq!(drawing(&chunks, 8), "RRRR..RR");
}

#[test]
fn the_most_urgent_waiter_decides_the_place_in_the_queue() {
    let mut chunks = Chunks::default();
    let hint = Waiter { urgency: Urgency::Hint, order: 0, want: WantId(1) };
    chunks.attach(&(0..4), hint);
    chunks.attach(&(8..9), demand(2, 9));
    assert_eq!(chunks.first_queued().unwrap().start, 8);
    assert_eq!(chunks.queued(), [1, 4]);
    chunks.replace(&(0..4), hint, demand(1, 0));
    assert_eq!(chunks.first_queued().unwrap().start, 0);
    assert_eq!(chunks.queued(), [5, 0]);
    chunks.detach(&(0..4), WantId(1));
    assert_eq!(chunks.queued(), [1, 0]);
}

#[test]
fn what_a_request_still_owes_comes_back_and_is_counted() {
    let mut chunks = Chunks::default();
    chunks.attach(&(0..6), demand(1, 0));
    chunks.take(&(0..8), REQUEST);
    chunks.deliver(&(0..2));
    let returned = chunks.give_back(&(0..8), REQUEST, Return::Later(Time::ZERO), 3);
    assert_eq!((returned.attempts, returned.resting), (1, true));
    assert_eq!(drawing(&chunks, 8), "RRzzzz..", "no want covers the gap");
    chunks.wake(&(0..8));
    chunks.take(&(2..6), REQUEST);
    assert!(chunks.give_back(&(2..6), REQUEST, Return::Again, 3).exhausted.is_empty());
    chunks.take(&(2..6), REQUEST);
    let returned = chunks.give_back(&(2..6), REQUEST, Return::Again, 3);
    assert_eq!(returned.exhausted, BTreeSet::from([WantId(1)]));
}

#[test]
fn late_data_is_welcome_when_queued_again_and_forgotten_when_not_wanted() {
    let mut chunks = Chunks::default();
    chunks.attach(&(0..4), demand(1, 0));
    let delivered = chunks.deliver(&(0..6));
    assert_eq!(delivered, Delivered { arrivals: vec![(WantId(1), 4)], forget: vec![4..6] });
    assert_eq!(chunks.queued(), [0, 0]);
    assert_eq!(chunks.deliver(&(0..4)), Delivered::default(), "twice is once");
}

#[test]
fn the_bytes_of_an_open_stay_without_waiters() {
    let mut chunks = Chunks::default();
    chunks.hold(&(0..10), REQUEST);
    chunks.truncate(8);
    assert_eq!(drawing(&chunks, 10), "ffffffff..");
    chunks.deliver(&(0..8));
    assert_eq!(chunks.attach(&(2..4), demand(1, 0)).missing, 0);
    assert!(chunks.detach(&(2..4), WantId(1)).forget.is_empty());
    assert_eq!(chunks.release_held(), [0..8]);
    assert_eq!(drawing(&chunks, 10), "..........");
}

#[test]
fn a_request_in_flight_for_nobody_is_reported() {
    let mut chunks = Chunks::default();
    chunks.attach(&(0..4), demand(1, 0));
    chunks.attach(&(4..6), demand(2, 0));
    chunks.take(&(0..4), REQUEST);
    let detached = chunks.detach(&(0..6), WantId(1));
    assert_eq!(detached.orphaned, BTreeSet::from([REQUEST]));
    assert!(!chunks.is_awaited(&(0..4)));
    assert_eq!(drawing(&chunks, 6), "ffffqq");
}
