//! Client and served side together: how many round trips things take, and that the right bytes
//! come, whatever the guesses were worth.

use std::ops::Range;

use crate::pair::{Pair, RTT, byte};
use farroot_xrootd::client::{Answer, Event, FileId, RequestId};
use farroot_xrootd::error::ErrorCode;
use farroot_xrootd::header::Handle;
use farroot_xrootd::message::Request;
use farroot_xrootd::message::open::OpenOptions;
use farroot_xrootd::profile::{HandleOrder, Profile, Start};

fn expect(pair: &Pair, request: RequestId, file: FileId, range: Range<u64>) {
    let got = pair.data(request);
    assert_eq!(got.len() as u64, range.end - range.start);
    for at in range {
        let shift = if file == FileId(1) { 100 } else { 0 };
        assert_eq!(got.get(&(file.0, at)), Some(&byte(at + shift)), "byte {at}");
    }
}

#[test]
fn a_burst_has_its_first_bytes_after_one_round_trip() {
    let mut pair = Pair::new(Start::Burst);
    let (file, open) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    let read = pair.client.read(pair.now, file, 100..300);
    let vector = pair.client.readv(pair.now, &[(file, 0..10), (file, 9_000..9_010)]);
    let close = pair.client.close(pair.now, file);
    pair.settle();

    expect(&pair, read, file, 100..300);
    assert_eq!(pair.data(vector).len(), 20);
    assert_eq!(pair.done_after(read), Some(RTT));
    assert_eq!(pair.done_after(vector), Some(RTT));
    let opened = pair.log.iter().any(|(_, event)| {
        matches!(event, Event::Opened { request, stat: Some(stat), .. }
            if *request == open && stat.size == 10_000)
    });
    assert!(opened);
    let closed = Event::Answer { request: close, answer: Answer::Closed };
    assert!(pair.log.iter().any(|(_, event)| *event == closed));
    assert_eq!(pair.client.profile().burst, Some(true));
    assert_eq!(pair.client.profile().handles, HandleOrder::LittleEndian);
    assert!(pair.world.open.is_empty());
    assert_eq!(pair.world.seen, ["kXR_open", "kXR_read", "kXR_readv", "kXR_close"]);
}

