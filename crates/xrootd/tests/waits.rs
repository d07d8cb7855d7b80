//! Servers that send elsewhere, ask for patience, answer out of order, or not at all.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::pair::{self, LATENCY, Pair, RTT, byte};
use farroot_xrootd::client::{Answer, Event, HowToRetry, RequestId};
use farroot_xrootd::error::{ErrorCode, Misuse, RequestError, SessionError};
use farroot_xrootd::message::Request;
use farroot_xrootd::message::open::OpenOptions;
use farroot_xrootd::profile::Start;
use farroot_xrootd::response::Redirect;
use farroot_xrootd::server::{Server, Tag};

const READING: OpenOptions = OpenOptions::FOR_READING;

fn failure(pair: &Pair, wanted: RequestId) -> Option<RequestError> {
    pair.log.iter().find_map(|(_, event)| match event {
        Event::Failed { request, error } if *request == wanted => Some(error.clone()),
        _ => None,
    })
}

fn happened(pair: &Pair, wanted: impl Fn(&Event) -> bool) -> bool {
    pair.log.iter().any(|(_, event)| wanted(event))
}

/// Tags that a test keeps, to answer them when it likes.
type Kept = Rc<RefCell<Vec<(Tag, Request)>>>;

/// Keeps the requests that `which` chooses, and answers the others.
fn keep(pair: &mut Pair, which: fn(&Request) -> bool) -> Kept {
    let kept = Kept::default();
    let keeper = Rc::clone(&kept);
    pair.world.special = Box::new(move |_, tag, request| {
        let chosen = which(request);
        if chosen {
            keeper.borrow_mut().push((tag, request.clone()));
        }
        chosen
    });
    kept
}

#[test]
fn a_redirected_open_takes_its_reads_along() {
    let mut pair = Pair::new(Start::Burst);
    pair.world.special = Box::new(|server, tag, request| {
        let is_open = matches!(request, Request::Open(_));
        if is_open {
            server.answer_redirect(tag, &Redirect::to_host("elsewhere", 1095, Some("tried=here")));
        }
        is_open
    });
    let (file, open) = pair.client.open(pair.now, "/a", READING);
    let read = pair.client.read(pair.now, file, 0..100);
    pair.settle();
    let late = pair.client.read(pair.now, file, 0..100);
    pair.settle();
    for wanted in [open, read, late] {
        let sent_there = |event: &Event| {
            matches!(event, Event::Redirected { request, target }
                if *request == wanted && target.host == "elsewhere" && target.port == 1095)
        };
        assert!(happened(&pair, sent_there));
        assert_eq!(failure(&pair, wanted), None);
    }
    let close = pair.client.close(pair.now, file);
    pair.settle();
    assert!(
        happened(&pair, |event| *event == Event::Answer { request: close, answer: Answer::Closed })
    );
}

#[test]
fn a_request_that_has_to_wait_is_asked_again_and_its_reads_wait_with_it() {
    let mut pair = Pair::new(Start::Burst);
    let mut waits = 2;
    pair.world.special = Box::new(move |server, tag, request| {
        let Request::Open(open) = request else { return false };
        let first = waits == 2;
        assert_eq!(open.options.contains(OpenOptions::REFRESH), first, "looked for again once");
        waits -= 1;
        if waits >= 0 {
            server.answer_wait(tag, Duration::from_secs(5), "staging");
        }
        waits >= 0
    });
    let (file, _) = pair.client.open(pair.now, "/a", READING | OpenOptions::REFRESH);
    let read = pair.client.read(pair.now, file, 0..100);
    pair.settle();
    assert!(happened(&pair, |event| matches!(event, Event::Wait { why, .. } if why == "staging")));
    assert_eq!(pair.client.poll_timeout(), Some(Duration::from_secs(6) + RTT));
    pair.run(Duration::from_secs(60));
    assert_eq!(pair.data(read).len(), 100);
    // Two waits, three opens, and the read once the third has succeeded.
    assert_eq!(pair.done_after(read), Some(Duration::from_secs(10) + 4 * RTT));
    assert_eq!(pair.count("kXR_open"), 3);
    let sent = std::iter::from_fn(|| pair.client.poll_sent()).collect::<Vec<_>>();
    let seen = pair.count("kXR_open") + pair.count("kXR_read");
    assert_eq!(sent.len(), seen, "each time that it was sent");
}

