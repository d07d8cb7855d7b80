//! Sums of objects that are written here, as the reader of this crate sees them.

use std::sync::Arc;

use super::*;
use crate::array::Numbers;
use crate::known::Progress;
use crate::object::{Objects, Value};
use crate::streamer::StreamerInfo;
use crate::write::buffer::Buffer;
use crate::write::file::tests::{opened, options, written};
use crate::write::objects::{
    Axis, AxisStyle, Efficiency, Graph, GraphErrors, Histogram, ObjString, Parameter,
    ParameterValue, Profile,
};
use crate::write::{DirectoryId, FileWriter, WritableObject};

fn ready<T>(progress: Result<Progress<T>>) -> T {
    match progress.unwrap() {
        Progress::Ready(value) => value,
        Progress::NeedsData(needs) => panic!("all is there: {needs:?}"),
    }
}

/// An object as an input has it, and the input's streamer infos.
fn input(object: Arc<dyn WritableObject>) -> (CopiedObject, Vec<StreamerInfo>) {
    let mut file = FileWriter::new(options()).unwrap();
    file.put(DirectoryId::TOP, "o", object);
    let (file, known) = opened(&written(file));
    let key = file.top.key("o", None).unwrap().clone();
    let infos = file.classes.streamers.infos_of_file().cloned().collect();
    (ready(CopiedObject::read(&file, &known, &key)), infos)
}

/// Adds up objects, writes the sum to a file, and reads the file.
fn sum(objects: Vec<Arc<dyn WritableObject>>) -> Result<Objects> {
    let mut objects = objects.into_iter().map(input);
    let (first, infos) = objects.next().unwrap();
    let mut sum = ObjectSum::new(first)?;
    objects.try_for_each(|(object, _)| sum.add(object))?;
    let mut file = FileWriter::new(options()).unwrap();
    file.infos().copy(&infos, "the first input")?;
    file.put(DirectoryId::TOP, "o", Arc::new(sum.finish()?));
    let (file, known) = opened(&written(file));
    Ok(ready(file.object(&known, "o")))
}

/// The number, or the numbers of the array, in a member of an object.
fn numbers(objects: &Objects, of: ObjectRef<'_>, member: &str) -> Vec<f64> {
    match of.member(member) {
        Some(Value::Numbers(Numbers::F64(all))) => all.clone(),
        Some(Value::Numbers(Numbers::F32(all))) => all.iter().map(|one| f64::from(*one)).collect(),
        Some(Value::Float(one)) => vec![*one],
        Some(Value::Object(id)) => match objects.get(*id).members().next() {
            Some((_, Value::Numbers(Numbers::F64(all)))) => all.clone(),
            other => panic!("{member}: {other:?}"),
        },
        other => panic!("{member}: {other:?}"),
    }
}

/// The bins of a histogram.
fn cells(of: ObjectRef<'_>) -> Vec<f64> {
    of.base("TArrayD").map_or(Vec::new(), |array| match array.members().last() {
        Some((_, Value::Numbers(Numbers::F64(all)))) => all.clone(),
        other => panic!("{other:?}"),
    })
}

fn of_root(objects: &Objects, member: &str) -> Vec<f64> {
    numbers(objects, objects.root(), member)
}

fn histogram(cells: &[f64], axis: Axis) -> Histogram {
    Histogram::new("h", vec![axis], Numbers::F64(cells.to_vec()))
}

fn object(histogram: Histogram) -> Arc<dyn WritableObject> {
    histogram.into_object().unwrap()
}

#[test]
fn histograms_of_the_same_axes() {
    let axis = || Axis::regular(2, 0.0, 2.0);
    let parts = [[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0], [0.0; 4]];
    let parts = parts.iter().map(|cells| object(histogram(cells, axis())));
    let all = sum(parts.collect()).unwrap();
    assert_eq!(all.root().class(), "TH1D");
    assert_eq!(of_root(&all, "fEntries"), [110.0]);
    // Sums over the bins in range: of their contents, and of these times the bins' centres.
    assert_eq!(of_root(&all, "fTsumw"), [55.0]);
    assert_eq!(of_root(&all, "fTsumwx"), [22.0 * 0.5 + 33.0 * 1.5]);
    assert_eq!(cells(all.root()), [11.0, 22.0, 33.0, 44.0]);
}

