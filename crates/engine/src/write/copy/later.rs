//! Objects that did not fit into memory while the inputs were checked: they are read after all
//! tables have been copied, those of a group of outputs at a time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use remote::fetch::RemoteFile;
use remote::fetch::activity::Activity;
use remote::fetch::ledger::Phase;
use remote::{Error, ErrorKind, Result};
use rootfile::Known;
use rootfile::key::Key;
use tokio::task::JoinHandle;

use super::inputs::{self, DECODED_BYTES, decoded_bytes, joined};
use super::plan::{MergePlan, PlannedInput};
use crate::read::file::session::Session;
use crate::read::file::{File, Speculation};

/// Inputs that stay open until their objects are read; others are opened again for each group.
const FILES_OPEN: usize = 64;
/// Maximum bytes of objects that are requested and not yet added, and maximum number of their
/// pieces, each of which may have to open its file.
const WINDOW_BYTES: u64 = 16 << 20;
const PIECES_AHEAD: usize = 16;

/// Objects of an input, by the positions of their outputs.
pub struct LaterInput {
    input: Arc<PlannedInput>,
    objects: Vec<(usize, Key)>,
    file: Option<OpenInput>,
}

/// An open file, without the memory of its keys and metadata.
#[derive(Clone)]
struct OpenInput {
    remote: Arc<RemoteFile>,
    format: Arc<rootfile::File>,
}

/// Reads these objects, some ahead: group by group, and in a group in the order of the inputs.
pub struct LaterObjects {
    session: Session,
    left: VecDeque<Piece>,
    asked: VecDeque<Asked>,
    asked_bytes: u64,
}

/// The objects of an input that go to a group of outputs, which begins with number `group`.
struct Piece {
    group: usize,
    input: Arc<PlannedInput>,
    file: Option<OpenInput>,
    objects: Vec<(usize, Key)>,
    /// Bytes of the objects' records.
    bytes: u64,
}

struct Asked {
    piece: Piece,
    reading: Reading,
}

/// The task that reads a piece; dropping it aborts the task.
struct Reading(JoinHandle<Result<(OpenInput, Known)>>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl LaterInput {
    /// Keeps the objects of some outputs only.
    pub fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        self.objects.retain(|(output, _)| is_kept(*output));
    }

    /// Objects of a file. `number` counts the inputs with such objects: the first 64 stay open.
    pub fn new(
        input: Arc<PlannedInput>,
        objects: Vec<(usize, Key)>,
        file: &File,
        number: usize,
    ) -> LaterInput {
        let file = (number < FILES_OPEN).then(|| OpenInput::new(file));
        LaterInput { input, objects, file }
    }
}

impl OpenInput {
    fn new(file: &File) -> OpenInput {
        let format = Arc::new(file.format().without_keys());
        OpenInput { remote: file.remote().clone(), format }
    }
}

impl LaterObjects {
    pub fn new(session: Session, inputs: Vec<LaterInput>) -> LaterObjects {
        let groups = groups(&inputs);
        let mut left: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
        for LaterInput { input, objects, file } in inputs {
            let mut of_group: BTreeMap<usize, Vec<(usize, Key)>> = BTreeMap::new();
            for (at, key) in objects {
                of_group.entry(groups[&at]).or_default().push((at, key));
            }
            for (group, objects) in of_group {
                let input = input.clone();
                let file = file.clone();
                let bytes = objects.iter().map(|(_, key)| key.record_len).sum();
                let piece = Piece { group, input, file, objects, bytes };
                left.entry(group).or_default().push(piece);
            }
        }
        let left = left.into_values().flatten().collect();
        LaterObjects { session, left, asked: VecDeque::new(), asked_bytes: 0 }
    }

    /// Adds the objects of the group whose first output is `at`; nothing where no group begins
    /// there. Objects of later groups are requested meanwhile.
    ///
    /// # Errors
    /// `Io` where an input has changed, as [`MergePlan::add_object`], and those of reading.
    pub async fn add(&mut self, plan: &mut MergePlan, at: usize) -> Result<()> {
        self.ask();
        while self.asked.front().is_some_and(|asked| asked.piece.group == at) {
            let Some(Asked { piece, mut reading }) = self.asked.pop_front() else { break };
            let given_up = |_| Error::new(ErrorKind::Cancelled, "given up");
            let (file, known) = (&mut reading.0).await.map_err(given_up)??;
            self.asked_bytes -= piece.bytes;
            self.ask();
            let url = &*piece.input.url;
            for (at, key) in &piece.objects {
                let object = inputs::object(&file.format, url, &known, key)?;
                plan.add_object(*at, object, piece.input.number, url)?;
            }
        }
        Ok(())
    }

    /// Requests pieces, up to the limits of bytes and of pieces.
    fn ask(&mut self) {
        while self.asked.is_empty()
            || self.asked_bytes < WINDOW_BYTES && self.asked.len() < PIECES_AHEAD
        {
            let Some(piece) = self.left.pop_front() else { return };
            self.asked_bytes += piece.bytes;
            let read = read(self.session.clone(), &piece);
            self.asked.push_back(Asked { reading: Reading(tokio::spawn(read)), piece });
        }
    }
}

/// Reads the records of a piece; returns them with the open file.
fn read(
    session: Session,
    piece: &Piece,
) -> impl Future<Output = Result<(OpenInput, Known)>> + use<> {
    let input = piece.input.clone();
    let file = piece.file.clone();
    let record = |(_, key): &(usize, Key)| key.offset..key.offset.saturating_add(key.record_len);
    let ranges = joined(piece.objects.iter().map(record).collect());
    async move {
        let file = match file {
            Some(file) => file,
            None => {
                let file = session.open(&input.address, Speculation::Eager).await?;
                input.check_same(file.remote().info())?;
                OpenInput::new(&file)
            }
        };
        let remote = &file.remote;
        let activity = Activity::within(remote.trace(), Phase::Metadata, Some(remote.tag()));
        let _waiting = activity.waiting();
        let mut known = Known::new(Some(remote.info().size));
        for (offset, bytes) in remote.fetch(&ranges).await? {
            known.supply(offset, bytes);
        }
        Ok((file, known))
    }
}

/// For each output with such objects, the first output of its group.
fn groups(inputs: &[LaterInput]) -> BTreeMap<usize, usize> {
    let mut needed: BTreeMap<usize, u64> = BTreeMap::new();
    for (at, key) in inputs.iter().flat_map(|input| &input.objects) {
        let most = needed.entry(*at).or_default();
        *most = decoded_bytes(key).max(*most);
    }
    grouped(needed, DECODED_BYTES)
}

/// Divides outputs into groups that need up to `most` bytes; a single output may need more.
/// `needed` are the bytes of each output. Returns for each output the first one of its group.
fn grouped(needed: BTreeMap<usize, u64>, most: u64) -> BTreeMap<usize, usize> {
    let mut first = 0;
    let mut sum = u64::MAX;
    let group = |(at, bytes): (usize, u64)| {
        sum = sum.saturating_add(bytes);
        if sum > most {
            (first, sum) = (at, bytes);
        }
        (at, first)
    };
    needed.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_need_no_more_than_there_is_unless_they_are_single() {
        let needed = [(3, 4), (4, 6), (7, 1), (9, 30), (10, 10), (12, 1)];
        let groups: Vec<usize> = grouped(needed.into(), 10).into_values().collect();
        assert_eq!(groups, [3, 3, 7, 9, 10, 12]);
        assert!(grouped(BTreeMap::new(), 10).is_empty());
    }
}