#[test]
fn a_server_cannot_make_a_request_wait_for_ever() {
    let mut pair = Pair::new(Start::Burst);
    pair.world.special = Box::new(|server, tag, request| {
        let is_stat = matches!(request, Request::Stat(_));
        if is_stat {
            server.answer_wait(tag, Duration::ZERO, "");
        }
        is_stat
    });
    let stat = pair.client.stat(pair.now, "/a");
    pair.run(Duration::from_secs(3600));
    assert!(matches!(failure(&pair, stat), Some(RequestError::WaitedTooLong(_))));
}

#[test]
fn an_answer_that_is_put_off_comes_as_attention() {
    let mut pair = Pair::new(Start::Burst);
    let mut opening = None;
    pair.world.special = Box::new(move |server: &mut Server, tag, request| match request {
        Request::Open(_) => {
            server.answer_waitresp(tag, Duration::from_secs(60), "looking");
            opening = Some(tag);
            true
        }
        Request::Ping(_) => {
            server.answer_open(opening.take().unwrap(), Default::default(), None);
            false
        }
        Request::Read(read) => {
            // The slot is open only after the ping: an earlier read does not find it.
            let open = opening.is_none();
            let bytes = pair::contents(100).slice(read.offset as usize..);
            if open {
                server.answer_data(tag, bytes, false);
            } else {
                server.answer_error(tag, ErrorCode::FILE_NOT_OPEN, "not open");
            }
            true
        }
        _ => false,
    });
    let (file, open) = pair.client.open(pair.now, "/a", READING);
    let read = pair.client.read(pair.now, file, 90..200);
    pair.settle();
    assert!(happened(&pair, |event| matches!(event, Event::Wait { .. })));
    assert_eq!(pair.data(read).len(), 0);
    pair.now += Duration::from_secs(40);
    pair.client.ping(pair.now);
    pair.settle();
    assert!(happened(
        &pair,
        |event| matches!(event, Event::Opened { request, .. } if *request == open)
    ));
    let got = pair.data(read);
    assert_eq!(got.len(), 10);
    assert_eq!(got[&(0, 95)], byte(95));
}

#[test]
fn an_answer_put_off_for_ever_is_given_up_and_its_id_stays_reserved() {
    let mut pair = Pair::new(Start::Burst);
    let kept = keep(&mut pair, |request| matches!(request, Request::Query(_)));
    let query = pair.client.query_checksum(pair.now, "/a");
    pair.settle();
    let (tag, _) = kept.borrow_mut().pop().unwrap();
    pair.server.answer_waitresp(tag, Duration::from_secs(20), "");
    pair.run(Duration::from_secs(30));
    assert_eq!(failure(&pair, query), Some(RequestError::TimedOut));
    let now = Duration::from_secs(21) + RTT + LATENCY;
    assert_eq!(pair.log.last().unwrap().0, now);

    // Too late: the answer is dropped.
    pair.server.answer_text(tag, "adler32 00000001");
    let ping = pair.client.ping(pair.now);
    pair.settle();
    assert!(
        happened(&pair, |event| *event == Event::Answer { request: ping, answer: Answer::Pong })
    );
    assert!(!pair.client.is_closed());
}

#[test]
fn answers_may_come_in_any_order() {
    let mut pair = Pair::new(Start::Burst);
    let (file, _) = pair.client.open(pair.now, "/a", READING);
    pair.settle();
    let kept = keep(&mut pair, |request| matches!(request, Request::Read(_)));
    let reads: Vec<_> =
        (0..8_u64).map(|i| pair.client.read(pair.now, file, i * 10..i * 10 + 10)).collect();
    pair.settle();
    while let Some((tag, request)) = kept.borrow_mut().pop() {
        let Request::Read(read) = request else { unreachable!() };
        let bytes = pair::contents(100).slice(read.offset as usize..read.offset as usize + 10);
        pair.server.answer_data(tag, bytes.slice(..3), true);
        pair.server.answer_data(tag, bytes.slice(3..), false);
    }
    pair.settle();
    for (i, read) in (0..).zip(reads) {
        let got = pair.data(read);
        assert_eq!(got.len(), 10);
        assert!(got.iter().all(|((_, at), got)| at / 10 == i && *got == byte(*at)));
    }
}