#[test]
fn errors_are_summed_where_only_one_has_them() {
    let axis = || Axis::regular(2, 0.0, 2.0);
    let with = Histogram { sum_w2: vec![0.5; 4], ..histogram(&[1.0; 4], axis()) };
    let without = histogram(&[3.0; 4], axis());
    for parts in [vec![with.clone(), without.clone()], vec![without, with]] {
        let all = sum(parts.into_iter().map(object).collect()).unwrap();
        // Where no errors are stored, the square of a bin's error is its content.
        assert_eq!(of_root(&all, "fSumw2"), vec![3.5; 4]);
    }
}

#[test]
fn bins_of_one_label_are_added() {
    let axis = |labels: &[&str]| {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Axis { labels, ..Axis::regular(2, 0.0, 2.0) }
    };
    let one = object(histogram(&[0.0, 1.0, 2.0, 0.0], axis(&["a", "b"])));
    let same = object(histogram(&[0.0, 10.0, 20.0, 0.0], axis(&["a", "b"])));
    let all = sum(vec![one.clone(), same]).unwrap();
    assert_eq!(cells(all.root()), [0.0, 11.0, 22.0, 0.0]);
}

/// The first bin of the second input was added to the last one of the sum.
#[test]
fn two_bins_of_one_label_stay_two() {
    let axis = |labels: &[&str]| {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Axis { labels, ..Axis::regular(3, 0.0, 3.0) }
    };
    let one = |labels: &[&str]| object(histogram(&[0.0, 1.0, 0.0, 2.0, 0.0], axis(labels)));
    let all = sum(vec![one(&["a", "b", "a"]), one(&["a", "b", "a"])]).unwrap();
    assert_eq!(cells(all.root()), [0.0, 2.0, 0.0, 4.0, 0.0]);
    for labels in [["a", "b", "c"], ["b", "a", "a"]] {
        assert!(sum(vec![one(&["a", "b", "a"]), one(&labels)]).is_err(), "{labels:?}");
        assert!(sum(vec![one(&labels), one(&["a", "b", "a"])]).is_err(), "{labels:?}");
    }
}

#[test]
fn axes_and_classes_that_differ_are_refused() {
    let one = || object(histogram(&[1.0; 4], Axis::regular(2, 0.0, 2.0)));
    let other = |axis| object(histogram(&[1.0; 4], axis));
    for axis in [Axis::regular(2, 0.0, 3.0), Axis::variable(vec![0.0, 0.5, 2.0])] {
        assert!(sum(vec![one(), other(axis)]).is_err());
    }
    let longer = object(histogram(&[1.0; 5], Axis::regular(3, 0.0, 2.0)));
    assert!(sum(vec![one(), longer]).is_err());
    let singles = Numbers::F32(vec![1.0; 4]);
    let singles = Histogram::new("h", vec![Axis::regular(2, 0.0, 2.0)], singles);
    let error = sum(vec![one(), object(singles)]).unwrap_err().to_string();
    assert!(error.contains("a TH1F where the first input has a TH1D"), "{error}");
}