#[test]
fn a_checksummed_read_leaves_in_the_burst_as_any_other() {
    let mut pair = Pair::new(Start::Burst);
    let (file, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    let read = pair.client.pgread(pair.now, file, 100..9_500, false);
    let end = pair.client.pgread(pair.now, file, 9_990..10_010, true);
    let beyond = pair.client.pgread(pair.now, file, 20_000..20_010, false);
    pair.settle();
    expect(&pair, read, file, 100..9_500);
    expect(&pair, end, file, 9_990..10_000);
    assert!(pair.data(beyond).is_empty());
    for request in [read, end, beyond] {
        assert_eq!(pair.done_after(request), Some(RTT));
    }
}

#[test]
fn a_page_that_came_damaged_is_told_and_not_passed_on() {
    for start in [Start::Burst, Start::Careful] {
        let mut pair = Pair::new(start);
        pair.world.special = Box::new(|server, tag, request| {
            let Request::Pgread(read) = request else { return false };
            let end = read.offset + u64::from(read.length);
            let bytes: Vec<u8> = (read.offset..end).map(byte).collect();
            server.answer_pages(tag, read.offset, &bytes, false);
            true
        });
        let (file, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
        let read = pair.client.pgread(pair.now, file, 100..9_500, false);
        pair.damage = Some(5_000);
        pair.settle();
        let damaged = Event::Damaged { request: read, file, range: 4096..8192 };
        assert_eq!(pair.log.iter().filter(|(_, event)| *event == damaged).count(), 1);
        let got = pair.data(read);
        assert_eq!(got.len(), 9_400 - 4096);
        assert!(got.iter().all(|((_, at), got)| *got == byte(*at)), "a wrong byte");

        let again = pair.client.pgread(pair.now, file, 4096..8192, true);
        pair.settle();
        expect(&pair, again, file, 4096..8192);
    }
}

#[test]
fn a_server_that_does_not_know_checksummed_reads_is_not_asked_twice() {
    let mut pair = Pair::new(Start::Burst);
    pair.world.special = Box::new(|server, tag, request| {
        let known = !matches!(request, Request::Pgread(_));
        if !known {
            server.answer_error(tag, ErrorCode::INVALID_REQUEST, "Invalid request code");
        }
        !known
    });
    let (file, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    let read = pair.client.pgread(pair.now, file, 0..100, false);
    pair.settle();
    assert_eq!(pair.count("kXR_pgread"), 1);
    let failed = pair
        .log
        .iter()
        .any(|(_, event)| matches!(event, Event::Failed { request, .. } if *request == read));
    assert!(failed);
}

#[test]
fn a_careful_start_takes_two() {
    let mut pair = Pair::new(Start::Careful);
    let (file, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    let read = pair.client.read(pair.now, file, 0..100);
    pair.settle();
    expect(&pair, read, file, 0..100);
    assert_eq!(pair.done_after(read), Some(2 * RTT));
}

#[test]
fn several_files_of_a_burst_guess_one_slot_after_the_other() {
    let mut pair = Pair::new(Start::Burst);
    let (a, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    let (b, _) = pair.client.open(pair.now, "/b", OpenOptions::FOR_READING);
    let first = pair.client.read(pair.now, a, 0..50);
    let second = pair.client.read(pair.now, b, 0..50);
    let both = pair.client.readv(pair.now, &[(a, 7..9), (b, 7..9)]);
    pair.settle();
    expect(&pair, first, a, 0..50);
    expect(&pair, second, b, 0..50);
    assert_eq!(
        pair.data(both).keys().copied().collect::<Vec<_>>(),
        [(0, 7), (0, 8), (1, 7), (1, 8)]
    );
    for request in [first, second, both] {
        assert_eq!(pair.done_after(request), Some(RTT));
    }
}

#[test]
fn a_wrong_guess_costs_one_round_trip_and_never_wrong_bytes() {
    let mut pair = Pair::new(Start::Burst);
    pair.world.name_slot = |slot| Handle([slot as u8, 9, 9, 9]);
    let (file, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    let read = pair.client.read(pair.now, file, 0..100);
    pair.settle();
    expect(&pair, read, file, 0..100);
    assert_eq!(pair.done_after(read), Some(2 * RTT));
    assert_eq!(pair.client.profile().handles, HandleOrder::Unpredictable);

    let mut next = Pair::with_profile(Start::Burst, pair.client.profile().clone());
    next.world.name_slot = pair.world.name_slot;
    let (file, _) = next.client.open(next.now, "/a", OpenOptions::FOR_READING);
    next.client.read(next.now, file, 0..100);
    next.settle();
    assert_eq!(next.count("kXR_read"), 1, "nothing is guessed any more");
}

#[test]
fn a_missing_file_before_another_shifts_the_slots_without_mixing_the_bytes() {
    let mut pair = Pair::new(Start::Burst);
    let (none, _) = pair.client.open(pair.now, "/none", OpenOptions::FOR_READING);
    let (b, _) = pair.client.open(pair.now, "/b", OpenOptions::FOR_READING);
    let lost = pair.client.read(pair.now, none, 0..50);
    let found = pair.client.read(pair.now, b, 0..50);
    pair.settle();
    assert!(pair.data(lost).is_empty());
    let failure = pair.log.iter().find_map(|(_, event)| match event {
        Event::Failed { request, error } if *request == lost => Some(error.to_string()),
        _ => None,
    });
    assert_eq!(failure.as_deref(), Some("no such file (error 3011)"), "the open's own error");
    expect(&pair, found, b, 0..50);
    assert_eq!(pair.client.profile().handles, Profile::default().handles);
}

#[test]
fn a_handle_that_was_another_files_is_not_guessed() {
    let mut pair = Pair::new(Start::Burst);
    let (a, _) = pair.client.open(pair.now, "/a", OpenOptions::FOR_READING);
    pair.settle();
    let begun = pair.now;
    pair.client.close(pair.now, a);
    let (b, _) = pair.client.open(pair.now, "/b", OpenOptions::FOR_READING);
    let read = pair.client.read(pair.now, b, 0..50);
    pair.settle();
    expect(&pair, read, b, 0..50);
    // A server that serves side by side might have read /a before it closed it.
    assert_eq!(pair.now - begun, 2 * RTT, "the read waits for the open");
}
