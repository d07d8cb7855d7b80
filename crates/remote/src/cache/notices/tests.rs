use super::*;

const NOW: Duration = Duration::ZERO;

fn opened(folder: &Path) -> Notices {
    Notices::open(folder, 7, NOW).expect("a log")
}

fn logs(folder: &Path) -> usize {
    fs::read_dir(folder.join(FOLDER)).map_or(0, Iterator::count)
}

fn number(notices: &Notices) -> u64 {
    notices.log.lock().number
}

#[test]
fn the_first_to_announce_a_range_fetches_it() {
    let folder = tempfile::tempdir().unwrap();
    let one = opened(folder.path());
    let two = opened(folder.path());
    let three = opened(folder.path());
    assert_eq!(one.announce(&[0..100, 200..300], NOW), [None, None]);
    let first = Some(number(&one));
    assert_eq!(two.announce(&[0..100, 100..200], NOW), [first, None]);
    let second = Some(number(&two));
    assert_eq!(three.announce(&[200..250, 120..130, 0..200], NOW), [first, second, None]);
}

#[test]
fn what_is_withdrawn_is_the_next_ones() {
    let folder = tempfile::tempdir().unwrap();
    let one = opened(folder.path());
    let two = opened(folder.path());
    one.announce(&[0..100], NOW);
    let waited = BTreeSet::from([number(&one)]);
    two.refresh(&waited, NOW);
    assert_eq!(two.holder(&(0..100), NOW), Some(number(&one)));
    one.withdraw(&[0..100]);
    assert_eq!(two.holder(&(0..100), NOW), Some(number(&one)), "until the next look");
    two.refresh(&waited, NOW);
    assert_eq!(two.holder(&(0..100), NOW), None);
    assert_eq!(two.announce(&[0..100], NOW), [None]);
    assert_eq!(one.announce(&[0..100], NOW), [Some(number(&two))]);
}

#[test]
fn a_process_that_has_ended_fetches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let one = opened(folder.path());
    let two = opened(folder.path());
    one.announce(&[0..100, 100..200], NOW);
    let waited = BTreeSet::from([number(&one)]);
    drop(one);
    assert_ne!(two.announce(&[0..100], NOW), [None], "it may be in the cache");
    two.refresh(&waited, NOW);
    assert_eq!(two.holder(&(100..200), NOW), None);
    assert_eq!(two.announce(&[0..100], NOW), [None]);
    // A later process gets another number than the first, whose notices are still in the log.
    let three = opened(folder.path());
    assert_eq!(number(&three), number(&two) + 1);
}

#[test]
fn the_last_to_leave_removes_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let one = opened(folder.path());
    let two = opened(folder.path());
    drop(one);
    assert_eq!(logs(folder.path()), 1);
    drop(two);
    assert_eq!(logs(folder.path()), 0);
    assert_eq!(opened(folder.path()).announce(&[0..1], NOW), [None]);
}

/// The notices of a killed process, and a log with bytes of another program.
#[test]
fn what_is_left_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    drop(opened(folder.path()));
    let path = folder.path().join(FOLDER).join(format!("{:016x}", 7));
    let notice = Notice { process: 1, range: 0..100, subject: Subject::Fetching };
    fs::write(&path, encode_notice(&notice)).unwrap();
    let one = opened(folder.path());
    assert_eq!(fs::metadata(&path).unwrap().len(), 0, "it was left");
    File::options().append(true).open(&path).unwrap().write_all(&[9; 77]).unwrap();
    assert_eq!(one.announce(&[0..100], NOW), [None]);
    assert_eq!(opened(folder.path()).announce(&[50..60], NOW), [None], "out of step: not read");
}

/// Sixteen processes start at once: exactly one of them fetches each range.
#[test]
fn of_many_at_once_one_is_first() {
    let folder = tempfile::tempdir().unwrap();
    let ranges: Vec<Range<u64>> = (0..500).map(|at| at * 100..at * 100 + 80).collect();
    let all: Vec<Notices> = (0..16).map(|_| opened(folder.path())).collect();
    let holders: Vec<Vec<Option<u64>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = all
            .iter()
            .map(|one| {
                let ranges = &ranges;
                scope.spawn(move || {
                    let groups = ranges.chunks(20);
                    groups.flat_map(|group| one.announce(group, NOW)).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for at in 0..ranges.len() {
        let fetching = holders.iter().filter(|of| of[at].is_none()).count();
        assert_eq!(fetching, 1, "range {at}");
    }
}