/// Histograms with axes that grew, and those of averages, were refused.
#[test]
fn axes_of_other_limits_become_the_common_one() {
    let one = || object(histogram(&[0.0, 1.0, 2.0, 0.0], Axis::regular(2, 0.0, 2.0)));
    let grown = || object(histogram(&[0.0, 4.0, 8.0, 0.0], Axis::regular(2, -4.0, 4.0)));
    for parts in [vec![one(), grown()], vec![grown(), one()]] {
        let all = sum(parts).unwrap();
        assert_eq!(cells(all.root()), [0.0, 4.0, 11.0, 0.0]);
        let axis = all.root().pointed("fXaxis").unwrap().unwrap();
        assert_eq!(numbers(&all, axis, "fXmin"), [-4.0]);
        assert_eq!((axis.int("fNbins").unwrap(), of_root(&all, "fEntries")), (2, vec![15.0]));
    }
    let longer = || object(histogram(&[5.0, 1.0, 2.0, 3.0, 0.0], Axis::regular(3, 0.0, 3.0)));
    let all = sum(vec![one(), longer(), one()]).unwrap();
    assert_eq!(cells(all.root()), [5.0, 3.0, 6.0, 3.0, 0.0]);
    // Fills beside the first axis may belong to one of the further bins.
    let over = object(histogram(&[0.0, 1.0, 2.0, 1.0], Axis::regular(2, 0.0, 2.0)));
    let error = sum(vec![over, longer()]).unwrap_err().to_string();
    assert!(error.contains("beside an axis"), "{error}");
}

/// An axis of which the first bin is shown.
fn with_range(axis: Axis) -> Axis {
    let style = AxisStyle { first: 1, last: 1, bits: 1 << 11, ..AxisStyle::of("xaxis") };
    Axis { style: Some(style), ..axis }
}

#[test]
fn sums_are_those_of_the_bins_that_are_shown() {
    let axis = || with_range(Axis::regular(2, 0.0, 2.0));
    let one = || object(histogram(&[5.0, 1.0, 2.0, 0.0], axis()));
    let all = sum(vec![one(), one()]).unwrap();
    assert_eq!((of_root(&all, "fTsumw"), of_root(&all, "fTsumwx")), (vec![2.0], vec![1.0]));
    assert_eq!(of_root(&all, "fEntries"), [16.0]);
    let axis = all.root().pointed("fXaxis").unwrap().unwrap();
    assert_eq!((axis.int("fFirst").unwrap(), axis.int("fLast").unwrap()), (1, 1));
}

/// ROOT looks for no range on the third axis of a profile.
#[test]
fn sums_of_profiles_of_three_axes_are_of_all_bins_along_the_last() {
    let axes = vec![
        Axis::regular(1, 0.0, 1.0),
        Axis::regular(1, 0.0, 1.0),
        with_range(Axis::regular(2, 0.0, 2.0)),
    ];
    let profile = Profile { entries: vec![1.0; 36], ..Profile::default() };
    let histogram = Histogram {
        sum_w2: vec![1.0; 36],
        profile: Some(profile),
        statistics: vec![7.0; 13],
        ..Histogram::new("h", axes, Numbers::F64(vec![1.0; 36]))
    };
    let all = sum(vec![object(histogram.clone()), object(histogram)]).unwrap();
    assert_eq!((of_root(&all, "fTsumw"), of_root(&all, "fTsumwt")), (vec![14.0], vec![14.0]));
}

/// The range of an axis stayed where ROOT's merger takes it away: that of one which is another one
/// in any input, even if it is the common one already.
#[test]
fn all_of_axes_with_other_limits_is_shown() {
    let of = |bins: u32| {
        let axis = with_range(Axis::regular(bins, 0.0, f64::from(bins)));
        object(histogram(&vec![0.0; bins as usize + 2], axis))
    };
    for parts in [vec![of(2), of(4)], vec![of(4), of(2)], vec![of(4), of(2), of(4)]] {
        let all = sum(parts).unwrap();
        let axis = all.root().pointed("fXaxis").unwrap().unwrap();
        assert_eq!((axis.int("fNbins").unwrap(), axis.int("fFirst").unwrap()), (4, 0));
        assert_eq!(axis.int("fBits").unwrap() & (1 << 11), 0);
    }
}

