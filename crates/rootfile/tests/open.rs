//! Opening a file and reading its trees, with the bytes coming in every way that they can.

use bytes::Bytes;
use farroot_rootfile::file::Recovery;
use farroot_rootfile::tree::{BasketPlace, BranchKind, Tree};
use farroot_rootfile::{ErrorKind, File, Known, Progress, RequestSizes, Result};

use crate::support::feed;

fn testdata(name: &str) -> Bytes {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/");
    Bytes::from(std::fs::read(format!("{folder}{name}")).expect(name))
}

fn open(file: &Bytes) -> (Known, Result<File>) {
    let mut known = Known::new(Some(file.len() as u64));
    let opened = feed::until_ready(file, &mut known, File::open);
    (known, opened)
}

fn tree(file: &Bytes, path: &str) -> Result<Tree> {
    let (mut known, opened) = open(file);
    let opened = opened?;
    feed::until_ready(file, &mut known, |known| opened.tree(known, path))
}

fn patched(file: &Bytes, at: usize, bytes: &[u8]) -> Bytes {
    let mut patched = file.to_vec();
    patched[at..at + bytes.len()].copy_from_slice(bytes);
    Bytes::from(patched)
}

/// Where `bytes` stand in `file` behind `from`.
fn position(file: &Bytes, from: usize, bytes: &[u8]) -> usize {
    from + file[from..].windows(bytes.len()).position(|part| part == bytes).expect("it is there")
}

/// The file as it would be if its writer had left out the streamer infos.
fn without_streamer_infos(file: &Bytes) -> Bytes {
    const SEEK_INFO: usize = 37;
    patched(file, SEEK_INFO, &[0; 8])
}

/// One line for each step: its required ranges, and its speculative ones.
fn steps(file: &Bytes, size: Option<u64>, path: &str) -> Vec<String> {
    let sizes = RequestSizes { head: 4 << 10, flight: 180 << 10 };
    let mut known = Known::new(size).asking_for(sizes);
    let mut opened = None;
    let mut lines = Vec::new();
    loop {
        let step = match &opened {
            None => File::open(&known).map(|progress| match progress {
                Progress::Ready(file) => {
                    opened = Some(file);
                    None
                }
                Progress::NeedsData(needs) => Some(needs),
            }),
            Some(file) => match file.tree(&known, path).expect("a good tree") {
                Progress::Ready(_) => return lines,
                Progress::NeedsData(needs) => Ok(Some(needs)),
            },
        };
        let Some(needs) = step.expect("a good file") else { continue };
        lines.push(format!("require {:?} speculative {:?}", needs.required, needs.speculative));
        for range in needs.required.into_iter().chain(needs.speculative) {
            let stop = range.end.min(file.len() as u64) as usize;
            known.supply(range.start, file.slice(range.start as usize..stop));
        }
    }
}

#[test]
fn a_file_is_open_with_its_tree_in_two_steps() {
    let file = testdata("clustered.root");
    let expected = [
        "require [0..4096] speculative []",
        "require [16866..17116, 11390..16866] speculative [4096..11390, 17116..17401]",
    ];
    assert_eq!(steps(&file, None, "events"), expected);
}

#[test]
fn a_tree_in_directories_needs_only_what_the_wishes_left_out() {
    let file = testdata("clustered.root");
    assert_eq!(steps(&file, None, "outer/inner/small").len(), 2);
}

/// uproot writes the key list first: then the trees' places are known before the streamer infos.
#[test]
fn key_lists_that_come_with_the_head_say_where_the_trees_are() {
    let file = testdata("by_uproot.root");
    let size = file.len() as u64;
    let sizes = RequestSizes { head: 4 << 10, flight: 180 << 10 };
    let mut known = Known::new(Some(size)).asking_for(sizes);
    known.supply(0, file.slice(..1_024));
    let Ok(Progress::NeedsData(needs)) = File::open(&known) else { panic!("it lacks the infos") };
    let wanted: u64 = needs.speculative.iter().map(|range| range.end - range.start).sum();
    assert!(wanted > 0 && wanted < size / 2, "{needs:?} of {size}");
    for range in needs.required.iter().chain(&needs.speculative) {
        known.supply(range.start, file.slice(range.start as usize..range.end as usize));
    }
    let Ok(Progress::Ready(opened)) = File::open(&known) else { panic!("nothing lacks") };
    let name = opened.keys()[0].name.clone();
    assert!(matches!(opened.tree(&known, &name), Ok(Progress::Ready(_))));
}

