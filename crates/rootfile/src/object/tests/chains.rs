//! Objects in each other far deeper than native recursion goes.

use super::*;

/// Streamer infos of `Fork`, which has two `Node`s, and of these.
fn forks() -> Streamers {
    let fork = vec![pointer_to("first", "Node"), pointer_to("second", "Node")];
    let node = vec![pointer_to("next", "Node"), member("id", code::INT, "int")];
    Streamers::new(vec![info("Fork", 1, 1, fork), info("Node", 1, 2, node)])
}

/// A pointer to the first of `length` nodes, each of which points to the next one, at that place of
/// its record; and where the pointer to each of them stands.
fn chain(length: usize, at: usize) -> (Vec<u8>, Vec<usize>) {
    const NAMED: usize = 9;
    const KNOWN: usize = 4;
    let tag = |n: usize| if n == 0 { NAMED } else { KNOWN };
    // Of a pointer: its count, its tag, the object's header, the next pointer, the number.
    let mut sizes = vec![4; length + 1];
    for n in (0..length).rev() {
        sizes[n] = 4 + tag(n) + 6 + sizes[n + 1] + 4;
    }
    let counted = |size: usize| (size as u32 | 0x4000_0000).to_be_bytes();
    let class = (at + 4) as u32 + KEY_LEN as u32 + 2;
    let mut bytes = Vec::new();
    let mut places = Vec::new();
    for (n, size) in sizes[..length].iter().enumerate() {
        places.push(at + bytes.len());
        bytes.extend(counted(size - 4));
        match n {
            0 => bytes.extend(*b"\xff\xff\xff\xffNode\0"),
            _ => bytes.extend((class | 0x8000_0000).to_be_bytes()),
        }
        bytes.extend(counted(size - 4 - tag(n) - 4));
        bytes.extend(1u16.to_be_bytes());
    }
    bytes.extend([0; 4]);
    (0..length).rev().for_each(|n| bytes.extend((n as u32).to_be_bytes()));
    (bytes, places)
}

/// A fork whose second pointer is `second`.
fn fork(length: usize, second: impl Fn(&[usize]) -> Vec<u8>) -> Bytes {
    let (first, places) = chain(length, 6);
    let second = second(&places);
    let len = 2 + first.len() + second.len();
    let header = (len as u32 | 0x4000_0000).to_be_bytes();
    [&header[..], &[0, 1], &first, &second].concat().into()
}

fn read_fork(content: &Bytes) -> Result<Objects> {
    read_object(&forks(), "Fork", content, KEY_LEN, 1000)
}

fn reference(place: usize) -> Vec<u8> {
    (place as u32 + KEY_LEN as u32 + 2).to_be_bytes().into()
}

/// A workspace of RooFit with a chain of forty products was refused: 128 objects in each other were
/// more than the reader would recurse.
#[test]
fn chains_of_any_length_are_read_without_recursion() {
    for length in [1, 63, 64, 65, 66, 127, 129, 1_000, 100_000] {
        let content = fork(length, |_| vec![0; 4]);
        let objects = read_fork(&content).unwrap();
        assert!(objects.unread_objects().next().is_none(), "{length}");
        let mut node = objects.root().pointed("first").unwrap();
        for n in 0..length {
            let this = node.unwrap_or_else(|| panic!("node {n} of {length}"));
            assert_eq!((this.class(), this.int("id").unwrap()), ("Node", n as i64));
            node = this.pointed("next").unwrap();
        }
        assert!(node.is_none());
    }
}

#[test]
fn references_into_what_is_read_later_are_kept() {
    for to in [0, 10, 100, 299] {
        let content = fork(300, |places| reference(places[to]));
        let objects = read_fork(&content).unwrap();
        let second = objects.root().pointed("second").unwrap().expect("a node");
        assert_eq!(second.int("id").unwrap(), to as i64);
        let mut node = objects.root().pointed("first").unwrap();
        (0..to).for_each(|_| node = node.unwrap().pointed("next").unwrap());
        assert_eq!(node.unwrap().id, second.id);
    }
}

#[test]
fn references_to_nothing_are_lost() {
    let content = fork(300, |places| reference(places[200] + 1));
    let objects = read_fork(&content).unwrap();
    assert_eq!(objects.root().member("second"), Some(&Value::Lost));
    assert_eq!(objects.root().member("first").map(|first| *first != Value::Lost), Some(true));
}

/// Cut and changed bytes are errors or unread objects, and nothing runs out of stack.
#[test]
fn damaged_chains_end() {
    let content = fork(2_000, |_| vec![0; 4]);
    for len in (0..content.len()).step_by(997) {
        let _ = read_fork(&content.slice(..len));
    }
    for at in (0..content.len()).step_by(997) {
        let mut bad = content.to_vec();
        bad[at] ^= 0x41;
        if at % 5 == 0 {
            let _ = read_fork(&bad.into());
        }
    }
}