/// A profile of two bins, of a value and a number of entries each.
fn profile_of(values: [f64; 2], entries: [f64; 2], squares: &[f64]) -> Histogram {
    let around = |[one, two]: [f64; 2]| vec![0.0, one, two, 0.0];
    let weighted = |at: usize| values[at] * entries[at];
    let profile =
        Profile { entries: around(entries), sum_w2: squares.to_vec(), ..Profile::default() };
    Histogram {
        sum_w2: around([values[0] * weighted(0), values[1] * weighted(1)]),
        profile: Some(profile),
        ..histogram(&around([weighted(0), weighted(1)]), Axis::regular(2, 0.0, 2.0))
    }
}

/// Those of a profile whose weights cancel, or whose fills are beside its axis, were zero.
#[test]
fn sums_of_profiles_without_weight_are_those_of_their_bins() {
    // The values themselves were beside the middles of the bins.
    let statistics = vec![0.0, 2.0, -0.7, -1.5, 0.5, 0.5];
    let profile = || profile_of([2.0, 3.0], [1.0, -1.0], &[]);
    let one = || object(Histogram { statistics: statistics.clone(), ..profile() });
    let all = sum(vec![one(), one()]).unwrap();
    assert_eq!(of_root(&all, "fTsumw"), [0.0]);
    assert_eq!(of_root(&all, "fTsumwx"), [2.0 * (0.5 - 1.5)]);
    assert_eq!(of_root(&all, "fTsumwy"), [2.0 * (2.0 - 3.0)]);
    assert_eq!(of_root(&all, "fTsumwy2"), [2.0 * (4.0 - 9.0)]);
}

/// As with ROOT's `TProfile::Add`; its merger loses them, and takes contents for them.
#[test]
fn squares_of_weights_are_entries_where_a_profile_keeps_none() {
    let without = || object(profile_of([2.0, 3.0], [1.0, -1.0], &[]));
    let with = || object(profile_of([2.0, 3.0], [4.0, 4.0], &[0.0, 8.0, 16.0, 0.0]));
    for parts in [vec![without(), with()], vec![with(), without()]] {
        let all = sum(parts).unwrap();
        assert_eq!(of_root(&all, "fBinSumw2"), [0.0, 9.0, 15.0, 0.0]);
        assert_eq!(of_root(&all, "fBinEntries"), [0.0, 5.0, 3.0, 0.0]);
    }
}

#[test]
fn profiles() {
    let profile = |entries: f64, values: f64| {
        let sums = |number: f64| vec![number; 4];
        let profile = Profile { entries: sums(entries), ..Profile::default() };
        let axis = Axis::regular(2, 0.0, 2.0);
        object(Histogram {
            sum_w2: sums(5.0),
            profile: Some(profile),
            ..histogram(&[values; 4], axis)
        })
    };
    let all = sum(vec![profile(2.0, 3.0), profile(1.0, 7.0)]).unwrap();
    assert_eq!(all.root().class(), "TProfile");
    assert_eq!(of_root(&all, "fBinEntries"), vec![3.0; 4]);
    assert_eq!(of_root(&all, "fSumw2"), vec![10.0; 4]);
}

#[test]
fn efficiencies_add_passed_and_all() {
    let part = |passed: f64, total: f64| {
        let counted = |cell: f64| histogram(&[cell; 4], Axis::regular(2, 0.0, 2.0));
        Efficiency::new("e", counted(passed), counted(total)).into_object().unwrap()
    };
    let all = sum(vec![part(1.0, 2.0), part(3.0, 10.0)]).unwrap();
    for (name, entries) in [("fPassedHistogram", 8.0), ("fTotalHistogram", 24.0)] {
        let histogram = all.root().pointed(name).unwrap().unwrap();
        assert_eq!(numbers(&all, histogram, "fTsumw"), [entries], "{name}");
    }
    // Two weights of 1 give their product divided by their sum.
    assert_eq!(of_root(&all, "fWeight"), [0.5]);
}