#[test]
fn a_known_size_lets_the_first_step_wish_for_the_tail() {
    let file = testdata("clustered.root");
    let size = file.len() as u64;
    let expected = [format!("require [0..4096] speculative [4096..{size}]")];
    assert_eq!(steps(&file, Some(size), "events"), expected);
}

#[test]
fn every_beginning_of_a_file_opens_it_or_says_what_is_missing() {
    for name in ["clustered.root", "saved.root"] {
        let file = testdata(name);
        let whole = open(&file).1.expect(name);
        let whole_tree = tree(&file, "events").expect(name);
        for len in 0..=file.len() {
            let mut known = Known::new(Some(file.len() as u64));
            known.supply(0, file.slice(..len));
            match File::open(&known).expect(name) {
                Progress::NeedsData(needs) => {
                    assert!(!needs.required.is_empty());
                    assert!(needs.required.iter().all(|range| range.end <= file.len() as u64));
                    assert!(needs.required.iter().any(|range| range.end > len as u64));
                }
                Progress::Ready(opened) => {
                    assert_eq!(opened, whole);
                    let tree = opened.tree(&known, "events").expect(name);
                    assert!(len < file.len() || tree == Progress::Ready(whole_tree.clone()));
                }
            }
        }
    }
}

#[test]
fn single_bytes_and_a_tail_change_nothing() {
    let file = testdata("saved.root");
    let expected = tree(&file, "events").unwrap();
    let mut known = Known::new(Some(file.len() as u64));
    for at in (0..file.len()).rev() {
        known.supply(at as u64, file.slice(at..=at));
    }
    let Progress::Ready(opened) = File::open(&known).unwrap() else { panic!("all bytes there") };
    assert_eq!(opened.tree(&known, "events").unwrap(), Progress::Ready(expected.clone()));

    let longer = Bytes::from([&file[..], &[7; 300]].concat());
    assert_eq!(tree(&longer, "events").unwrap(), expected);
}

#[test]
fn a_cut_file_is_an_error() {
    let file = testdata("clustered.root");
    for len in [0, 3, 60, 99, 150, 5_000, file.len() - 1_000] {
        let error = open(&file.slice(..len)).1.expect_err("a cut file");
        assert!(matches!(error.kind, ErrorKind::Corrupt(_)), "{len}: {error}");
    }
}

#[test]
fn a_tree_says_all_that_is_known_of_it() {
    let file = testdata("clustered.root");
    let tree = tree(&file, "events").unwrap();
    assert_eq!((tree.name.as_str(), tree.entries), ("events", 100));
    assert_eq!(tree.cluster_starts, [0, 10, 20, 30, 40, 65, 90]);
    assert_eq!(tree.aliases, [("twice".to_owned(), "number * 2".to_owned())]);
    let names: Vec<&str> = tree.branches.iter().map(|branch| branch.name.as_str()).collect();
    assert_eq!(names, ["number", "fixed", "count", "counted", "pair", "names"]);
    let count = tree.branches[3].leaves[0].count.expect("counted");
    assert_eq!(tree.branches[count.0.0 as usize].leaves[count.1 as usize].name, "count");
    let BranchKind::Element { class_name, .. } = &tree.branches[5].kind else {
        panic!("a vector of strings is an element")
    };
    assert_eq!(class_name, "vector<string>");
    for branch in &tree.branches {
        assert!(branch.baskets.windows(2).all(|two| two[0].entries.end == two[1].entries.start));
        assert_eq!(branch.baskets.last().map(|basket| basket.entries.end), Some(100));
    }
}

