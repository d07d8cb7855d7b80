//! Histograms of many dimensions that have all bins (ROOT: `THn`).

use super::labels::check_axes;
use super::members::set_real;
use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::histogram::cells::{self, add_extra, array_of, reals};
use crate::histogram::members::{extra, number};
use crate::object::{ObjectRef, Value};
use crate::write::buffer::Buffer;
use crate::write::copy::record::Edits;

/// The version that ROOT 6.40 writes in front of a standard collection.
const COLLECTION_VERSION: u16 = 10;

/// Sums in `THnBase`, the base of `THn` and `THnSparse`. Where there are no errors, sums of weights
/// are not kept, and `fTsumw2` is negative.
#[derive(Debug)]
pub struct Moments {
    entries: f64,
    weights: [f64; 2],
    firsts: Vec<f64>,
    seconds: Vec<f64>,
}

#[derive(Debug)]
pub struct DenseSum {
    moments: Moments,
    bins: Numbers,
    errors: Vec<f64>,
}

impl Moments {
    pub fn new(root: ObjectRef<'_>) -> Moments {
        let real = |name| number(root, name).unwrap_or_default();
        Moments {
            entries: real("fEntries"),
            weights: [real("fTsumw"), real("fTsumw2")],
            firsts: extra(root, "fTsumwx"),
            seconds: extra(root, "fTsumwx2"),
        }
    }

    pub fn add(&mut self, their: ObjectRef<'_>) -> Result<()> {
        let more = Moments::new(their);
        self.entries += more.entries;
        let [mine, their] = [&self.weights, &more.weights].map(|weights| weights[1] >= 0.0);
        self.weights = match (mine, their) {
            (false, _) => more.weights,
            (true, false) => self.weights,
            (true, true) => [0, 1].map(|at| self.weights[at] + more.weights[at]),
        };
        add_extra(&mut self.firsts, &more.firsts, (&more.firsts, &[]), Some)?;
        add_extra(&mut self.seconds, &more.seconds, (&more.seconds, &[]), Some)
    }

    /// Whether sums of squared weights are kept.
    pub fn has_errors(&self) -> bool {
        self.weights[1] >= 0.0
    }

    pub fn edit(&self, root: ObjectRef<'_>, edits: &mut Edits) {
        set_real(root, "fEntries", self.entries, edits);
        set_real(root, "fTsumw", self.weights[0], edits);
        set_real(root, "fTsumw2", self.weights[1], edits);
        for (name, all) in [("fTsumwx", &self.firsts), ("fTsumwx2", &self.seconds)] {
            edits.set_bytes(0, root, name, array_of(&Numbers::F64(all.clone())));
        }
    }
}

impl DenseSum {
    pub fn new(root: ObjectRef<'_>) -> Result<DenseSum> {
        let bins =
            data(root, "fArray")?.ok_or_else(|| Error::corrupt("bins that are no numbers"))?;
        let errors = data(root, "fSumw2")?.map_or_else(Vec::new, |errors| reals(&errors));
        Ok(DenseSum { moments: Moments::new(root), bins, errors })
    }

    pub fn add(&mut self, mine: ObjectRef<'_>, their: ObjectRef<'_>) -> Result<bool> {
        check_axes(mine, their)?;
        let DenseSum { bins: more, errors: more_errors, .. } = DenseSum::new(their)?;
        // There are no bins, or no errors, where nothing was filled in.
        if self.bins.is_empty() {
            self.bins = cells::zeros(&more, more.len())?;
        }
        let mut now = reals(&self.bins);
        now.resize(now.len().max(more_errors.len()), 0.0);
        let then = reals(&more);
        self.moments.add(their)?;
        if self.moments.has_errors() && self.errors.is_empty() {
            self.errors.clone_from(&now);
        }
        add_extra(&mut self.errors, &more_errors, (&now, &then), Some)?;
        cells::add(&mut self.bins, &more, Some)?;
        Ok(false)
    }

    pub fn edit(&self, root: ObjectRef<'_>, edits: &mut Edits) {
        self.moments.edit(root, edits);
        let errors = Numbers::F64(self.errors.clone());
        for (name, numbers) in [("fArray", &self.bins), ("fSumw2", &errors)] {
            let Ok(Some(array)) = root.pointed(name) else { continue };
            let mut to = Buffer::default();
            let count = to.begin_counted();
            to.u16(COLLECTION_VERSION);
            to.bytes(&array_of(numbers).into_vec());
            to.end(count);
            edits.set_bytes(0, array, "fData", to);
        }
    }
}

/// The numbers of an array of many dimensions; `None` where it is not filled yet.
fn data(root: ObjectRef<'_>, name: &str) -> Result<Option<Numbers>> {
    let array = root.pointed(name)?;
    Ok(match array.and_then(|array| array.member("fData")) {
        Some(Value::Numbers(numbers)) => Some(numbers.clone()),
        _ => None,
    })
}