#[test]
fn bytes_that_come_before_their_open_are_held_until_the_guess_is_confirmed() {
    let mut pair = Pair::new(Start::Burst);
    let kept = keep(&mut pair, |request| matches!(request, Request::Open(_) | Request::Read(_)));
    let (file, _) = pair.client.open(pair.now, "/a", READING);
    let read = pair.client.read(pair.now, file, 0..4);
    let doubtful = pair.client.read(pair.now, file, 4..6);
    pair.settle();
    let tags: Vec<_> = kept.borrow().iter().map(|(tag, _)| *tag).collect();
    pair.server.answer_data(tags[1], pair::contents(4), false);
    pair.server.answer_error(tags[2], ErrorCode::FILE_NOT_OPEN, "not yet");
    pair.settle();
    assert!(pair.data(read).is_empty() && failure(&pair, doubtful).is_none());
    pair.server.answer_open(tags[0], Default::default(), None);
    pair.settle();
    assert_eq!(pair.data(read).len(), 4);
    assert_eq!(kept.borrow().len(), 4, "the read that was refused is asked again");
    let (tag, _) = kept.borrow()[3].clone();
    pair.server.answer_data(tag, pair::contents(6).slice(4..), false);
    pair.settle();
    assert_eq!(pair.data(doubtful).len(), 2);
}

#[test]
fn a_cancelled_read_is_drained_and_a_cancelled_open_is_undone() {
    let mut pair = Pair::new(Start::Burst);
    let (file, _) = pair.client.open(pair.now, "/a", READING);
    let (other, open) = pair.client.open(pair.now, "/b", READING);
    let read = pair.client.read(pair.now, file, 0..1000);
    let lost = pair.client.read(pair.now, other, 0..10);
    let kept = pair.client.read(pair.now, file, 5..10);
    // They are on their way when they are cancelled.
    let first = pair.client.poll_transmit(pair.now).unwrap();
    pair.client.cancel(pair.now, read);
    pair.client.cancel(pair.now, open);
    pair.server.handle_bytes(pair.now, first).unwrap();
    pair.settle();
    assert!(pair.data(read).is_empty());
    assert!(!happened(&pair, |event| *event == Event::Done { request: read }));
    assert_eq!(failure(&pair, lost), Some(Misuse::ClosedFile.into()));
    assert_eq!(pair.data(kept).len(), 5);
    assert_eq!(pair.world.open.len(), 1, "/b is closed again");
    let misuse = pair.client.read(pair.now, other, 0..10);
    pair.settle();
    assert_eq!(failure(&pair, misuse), Some(Misuse::ClosedFile.into()));
}

#[test]
fn a_close_is_not_cancelled() {
    let mut pair = Pair::new(Start::Burst);
    let (file, _) = pair.client.open(pair.now, "/a", READING);
    let close = pair.client.close(pair.now, file);
    pair.client.cancel(pair.now, close);
    pair.settle();
    assert!(pair.world.open.is_empty() && pair.count("kXR_close") == 1);
}

#[test]
fn a_read_that_fails_says_what_the_server_said() {
    let mut pair = Pair::new(Start::Burst);
    let (file, _) = pair.client.open(pair.now, "/a", READING);
    pair.settle();
    let kept = keep(&mut pair, |request| matches!(request, Request::Read(_)));
    let read = pair.client.read(pair.now, file, 0..10);
    pair.settle();
    let (tag, _) = kept.borrow_mut().pop().unwrap();
    pair.server.answer_data(tag, pair::contents(4), true);
    pair.server.answer_error(tag, ErrorCode::IO_ERROR, "the disk is gone");
    pair.settle();
    let error = failure(&pair, read).unwrap();
    assert_eq!(error.to_string(), "the disk is gone (error 3007)");
    assert!(error.is_retryable());
    assert_eq!(pair.data(read).len(), 4, "what came before was right");
}