#[test]
fn older_cycles_are_there_when_asked_for() {
    let file = testdata("clustered.root");
    assert_eq!(tree(&file, "events;1").unwrap().entries, 40);
    assert_eq!(tree(&file, "events;2").unwrap(), tree(&file, "/events").unwrap());
    let error = tree(&file, "events;3").unwrap_err();
    assert!(matches!(error.kind, ErrorKind::NotFound(_)), "{error}");
}

#[test]
fn a_tree_that_was_saved_while_it_was_filled_has_baskets_inside() {
    let tree = tree(&testdata("saved.root"), "events").unwrap();
    for branch in &tree.branches {
        let last = branch.baskets.last().expect("baskets");
        assert!(matches!(last.place, BasketPlace::Embedded(_)), "{}", branch.name);
        assert_eq!(last.entries.end, 100);
    }
}

/// Goes through a file that was never closed, forgetting the bytes that it has passed.
fn recovered(file: &Bytes) -> Result<File> {
    let (mut known, opened) = open(file);
    assert_eq!(opened.expect_err("it has no list of keys").kind, ErrorKind::Unclosed);
    let size = file.len() as u64;
    let Progress::Ready(mut recovery) = Recovery::start(&known, size)? else {
        panic!("the head is known")
    };
    loop {
        match recovery.advance(&known)? {
            Progress::Ready(()) => break,
            Progress::NeedsData(needs) => {
                known.forget_before(recovery.position());
                assert!(!needs.required.is_empty());
                for range in needs.required.into_iter().chain(needs.speculative) {
                    known.supply(range.start, file.slice(range.start as usize..range.end as usize));
                }
            }
        }
    }
    feed::until_ready(file, &mut known, |known| recovery.finish(known))
}

/// ROOT finds the same two objects of the top directory: `outer` at 2042, `events;2` at 12111.
#[test]
fn what_a_dead_writer_had_saved_is_found() {
    let file = testdata("unclosed.root");
    let opened = recovered(&file).unwrap();
    assert!(opened.is_recovered);
    let places: Vec<(&str, u16, u64)> =
        opened.keys().iter().map(|key| (&*key.name, key.cycle, key.offset)).collect();
    assert_eq!(places, [("outer", 1, 2042), ("events", 2, 12111)]);
    let mut known = Known::new(Some(file.len() as u64));
    let tree = feed::until_ready(&file, &mut known, |known| opened.tree(known, "events")).unwrap();
    assert_eq!((tree.entries, tree.branches.len()), (100, 6));
    let path = "outer/small";
    let small = feed::until_ready(&file, &mut known, |known| opened.tree(known, path)).unwrap();
    assert_eq!(small.entries, 1);
}

/// They were listed as objects without a name.
#[test]
fn pages_of_ntuples_that_were_never_closed_are_no_objects() {
    let mut file = testdata("unclosed.root").to_vec();
    let class = 12111 + file[12111..].windows(5).position(|at| at == b"TTree").unwrap();
    file[class..class + 5].copy_from_slice(b"RBlob");
    let opened = recovered(&file.into()).unwrap();
    assert!(opened.keys().iter().all(|key| key.offset != 12111), "{:?}", opened.keys());
    assert!(!opened.keys().is_empty());
}