#[test]
fn graphs_have_the_points_of_all() {
    let errors = |error: f64, points: usize| GraphErrors::Symmetric {
        x: vec![0.0; points],
        y: vec![error; points],
    };
    let graph = |x: &[f64], error: f64| {
        let graph = Graph::new("g", x.to_vec(), x.iter().map(|x| 2.0 * x).collect());
        Graph { errors: errors(error, x.len()), ..graph }.into_object().unwrap()
    };
    let all = sum(vec![graph(&[2.0, 1.0], 0.1), graph(&[5.0], 0.2)]).unwrap();
    assert_eq!(all.root().int("fNpoints").unwrap(), 3);
    assert_eq!(of_root(&all, "fX"), [2.0, 1.0, 5.0]);
    assert_eq!(of_root(&all, "fY"), [4.0, 2.0, 10.0]);
    assert_eq!(of_root(&all, "fEY"), [0.1, 0.1, 0.2]);
    let plain = Graph::new("g", vec![1.0], vec![1.0]).into_object().unwrap();
    assert!(sum(vec![graph(&[1.0], 0.1), plain]).is_err());
}

#[test]
fn parameters_are_added() {
    let parameter =
        |value| Arc::new(Parameter { name: "n".into(), value }) as Arc<dyn WritableObject>;
    let whole = |value| parameter(ParameterValue::I64(value));
    let all = sum(vec![whole(5), whole(-7), whole(40)]).unwrap();
    assert_eq!(all.root().int("fVal").unwrap(), 38);
    let bool = |value| parameter(ParameterValue::Bool(value));
    for (one, two) in [(true, false), (false, true), (false, false)] {
        let all = sum(vec![bool(one), bool(two)]).unwrap();
        assert_eq!(all.root().int("fVal").unwrap() != 0, one | two);
    }
    assert!(sum(vec![whole(1), bool(true)]).is_err());
}

/// A parameter with bits in front of its name.
struct WithBits(Parameter, u32);

impl WritableObject for WithBits {
    fn class(&self) -> &str {
        self.0.class()
    }

    fn title(&self) -> &str {
        self.0.title()
    }

    fn classes(&self) -> Vec<&str> {
        self.0.classes()
    }

    fn write(&self, to: &mut Buffer) {
        let mut own = Buffer::default();
        self.0.write(&mut own);
        let mut own = own.into_vec();
        // Behind the byte count and the version, and those of `TObject` and its number.
        own[12..16].copy_from_slice(&self.1.to_be_bytes());
        to.bytes(&own);
    }
}

/// A sum said of values that differ that all were equal (`TParameter::IsConst`).
#[test]
fn parameters_that_differ_are_not_constant() {
    const IS_CONST: u32 = 1 << 21;
    const MAX: u32 = 1 << 17;
    let with_bits = |value: f64| {
        let value = ParameterValue::F64(value);
        let parameter = Parameter { name: "n".into(), value };
        Arc::new(WithBits(parameter, IS_CONST | MAX)) as Arc<dyn WritableObject>
    };
    for (values, is_const) in
        [(vec![1.5, 2.5], false), (vec![1.5, 1.5, 1.5], true), (vec![1.5, 2.5, 2.5], false)]
    {
        let all = sum(values.iter().copied().map(with_bits).collect()).unwrap();
        let bits = all.root().int("fBits").unwrap() as u32;
        assert_eq!(bits & (IS_CONST | MAX), if is_const { IS_CONST | MAX } else { MAX });
        let largest = values.iter().copied().fold(0.0, f64::max);
        assert_eq!(of_root(&all, "fVal"), [largest]);
    }
}

#[test]
fn what_is_added_is_said_beforehand() {
    let class = |object: Arc<dyn WritableObject>| {
        let mut file = FileWriter::new(options()).unwrap();
        file.put(DirectoryId::TOP, "o", object);
        let (file, _) = opened(&written(file));
        let key = file.top.key("o", None).unwrap();
        ObjectSum::adds(&file.classes.streamers, &key.class)
    };
    assert!(class(object(histogram(&[1.0; 4], Axis::regular(2, 0.0, 2.0)))));
    assert!(class(Graph::new("g", vec![1.0], vec![1.0]).into_object().unwrap()));
    assert!(!class(Arc::new(ObjString("text".into()))));
}
