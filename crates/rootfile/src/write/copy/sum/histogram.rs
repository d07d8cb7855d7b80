//! Histograms of several files as one: their sum (ROOT: `TH1::Merge` where all axes are the same).

use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::object::{ObjectId, ObjectRef, Value};
use crate::write::buffer::Buffer;
use crate::write::copy::CopiedObject;

/// Set where adding is to make averages (ROOT: `TH1::kIsAverage`).
const IS_AVERAGE: i64 = 1 << 18;
/// Numbers of a histogram that are sums.
const SUMS: [&str; 14] = [
    "fEntries", "fTsumw", "fTsumw2", "fTsumwx", "fTsumwx2", "fTsumwy", "fTsumwy2", "fTsumwxy",
    "fTsumwz", "fTsumwz2", "fTsumwxz", "fTsumwyz", "fTsumwt", "fTsumwt2",
];
/// Base classes that have the bins.
const BINS: [&str; 6] = ["TArrayC", "TArrayS", "TArrayI", "TArrayL64", "TArrayF", "TArrayD"];
const AXES: [&str; 3] = ["fXaxis", "fYaxis", "fZaxis"];

/// A histogram that others are added to.
#[derive(Debug)]
pub struct HistogramSum {
    object: CopiedObject,
    sums: Vec<(&'static str, f64)>,
    /// Of the histogram and its member: which bytes the bins are.
    place: (ObjectId, usize),
    bins: Numbers,
    errors: Extra,
    /// Of a profile: entries of each bin, and their squared weights.
    bin_entries: Extra,
    bin_errors: Extra,
}

/// An array that some histograms have.
type Extra = Vec<f64>;

impl HistogramSum {
    /// Begins with the first.
    ///
    /// # Errors
    /// `Unsupported` for averages, histograms whose entries are still in a buffer, and classes
    /// whose bins are no array.
    pub fn new(object: CopiedObject) -> Result<HistogramSum> {
        check(object.root())?;
        let root = object.root();
        let (place, bins) = bins(root)?;
        let sums = SUMS.into_iter().filter_map(|name| Some((name, number(root, name)?)));
        Ok(HistogramSum {
            sums: sums.collect(),
            place,
            bins,
            errors: extra(root, "fSumw2"),
            bin_entries: extra(root, "fBinEntries"),
            bin_errors: extra(root, "fBinSumw2"),
            object,
        })
    }

    /// Adds another one.
    ///
    /// # Errors
    /// `Unsupported` where its class, axes or labels are others; as [`HistogramSum::new`].
    pub fn add(&mut self, other: &CopiedObject) -> Result<()> {
        let (mine, their) = (self.object.root(), other.root());
        check(their)?;
        if mine.class() != their.class() {
            let what = format!("a {} where the first input has a {}", their.class(), mine.class());
            return Err(Error::unsupported(what));
        }
        for axis in AXES {
            check_axis(mine, their, axis)?;
        }
        let (_, more) = bins(their)?;
        let more_errors = extra(their, "fSumw2");
        let (now, then) = (reals(&self.bins), reals(&more));
        add_extra(&mut self.errors, &more_errors, (&now, &then))?;
        let (entries, more_entries) = (self.bin_entries.clone(), extra(their, "fBinEntries"));
        let more_bin_errors = extra(their, "fBinSumw2");
        add_extra(&mut self.bin_errors, &more_bin_errors, (&entries, &more_entries))?;
        add_extra(&mut self.bin_entries, &more_entries, (&[], &[]))?;
        add_bins(&mut self.bins, &more)?;
        for (name, sum) in &mut self.sums {
            *sum += number(their, name).unwrap_or(0.0);
        }
        Ok(())
    }