/// The walk ended at a key of more than 512 bytes, and records behind it were not found: a
/// `TASImage` has its picture in its title.
#[test]
fn a_key_with_a_long_title_does_not_end_the_walk() {
    let mut file = testdata("unclosed.root").to_vec();
    for (name, title_len) in [("long", 5_000u32), ("behind", 3)] {
        let at = file.len() as u32;
        let key_len = 26 + 2 + (1 + name.len() as u16) + 5 + title_len as u16;
        file.extend(u32::from(key_len).to_be_bytes());
        file.extend([0, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
        file.extend(key_len.to_be_bytes());
        file.extend([0, 1]);
        file.extend(at.to_be_bytes());
        file.extend(100u32.to_be_bytes());
        file.extend([1, b'C', name.len() as u8]);
        file.extend(name.bytes());
        file.push(255);
        file.extend(title_len.to_be_bytes());
        file.resize(file.len() + title_len as usize, b't');
    }
    let opened = recovered(&file.into()).unwrap();
    let names: Vec<&str> = opened.keys().iter().map(|key| &*key.name).collect();
    assert_eq!(names, ["outer", "events", "long", "behind"]);
}

#[test]
fn a_dead_writers_file_cut_anywhere_gives_what_is_whole_before_the_cut() {
    let file = testdata("unclosed.root");
    let mut most = 0;
    for len in (300..file.len()).step_by(7) {
        let cut = file.slice(..len);
        match recovered(&cut) {
            Ok(opened) => {
                assert!(opened.keys().len() >= most, "{len}");
                most = opened.keys().len();
                assert!(opened.keys().iter().all(|k| k.offset + k.record_len <= len as u64));
            }
            Err(error) => assert!(matches!(error.kind, ErrorKind::NotFound(_)), "{error}"),
        }
    }
    assert_eq!(most, 2);
}

#[test]
fn trees_are_read_without_streamer_infos() {
    for name in ["clustered.root", "saved.root", "by_uproot.root"] {
        let file = testdata(name);
        let without = tree(&without_streamer_infos(&file), "events").expect(name);
        assert_eq!(without, tree(&file, "events").expect(name));
    }
}

/// Its user info is one of the classes that a file need not describe.
#[test]
fn what_is_inside_of_a_tree_is_read_without_streamer_infos() {
    let file = without_streamer_infos(&testdata("clustered.root"));
    let (mut known, opened) = open(&file);
    let opened = opened.unwrap();
    let objects = feed::until_ready(&file, &mut known, |known| opened.object(known, "events"));
    let objects = objects.unwrap();
    assert_eq!(objects.unread_objects().count(), 0);
    let info = objects.root().objects("fUserInfo").unwrap();
    assert_eq!(info[0].expect("an object").int("fVal").unwrap(), 42);
}

#[test]
fn objects_are_read_by_their_streamer_infos() {
    let file = testdata("clustered.root");
    let (mut known, opened) = open(&file);
    let opened = opened.unwrap();
    let objects = feed::until_ready(&file, &mut known, |known| opened.object(known, "events"));
    let objects = objects.unwrap();
    let info = objects.root().objects("fUserInfo").unwrap();
    let parameter = info[0].expect("an object");
    assert_eq!(parameter.class(), "TParameter<int>");
    assert_eq!(parameter.int("fVal").unwrap(), 42);
    assert_eq!(parameter.string("fName").unwrap(), "run");
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let file = testdata("clustered.root");
    let error = tree(&file, "outer/nothing").unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound("no \"nothing\" in outer, which has inner".into()));
    let error = tree(&file, "outer").unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Unsupported(_)), "{error}");
}

#[test]
fn a_directory_that_was_never_written_is_empty() {
    let file = testdata("clustered.root");
    let (mut known, opened) = open(&file);
    let opened = opened.unwrap();
    let outer = feed::until_ready(&file, &mut known, |known| opened.find(known, "outer")).unwrap();
    const SEEK_KEYS: u64 = 26;
    let place = (outer.offset + outer.key_len + SEEK_KEYS) as usize;
    let empty = patched(&file, place, &[0; 4]);
    let mut known = Known::new(Some(empty.len() as u64));
    let list = feed::until_ready(&empty, &mut known, |known| opened.directory(known, "outer"));
    assert!(list.unwrap().keys.is_empty());
    let list = feed::until_ready(&empty, &mut known, |known| opened.directories(known));
    assert_eq!(list.unwrap().readable.len(), 2);
}

/// One bad directory among many once made all of them unlisted.
#[test]
fn a_corrupt_directory_does_not_hide_the_others() {
    let file = testdata("clustered.root");
    let (mut known, opened) = open(&file);
    let opened = opened.unwrap();
    let path = "outer/inner";
    let inner = feed::until_ready(&file, &mut known, |known| opened.find(known, path)).unwrap();
    const SEEK_KEYS: u64 = 26;
    let place = (inner.offset + inner.key_len + SEEK_KEYS) as usize;
    let corrupt = patched(&file, place, &u32::MAX.to_be_bytes());
    let mut known = Known::new(Some(corrupt.len() as u64));
    let all = feed::until_ready(&corrupt, &mut known, |known| opened.directories(known)).unwrap();
    let readable: Vec<&str> = all.readable.iter().map(|directory| &*directory.path).collect();
    assert_eq!(readable, ["", "outer"]);
    let [(broken, error)] = &all.broken[..] else { panic!("{:?}", all.broken) };
    assert_eq!(broken, path);
    assert!(matches!(error.kind, ErrorKind::Corrupt(_)), "{error}");
}

