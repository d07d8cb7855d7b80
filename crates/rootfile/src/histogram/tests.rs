//! Fills that wait in histograms, as ROOT empties them into bins.

use super::axis::Shown;
use super::buffer::empty_all;
use super::members::real;
use crate::array::Numbers;
use crate::known::Progress;
use crate::object::{ObjectRef, Objects, Value};
use crate::write::file::tests::{opened, options, written};
use crate::write::objects::{Axis, AxisStyle, Histogram, Profile};
use crate::write::{DirectoryId, FileWriter};

fn histogram(axes: Vec<Axis>) -> Histogram {
    let cells = axes.iter().map(|axis| axis.bins as usize + 2).product();
    Histogram::new("h", axes, Numbers::F64(vec![0.0; cells]))
}

/// A histogram in which fills wait: the numbers of each, the weight first.
fn waiting(histogram: Histogram, fills: &[&[f64]]) -> Objects {
    let mut file = FileWriter::new(options()).unwrap();
    file.put(DirectoryId::TOP, "h", histogram.into_object().unwrap());
    let (file, known) = opened(&written(file));
    let Progress::Ready(mut objects) = file.object(&known, "h").unwrap() else {
        panic!("all is there")
    };
    let mut buffer = vec![fills.len() as f64];
    fills.iter().for_each(|fill| buffer.extend_from_slice(fill));
    let root = objects.root().id;
    objects.set(root, "fBufferSize", Value::Int(buffer.len() as i64));
    objects.set(root, "fBuffer", Value::Numbers(Numbers::F64(buffer)));
    objects
}

/// An axis of which the first bin is shown.
fn with_range(axis: Axis) -> Axis {
    let style = AxisStyle { first: 1, last: 1, bits: 1 << 11, ..AxisStyle::of("xaxis") };
    Axis { style: Some(style), ..axis }
}

/// Takes the limits away from an axis, as of a histogram for which ROOT is to choose them.
fn without_limits(objects: &mut Objects, name: &str) {
    let axis = axis(objects.root(), name).id;
    objects.set(axis, "fXmax", Value::Float(real(objects.get(axis), "fXmin")));
}

fn axis<'a>(root: ObjectRef<'a>, name: &str) -> ObjectRef<'a> {
    root.pointed(name).unwrap().unwrap()
}

#[test]
fn axes_with_limits_keep_the_part_that_is_shown() {
    let mut objects =
        waiting(histogram(vec![with_range(Axis::regular(2, 0.0, 2.0))]), &[&[1.0, 0.5]]);
    empty_all(&mut objects);
    let root = objects.root();
    assert_eq!(real(root, "fTsumwx"), 0.5);
    assert_eq!(Shown::of(axis(root, "fXaxis")), Some(Shown { first: 1, last: 1 }));
}

/// The means of such histograms were those of the bins in a range that was not there any more.
#[test]
fn all_of_axes_is_shown_once_their_limits_are_chosen() {
    let axes = || ["x", "y"].map(|_| with_range(Axis::regular(2, 0.0, 2.0))).to_vec();
    let fills: &[&[f64]] = &[&[1.0, 0.5, 7.0], &[1.0, 1.5, 9.0]];
    for without in [vec!["fXaxis", "fYaxis"], vec!["fYaxis"]] {
        let mut objects = waiting(histogram(axes()), fills);
        without.iter().for_each(|name| without_limits(&mut objects, name));
        empty_all(&mut objects);
        let root = objects.root();
        assert_eq!(real(root, "fTsumwy"), 16.0);
        // ROOT sets the limits of both axes in one call.
        for name in ["fXaxis", "fYaxis"] {
            let axis = axis(root, name);
            assert_eq!((Shown::of(axis), axis.int("fFirst").unwrap()), (None, 0), "{name}");
            assert_eq!(axis.int("fBits").unwrap() & (1 << 11), 0, "{name}");
        }
    }
}

/// A profile did not grow any more once NaN was filled into it.
#[test]
fn not_a_number_ends_the_growth_of_histograms_only() {
    let style = AxisStyle { bits2: 2, ..AxisStyle::of("xaxis") };
    let axis = || Axis { style: Some(style.clone()), ..Axis::regular(2, 0.0, 2.0) };
    let zeros = || vec![0.0; 4];
    let profile = Profile { entries: zeros(), ..Profile::default() };
    let profile = Histogram { sum_w2: zeros(), profile: Some(profile), ..histogram(vec![axis()]) };
    let plain: &[&[f64]] = &[&[1.0, f64::NAN], &[1.0, 3.0]];
    let averaged: &[&[f64]] = &[&[1.0, f64::NAN, 7.0], &[1.0, 3.0, 7.0]];
    for (histogram, fills, grows) in
        [(histogram(vec![axis()]), plain, false), (profile, averaged, true)]
    {
        let mut objects = waiting(histogram, fills);
        empty_all(&mut objects);
        let axis = self::axis(objects.root(), "fXaxis");
        assert_eq!(axis.int("fBits2").unwrap() & 2 != 0, grows);
        // All of the buffer is within the limits first.
        assert_eq!(real(axis, "fXmax"), 4.0);
    }
}

/// ROOT 6.40 has these limits: where all axes grow, one with limits reaches to all values but the
/// first, and grows from there.
#[test]
fn axes_that_grow_reach_to_values_beside_an_axis_without_limits() {
    let style = AxisStyle { bits2: 2, ..AxisStyle::of("yaxis") };
    let axes = |style: &Option<AxisStyle>| {
        let y = Axis { style: style.clone(), ..Axis::regular(3, -2.0, -1.7) };
        vec![Axis { style: style.clone(), ..Axis::regular(5, 0.0, 1.0) }, y]
    };
    let limits = |style: Option<AxisStyle>, values: &[f64]| {
        let fills: Vec<[f64; 3]> = values.iter().map(|y| [1.0, 1.0 + y, *y]).collect();
        let fills: Vec<&[f64]> = fills.iter().map(|fill| &fill[..]).collect();
        let mut objects = waiting(histogram(axes(&style)), &fills);
        without_limits(&mut objects, "fXaxis");
        empty_all(&mut objects);
        let root = objects.root();
        match root.unread() {
            Some(unread) => Err(unread.why.to_string()),
            None => Ok(["fXmin", "fXmax"].map(|name| real(axis(root, "fYaxis"), name))),
        }
    };
    assert_eq!(limits(Some(style.clone()), &[-1.75, -2.5, -1.8]), Ok([-2.5, -1.7]));
    assert_eq!(limits(Some(style.clone()), &[-3.0, -1.0]), Ok([-3.0, 1.0]));
    assert_eq!(limits(None, &[-3.0, -1.0]), Ok([-2.0, -1.7]));
    let infinite = limits(Some(style), &[-1.8, f64::INFINITY]).unwrap_err();
    assert!(infinite.contains("axis 1: an infinite value"), "{infinite}");
}