    /// The sum as an object.
    pub fn finish(self) -> CopiedObject {
        let HistogramSum { mut object, sums, place, bins, errors, bin_entries, bin_errors } = self;
        let arrays = [("fSumw2", errors), ("fBinEntries", bin_entries), ("fBinSumw2", bin_errors)];
        let record = object.records[0].clone();
        let root = record.root();
        for (name, sum) in sums {
            let mut to = Buffer::default();
            to.f64(sum);
            object.edits.set_bytes((0, root), name, to);
        }
        for (name, array) in arrays {
            object.edits.set_bytes((0, root), name, array_of(&Numbers::F64(array)));
        }
        let (owner, member) = place;
        object.edits.members.insert(((0, owner), member), array_of(&bins).into_vec());
        object
    }
}

fn check(histogram: ObjectRef<'_>) -> Result<()> {
    if histogram.int("fBits")? & IS_AVERAGE != 0 {
        return Err(Error::unsupported("a histogram of averages (TH1::kIsAverage) has no sum"));
    }
    match histogram.member("fBuffer") {
        Some(Value::Numbers(buffer)) if !buffer.is_empty() => {
            Err(Error::unsupported("a histogram whose entries are in a buffer, not in bins"))
        }
        _ => Ok(()),
    }
}

fn check_axis(mine: ObjectRef<'_>, their: ObjectRef<'_>, name: &str) -> Result<()> {
    let (Some(mine), Some(their)) = (mine.pointed(name)?, their.pointed(name)?) else {
        return Ok(());
    };
    for member in ["fNbins", "fXmin", "fXmax"] {
        if mine.member(member) != their.member(member) {
            let what = format!("{name}: other bins than in the first input ({member})");
            return Err(Error::unsupported(what));
        }
    }
    if extra(mine, "fXbins") != extra(their, "fXbins") {
        return Err(Error::unsupported(format!("{name}: other edges than in the first input")));
    }
    match labels(mine)? == labels(their)? {
        true => Ok(()),
        false => Err(Error::unsupported(format!("{name}: other labels than in the first input"))),
    }
}

/// The labels of an axis, and the bins that they are of.
fn labels(axis: ObjectRef<'_>) -> Result<Vec<(i64, String)>> {
    if axis.member("fLabels").is_none() {
        return Ok(Vec::new());
    }
    let labels = axis.objects("fLabels")?.into_iter().flatten();
    let mut all = labels
        .map(|label| Ok((label.int("fUniqueID")?, label.string("fString")?)))
        .collect::<Result<Vec<_>>>()?;
    all.sort();
    Ok(all)
}

/// The bins, and which member of which object they are.
fn bins(histogram: ObjectRef<'_>) -> Result<((ObjectId, usize), Numbers)> {
    let found = BINS.into_iter().find_map(|class| {
        let array = histogram.base(class)?;
        let Some(Value::Numbers(numbers)) = array.member("fArray") else { return None };
        Some((histogram.base_position(class)?, numbers.clone()))
    });
    let class = histogram.class();
    found.ok_or_else(|| Error::unsupported(format!("the sum of objects of class {class}")))
}

fn number(histogram: ObjectRef<'_>, name: &str) -> Option<f64> {
    match histogram.member(name)? {
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// The numbers of a `TArrayD`; none where there is none.
fn extra(object: ObjectRef<'_>, name: &str) -> Extra {
    let array = object.member(name).and_then(|_| object.pointed(name).ok().flatten());
    match array.and_then(|array| array.member("fArray")) {
        Some(Value::Numbers(Numbers::F64(numbers))) => numbers.clone(),
        _ => Vec::new(),
    }
}

fn reals(numbers: &Numbers) -> Vec<f64> {
    match numbers {
        Numbers::I8(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Numbers::I16(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Numbers::I32(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Numbers::I64(all) => all.iter().map(|n| *n as f64).collect(),
        Numbers::F32(all) => all.iter().map(|n| f64::from(*n)).collect(),
        Numbers::F64(all) => all.clone(),
        _ => Vec::new(),
    }
}

/// Adds an array that one of both may lack; it is then as the other numbers of that one say.
fn add_extra(sum: &mut Extra, more: &Extra, without: (&[f64], &[f64])) -> Result<()> {
    let other = match (sum.is_empty(), more.is_empty()) {
        (true, true) => return Ok(()),
        (true, false) => {
            *sum = without.0.to_vec();
            more
        }
        (false, true) => without.1,
        (false, false) => more,
    };
    if sum.len() != other.len() {
        return Err(Error::corrupt("arrays of a histogram that are not of one length"));
    }
    sum.iter_mut().zip(other).for_each(|(sum, more)| *sum += more);
    Ok(())
}

/// Adds bins in their own type; whole numbers stop at its limits, as in ROOT.
fn add_bins(sum: &mut Numbers, more: &Numbers) -> Result<()> {
    fn each<T: Copy>(sum: &mut [T], more: &[T], add: impl Fn(T, T) -> T) -> Result<()> {
        if sum.len() != more.len() {
            return Err(Error::unsupported("another number of bins than in the first input"));
        }
        sum.iter_mut().zip(more).for_each(|(sum, more)| *sum = add(*sum, *more));
        Ok(())
    }
    match (sum, more) {
        (Numbers::I8(sum), Numbers::I8(more)) => each(sum, more, i8::saturating_add),
        (Numbers::I16(sum), Numbers::I16(more)) => each(sum, more, i16::saturating_add),
        (Numbers::I32(sum), Numbers::I32(more)) => each(sum, more, i32::saturating_add),
        (Numbers::I64(sum), Numbers::I64(more)) => each(sum, more, i64::saturating_add),
        (Numbers::F32(sum), Numbers::F32(more)) => each(sum, more, |a, b| a + b),
        (Numbers::F64(sum), Numbers::F64(more)) => each(sum, more, |a, b| a + b),
        _ => Err(Error::unsupported("bins of another type than in the first input")),
    }
}

/// As a `TArray` is written: how many, and the numbers.
fn array_of(numbers: &Numbers) -> Buffer {
    let mut to = Buffer::default();
    to.u32(numbers.len() as u32);
    match numbers {
        Numbers::I8(all) => all.iter().for_each(|n| to.i8(*n)),
        Numbers::I16(all) => all.iter().for_each(|n| to.i16(*n)),
        Numbers::I32(all) => all.iter().for_each(|n| to.i32(*n)),
        Numbers::I64(all) => all.iter().for_each(|n| to.i64(*n)),
        Numbers::F32(all) => all.iter().for_each(|n| to.f32(*n)),
        Numbers::F64(all) => all.iter().for_each(|n| to.f64(*n)),
        _ => {}
    }
    to
}