#[test]
fn directories_that_contain_themselves_end() {
    let file = testdata("clustered.root");
    let (mut known, opened) = open(&file);
    let opened = opened.unwrap();
    let list = feed::until_ready(&file, &mut known, |known| opened.directories(known)).unwrap();
    let list = list.readable;
    assert_eq!(list.len(), 3);
    let [outer, inner] = ["outer", "inner"].map(|name| {
        list.iter().find_map(|directory| directory.key(name, None)).expect(name).offset as u32
    });
    // In the key list of `outer`, the key of `inner` is now that of `outer` itself.
    let names = position(&file, inner as usize + 60, b"\x0aTDirectory\x05inner");
    let key_len = usize::from(file[names - 11]);
    let own = &file[outer as usize..][..key_len];
    let cyclic = patched(&file, names - 26, own);

    let (mut known, opened) = open(&cyclic);
    let opened = opened.unwrap();
    let list = feed::until_ready(&cyclic, &mut known, |known| opened.directories(known)).unwrap();
    assert_eq!(list.readable.len(), 2);
    let path = format!("outer{}/events", "/outer".repeat(1000));
    let found = feed::until_ready(&cyclic, &mut known, |known| opened.find(known, &path));
    assert!(matches!(found.unwrap_err().kind, ErrorKind::NotFound(_)));
}

#[test]
fn friends_and_indices() {
    let file = testdata("friends.root");
    let events = tree(&file, "events").unwrap();
    let friends = events.friends.unwrap();
    let places: Vec<_> = friends.iter().map(|f| (&*f.name, &*f.tree, &*f.file)).collect();
    let other = "friends_other.root";
    assert_eq!(
        places,
        [("beside", "beside", ""), ("a", "aligned", other), ("i", "indexed", other)]
    );
    let index = events.index.unwrap().unwrap();
    assert_eq!((&*index.major_name, &*index.minor_name), ("run", "event"));
    assert_eq!((index.entry(3, 134), index.entry(3, 150)), (Some(34), None));
    let indexed = tree(&testdata(other), "indexed").unwrap().index.unwrap().unwrap();
    assert_eq!(indexed.entries.len(), 30);
    assert_eq!((indexed.entry(0, 100), indexed.entry(0, 101)), (Some(29), None));
    assert_eq!(tree(&file, "beside").unwrap().index.unwrap(), None);
}

#[test]
fn chains_of_files() {
    let file = testdata("chain.root");
    let (mut known, opened) = open(&file);
    let opened = opened.unwrap();
    let mut chain = |path: &str| {
        feed::until_ready(&file, &mut known, |known| opened.chain(known, path)).unwrap()
    };
    let series = chain("series");
    assert_eq!((&*series.name, &*series.title), ("events", "of two files"));
    assert_eq!(series.aliases, [("twice".to_owned(), "x * 2".to_owned())]);
    let links: Vec<_> = series.links.iter().map(|l| (&*l.tree, &*l.file, l.entries)).collect();
    assert_eq!(links[0], ("events", "chain_1.root", None));
    assert_eq!(links[1], ("events", "/elsewhere/chain_2.root", None));
    let friends = series.friends.unwrap();
    assert_eq!((&*friends[0].name, &*friends[0].file), ("weights", "chain_weights.root"));
    let counts: Vec<_> = chain("counted").links.iter().map(|link| link.entries).collect();
    assert_eq!(counts, [Some(40), Some(60)]);
    assert_eq!(chain("nothing").links, []);
    let error = tree(&file, "series").unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Unsupported(_)), "{error}");
}
