//! The files of a connection by handle, also those that are being opened, with the requests that
//! wait for them: one open does not hold up requests about other files.

use xrootd::header::Handle;
use xrootd::message::Request;
use xrootd::server::Tag;

use crate::files::Opened;
use crate::folder::FolderFile;

#[derive(Debug, Default)]
pub struct Slots(Vec<Slot>);

#[derive(Debug)]
enum Slot {
    Free,
    /// With the requests that name its handle, in the order in which they came.
    Opening(Opening),
    Open(Opened),
}

#[derive(Debug, Default)]
struct Opening {
    waiting: Vec<(Tag, Request)>,
    /// Bytes for the file have been refused.
    lacks_bytes: bool,
}

impl Slots {
    /// Takes the lowest free handle, as clients guess it; `None` where there are `count_max`.
    pub fn reserve(&mut self, count_max: usize) -> Option<Handle> {
        let free = self.0.iter().position(|slot| matches!(slot, Slot::Free));
        let slot = match free {
            Some(slot) => slot,
            None if self.0.len() < count_max => {
                self.0.push(Slot::Free);
                self.0.len() - 1
            }
            None => return None,
        };
        self.0[slot] = Slot::Opening(Opening::default());
        Some(Handle::from_slot(u32::try_from(slot).ok()?))
    }

    /// Keeps a request that names a file which is being opened; gives back any other.
    pub fn keep(&mut self, tag: Tag, request: Request) -> Option<(Tag, Request)> {
        let is_opening =
            |handle: &Handle| matches!(self.0.get(slot_of(*handle)), Some(Slot::Opening(_)));
        let Some(handle) = handles(&request).into_iter().find(is_opening) else {
            return Some((tag, request));
        };
        if let Some(Slot::Opening(opening)) = self.0.get_mut(slot_of(handle)) {
            opening.waiting.push((tag, request));
        }
        None
    }

    /// Takes the outcome of an open; returns the requests that have waited for it.
    pub fn settle(&mut self, handle: Handle, file: Option<Opened>) -> Vec<(Tag, Request)> {
        let Some(slot) = self.0.get_mut(slot_of(handle)) else { return Vec::new() };
        let Slot::Opening(opening) = slot else { return Vec::new() };
        let Opening { waiting, lacks_bytes } = std::mem::take(opening);
        *slot = file.map_or(Slot::Free, Slot::Open);
        if lacks_bytes {
            slot.note_refused();
        }
        waiting
    }

    /// Bytes have been refused of the file that has this handle, or of any of them: those that are
    /// being written will not be finished.
    pub fn note_refused(&mut self, handle: Option<Handle>) {
        let is_meant = |at: usize| handle.is_none_or(|handle| slot_of(handle) == at);
        let slots = self.0.iter_mut().enumerate();
        slots.filter(|(at, _)| is_meant(*at)).for_each(|(_, slot)| slot.note_refused());
    }

    pub fn get(&self, handle: Handle) -> Option<&Opened> {
        match self.0.get(slot_of(handle)) {
            Some(Slot::Open(file)) => Some(file),
            _ => None,
        }
    }

    /// The open files.
    pub fn iter(&self) -> impl Iterator<Item = &Opened> {
        self.0.iter().filter_map(|slot| match slot {
            Slot::Open(file) => Some(file),
            Slot::Free | Slot::Opening(_) => None,
        })
    }

    /// Frees a handle; the file that had it.
    pub fn take(&mut self, handle: Handle) -> Option<Opened> {
        let slot = self.0.get_mut(slot_of(handle)).filter(|slot| matches!(slot, Slot::Open(_)))?;
        match std::mem::replace(slot, Slot::Free) {
            Slot::Open(file) => Some(file),
            Slot::Free | Slot::Opening(_) => None,
        }
    }
}

impl Slot {
    fn note_refused(&mut self) {
        match self {
            Slot::Opening(opening) => opening.lacks_bytes = true,
            Slot::Open(file) => file.of_folder().into_iter().for_each(FolderFile::note_refused),
            Slot::Free => {}
        }
    }
}

/// The inverse of [`Handle::from_slot`].
fn slot_of(handle: Handle) -> usize {
    u32::from_le_bytes(handle.0) as usize
}

/// The open files that a request names.
fn handles(request: &Request) -> Vec<Handle> {
    match request {
        Request::Read(read) => vec![read.handle],
        Request::Pgread(read) => vec![read.handle],
        Request::Readv(readv) => readv.segments.iter().map(|segment| segment.handle).collect(),
        Request::Close(close) => vec![close.handle],
        Request::Stat(stat) if stat.path.is_empty() => vec![stat.handle],
        Request::Write(write) => vec![write.handle],
        Request::Pgwrite(write) => vec![write.handle],
        Request::Sync(sync) => vec![sync.handle],
        Request::Truncate(cut) if cut.path.is_empty() => vec![cut.handle],
        _ => Vec::new(),
    }
}
