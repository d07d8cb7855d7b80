//! Histograms of many dimensions that have some bins (ROOT: `THnSparse`).
//!
//! Bins are in chunks. A bin has packed coordinates, which are the same bytes wherever the axes are
//! the same, a content, and perhaps an error. The sum has one chunk.

use std::collections::BTreeMap;

use super::dense::Moments;
use super::labels::check_axes;
use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::histogram::cells::{self, add_extra, array_of, reals};
use crate::object::{ObjectRef, Value};
use crate::write::buffer::Buffer;
use crate::write::copy::record::{Edits, Object};

#[derive(Debug)]
pub struct SparseSum {
    moments: Moments,
    /// Bytes of coordinates of a bin.
    width: usize,
    coordinates: Vec<u8>,
    /// The number of each bin, by its coordinates.
    places: BTreeMap<Vec<u8>, usize>,
    bins: Numbers,
    errors: Vec<f64>,
    /// Cells of the largest chunk's arrays: ROOT takes the size of a chunk for the room in them.
    room: usize,
    /// The array for errors, in another input's record, where the first one has none.
    errors_of: Option<Object>,
}

impl SparseSum {
    pub fn new(root: ObjectRef<'_>) -> Result<SparseSum> {
        let mut sparse = SparseSum {
            moments: Moments::new(root),
            width: 0,
            coordinates: Vec::new(),
            places: BTreeMap::new(),
            bins: Numbers::F64(Vec::new()),
            errors: Vec::new(),
            room: 0,
            errors_of: None,
        };
        sparse.add_bins(root)?;
        Ok(sparse)
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub fn add(
        &mut self,
        mine: ObjectRef<'_>,
        their: ObjectRef<'_>,
        record: usize,
    ) -> Result<bool> {
        check_axes(mine, their)?;
        let had_errors = !self.errors.is_empty();
        self.add_bins(their)?;
        self.moments.add(their)?;
        if self.moments.has_errors() && self.errors.is_empty() {
            // Nothing was filled into the one that keeps errors.
            self.errors = reals(&self.bins);
        }
        let is_first = !had_errors && !self.errors.is_empty();
        if is_first {
            let array =
                chunks(their)?.into_iter().find_map(|chunk| chunk.pointed("fSumw2").ok()?);
            // Any array of the class can stand for one of errors.
            let array = match array {
                Some(array) => Some(array),
                None => their.pointed("fTsumwx")?,
            };
            self.errors_of = array.map(|array| (record, array.id));
        }
        Ok(is_first)
    }

    fn add_bins(&mut self, their: ObjectRef<'_>) -> Result<()> {
        let corrupt = || Error::corrupt("a sparse histogram whose chunks are not whole");
        let had_bins = !self.places.is_empty();
        for chunk in chunks(their)? {
            let width =
                usize::try_from(chunk.int("fSingleCoordinateSize")?).map_err(|_| corrupt())?;
            let Some(coordinates) = bytes(chunk, "fCoordinates") else { continue };
            let content = chunk.pointed("fContent")?.and_then(|array| array.member("fArray"));
            let Some(Value::Numbers(content)) = content else { return Err(corrupt()) };
            if width == 0 || (self.width != 0 && width != self.width) {
                return Err(corrupt());
            }
            self.width = width;
            self.room = self.room.max(content.len());
            let count = coordinates.len() / width;
            let content = cells::first(content, count).ok_or_else(corrupt)?;
            let errors = chunk.pointed("fSumw2")?.and_then(|array| array.member("fArray"));
            let errors = match errors {
                Some(Value::Numbers(errors)) => reals(errors).into_iter().take(count).collect(),
                _ => Vec::new(),
            };
            if self.places.is_empty() && !had_bins {
                self.bins = cells::zeros(&content, 0)?;
            }
            let places: Vec<usize> =
                coordinates.chunks_exact(width).map(|at| self.place(at)).collect();
            let all = self.places.len();
            let now = reals(&self.bins);
            cells::extend(&mut self.bins, all);
            let place = |at: usize| places.get(at).copied();
            let mut without = now;
            without.resize(all, 0.0);
            if !self.errors.is_empty() {
                self.errors.resize(all, 0.0);
            }
            add_extra(&mut self.errors, &errors, (&without, &reals(&content)), place)?;
            cells::add(&mut self.bins, &content, place)?;
        }
        Ok(())
    }

    fn place(&mut self, coordinates: &[u8]) -> usize {
        let next = self.places.len();
        let place = *self.places.entry(coordinates.to_vec()).or_insert(next);
        if place == next {
            self.coordinates.extend_from_slice(coordinates);
        }
        place
    }

    pub fn edit(&self, root: ObjectRef<'_>, edits: &mut Edits) -> Result<()> {
        self.moments.edit(root, edits);
        let count = self.places.len() as i64;
        edits.set(0, root, "fFilledBins", &[count])?;
        let mut chunks = chunks(root)?.into_iter();
        let Some(chunk) = chunks.next() else { return Ok(()) };
        edits.dropped.extend(chunks.map(|chunk| (0, chunk.id)));
        let room = self.room.max(self.places.len());
        edits.set(0, root, "fChunkSize", &[room as i64])?;
        edits.set(0, chunk, "fCoordinatesSize", &[self.coordinates.len() as i64])?;
        let mut to = Buffer::default();
        to.bool(!self.coordinates.is_empty());
        to.bytes(&self.coordinates);
        edits.set_bytes(0, chunk, "fCoordinates", to);
        if let Some(content) = chunk.pointed("fContent")? {
            let mut bins = self.bins.clone();
            cells::extend(&mut bins, room);
            edits.bodies.insert((0, content.id), array_of(&bins).into_vec());
        }
        let mut errors = self.errors.clone();
        errors.resize(if errors.is_empty() { 0 } else { room }, 0.0);
        let errors = array_of(&Numbers::F64(errors)).into_vec();
        match (chunk.pointed("fSumw2")?, self.errors_of) {
            (Some(array), _) => {
                edits.bodies.insert((0, array.id), errors);
            }
            (None, Some(array)) => {
                edits.bodies.insert(array, errors);
                if let Some((owner, member)) = chunk.position("fSumw2") {
                    edits.pointed.insert(((0, owner), member), array);
                }
            }
            (None, None) => {}
        }
        Ok(())
    }
}

fn chunks(root: ObjectRef<'_>) -> Result<Vec<ObjectRef<'_>>> {
    Ok(root.objects("fBinContent")?.into_iter().flatten().collect())
}

fn bytes(object: ObjectRef<'_>, name: &str) -> Option<Vec<u8>> {
    match object.member(name)? {
        Value::Numbers(Numbers::I8(all)) => Some(all.iter().map(|byte| *byte as u8).collect()),
        Value::Numbers(Numbers::U8(all)) => Some(all.clone()),
        _ => None,
    }
}