#[test]
fn a_silent_server_is_given_up_and_an_idle_one_is_asked_for_a_sign_of_life() {
    let mut pair = Pair::new(Start::Burst);
    let kept = keep(&mut pair, |request| matches!(request, Request::Stat(_)));
    pair.settle();
    assert_eq!(pair.client.poll_timeout(), None, "nothing is owed");
    pair.now += Duration::from_secs(100);
    let stat = pair.client.stat(pair.now, "/a");
    let asked = pair.now;
    pair.run(Duration::from_secs(100));
    assert_eq!(kept.borrow().len(), 1);
    assert_eq!(pair.log.last().unwrap().0, asked + Duration::from_secs(30));
    let silent = SessionError::Silent(Duration::from_secs(30));
    assert_eq!(failure(&pair, stat), Some(RequestError::Session(silent.clone())));
    let last = Event::SessionFailed { error: silent.clone(), retry: HowToRetry::Again };
    assert_eq!(pair.log.last().unwrap().1, last);
    let late = pair.client.stat(pair.now, "/a");
    pair.settle();
    assert_eq!(failure(&pair, late), Some(RequestError::Session(silent)), "at once");

    let mut config = farroot_xrootd::client::ClientConfig::new("tester", "test", 7);
    config.keepalive = Some(Duration::from_secs(10));
    let mut pair = Pair::new(Start::Burst);
    pair.client = farroot_xrootd::client::Client::new(config, Default::default(), Start::Burst);
    pair.run(Duration::from_secs(35));
    assert_eq!(pair.count("kXR_ping"), 3);
    assert!(!pair.client.is_closed());
}

#[test]
fn a_connection_lost_in_the_burst_is_begun_again_with_care() {
    let mut pair = Pair::new(Start::Burst);
    let (_, open) = pair.client.open(pair.now, "/a", READING);
    pair.client.handle_eof(pair.now);
    pair.settle();
    assert_eq!(failure(&pair, open), Some(RequestError::Session(SessionError::Closed)));
    let retry = HowToRetry::Careful;
    assert_eq!(
        pair.log.last().unwrap().1,
        Event::SessionFailed { error: SessionError::Closed, retry }
    );
    assert_eq!(pair.client.profile().start(), Start::Careful);

    let mut pair = Pair::new(Start::Burst);
    pair.client.open(pair.now, "/a", READING);
    pair.settle();
    pair.client.handle_eof(pair.now);
    pair.settle();
    let retry = HowToRetry::Again;
    assert_eq!(
        pair.log.last().unwrap().1,
        Event::SessionFailed { error: SessionError::Closed, retry }
    );
    assert_eq!(pair.client.profile().start(), Start::Burst);
}

#[test]
fn what_makes_no_sense_is_refused_before_it_is_sent() {
    let mut pair = Pair::new(Start::Burst);
    let (file, open) = pair.client.open(pair.now, "/a", READING);
    pair.client.query_config(pair.now, &["readv_iov_max"]);
    pair.settle();
    assert_eq!(pair.client.limits().segments_max, 16);
    let client = &mut pair.client;
    let too_many: Vec<_> = (0..17).map(|i| (file, i * 10..i * 10 + 1)).collect();
    let unknown = farroot_xrootd::client::FileId(77);
    let cases = [
        (client.readv(pair.now, &too_many), Misuse::TooManySegments),
        (client.readv(pair.now, &[(file, 0..3_000_000)]), Misuse::SegmentTooLong),
        (client.read(pair.now, file, 0..1 << 31), Misuse::RangeTooLarge),
        (client.read(pair.now, file, u64::MAX - 1..u64::MAX), Misuse::RangeTooLarge),
        (client.read(pair.now, unknown, 0..1), Misuse::UnknownFile),
        (client.stat(pair.now, ""), Misuse::BadPath),
        (client.open(pair.now, "/a\n", READING).1, Misuse::BadPath),
    ];
    let nothing = [client.read(pair.now, file, 5..5), client.readv(pair.now, &[])];
    let beyond = client.readv(pair.now, &[(file, 9_990..10_010), (file, 20_000..20_010)]);
    let close = client.close(pair.now, file);
    let closed = client.read(pair.now, file, 0..1);
    pair.settle();
    for (request, misuse) in cases {
        assert_eq!(failure(&pair, request), Some(misuse.into()));
    }
    for request in nothing {
        assert!(happened(&pair, |event| *event == Event::Done { request }));
    }
    assert_eq!(pair.data(beyond).len(), 10, "what lies beyond the end is left out");
    assert_eq!(failure(&pair, closed), Some(Misuse::ClosedFile.into()));
    assert_eq!(failure(&pair, open), None);
    assert_eq!(failure(&pair, close), None);
}

#[test]
fn a_notice_is_passed_on() {
    let mut pair = Pair::new(Start::Burst);
    pair.settle();
    pair.server.notify("down at noon");
    pair.settle();
    assert!(happened(&pair, |event| *event == Event::Notice { text: "down at noon".to_owned() }));
}
