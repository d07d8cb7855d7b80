//! Entries taken out of RNTuples that are written here, as the reader of this crate sees them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use farroot_rootfile::write::copy::{
    BlockNumbers, CopiedNTuple, KeptEntries, Missing, NTupleColumns, NTupleColumnsWriter,
    NTuplePart, NewColumns, SourceNTuple, Survivors, TakenField, may_copy,
};
use farroot_rootfile::write::{
    Coding, Compression, DirectoryId, Encoders, EntryType, FileOptions, FileWriter, RNTupleOptions,
    RNTupleWriter, RealStorage, TableColumn, TableDestination, check,
};
use farroot_rootfile::{Array, Codecs, File, Known, Numbers, Result};

use crate::support::feed;
use crate::support::ntuple::{Opened, shown};
use crate::support::seeded::{Seeded, divided};
use crate::support::write::Writing;

const COMPRESSION: u32 = 505;

/// A file with an RNTuple of these entries.
fn written(columns: &[TableColumn], options: &RNTupleOptions, arrays: Vec<Arc<Array>>) -> Bytes {
    let writer = RNTupleWriter::new(columns.to_vec(), options.clone()).unwrap();
    let mut writing = Writing::new("events", Box::new(writer), 0);
    let parts = divided(&arrays, |seeded| 1 + seeded.below(90) as usize, 1);
    parts.into_iter().for_each(|part| writing.extend(part));
    writing.finish().into()
}

fn read(bytes: &Bytes) -> SourceNTuple {
    let mut known = Known::new(Some(bytes.len() as u64));
    let file = feed::until_ready(bytes, &mut known, File::open).unwrap();
    let key = file.top.key("events", None).unwrap().clone();
    feed::until_ready(bytes, &mut known, |known| SourceNTuple::read(&file, known, &key)).unwrap()
}

/// Opens a file in which `check::check` must find no fault.
fn opened(bytes: Bytes) -> Opened {
    assert_eq!(check::check(&bytes), []);
    let mut known = Known::new(Some(bytes.len() as u64));
    let file = feed::until_ready(&bytes, &mut known, File::open).unwrap();
    let ntuple = feed::until_ready(&bytes, &mut known, |known| file.ntuple(known, "events"));
    Opened::of(&bytes, known, ntuple.unwrap(), file.classes).unwrap()
}

/// The top directory of a file that is written.
fn top(writer: &mut FileWriter) -> TableDestination<'_> {
    TableDestination { writer, directory: DirectoryId::TOP }
}

/// Entries taken for clusters of the output, by field at the top.
type Groups = BTreeMap<usize, BTreeMap<u32, Vec<TakenField>>>;

/// Encodes the entries taken for clusters of the output, but for those of the cluster `open`.
fn join(
    (copied, out): (&mut CopiedNTuple, &mut FileWriter),
    part: &NTuplePart,
    groups: &mut Groups,
    open: Option<usize>,
) -> Result<()> {
    let compression = Compression::of_number(COMPRESSION).unwrap();
    let mut encoders = Encoders::default();
    for (group, fields) in groups.extract_if(.., |group, _| Some(*group) != open) {
        let joined = part.join(fields.into_values().collect(), compression, &mut encoders)?;
        copied.place_joined(group, joined, top(out))?;
    }
    Ok(())
}

/// Copies the pages of whole clusters of an input, and takes entries out of the other clusters,
/// from pages that `change` returns for theirs.
fn copy(
    (copied, out): (&mut CopiedNTuple, &mut FileWriter),
    (part, input): (&NTuplePart, &Bytes),
    groups: &mut Groups,
    change: fn(Bytes) -> Bytes,
) -> Result<()> {
    let compression = Compression::of_number(COMPRESSION).unwrap();
    let mut codecs = Codecs::new();
    let mut encoders = Encoders::default();
    copied.begin(part);
    let mut pages: BTreeMap<usize, BTreeMap<usize, Bytes>> = BTreeMap::new();
    for (cluster, at, range) in part.places() {
        let page = input.slice(range.start as usize..range.end as usize);
        if part.group(cluster).is_some() {
            pages.entry(cluster).or_default().insert(at, change(page));
            continue;
        }
        let place = out.place(DirectoryId::TOP)?;
        let key = CopiedNTuple::key(place, page.len())?;
        let numbers = BlockNumbers { owner: cluster, number: at };
        copied.place(numbers, place.offset + key.len() as u64, page.len());
        out.append(key.into());
        out.append(page);
    }
    for cluster in part.new_clusters() {
        match part.group(cluster) {
            None => copied.place_new(part, cluster, top(out))?,
            Some(_) => pages.entry(cluster).or_default().extend(part.new_pages(cluster)),
        }
    }
    for (cluster, pages) in pages {
        let group = part.group(cluster).expect("entries are taken");
        for (field, places) in part.fields(cluster) {
            assert!(places.iter().all(|place| pages.contains_key(place)));
            let taken = part.take(cluster, field, &pages, &mut codecs)?;
            assert_eq!(taken.field(), field);
            groups.entry(group).or_default().entry(field).or_default().push(taken);
        }
    }
    let open = copied.open_after(part);
    join((copied, out), part, groups, open)?;
    copied.end(part, top(out), Coding { compression, encoders: &mut encoders })
}

/// A file with some entries of inputs, given as runs of each input, and the fields `only`.
fn skimmed(
    inputs: &[(&Bytes, Vec<Range<u64>>)],
    only: Option<&[String]>,
    change: fn(Bytes) -> Bytes,
) -> Result<Bytes> {
    skimmed_with(inputs, &[], only, change)
}

/// The same with new columns of each input, if there are any.
fn skimmed_with(
    inputs: &[(&Bytes, Vec<Range<u64>>)],
    new: &[NTupleColumns],
    only: Option<&[String]>,
    change: fn(Bytes) -> Bytes,
) -> Result<Bytes> {
    let early = skimmed_as(inputs, new, &Way { only, change, header_first: true })?;
    let late = skimmed_as(inputs, new, &Way { only, change, header_first: false })?;
    assert_eq!(early, late, "the output does not depend on when further inputs are known");
    Ok(early)
}

/// A skim of the fields `only`, of pages that `change` returns, with the header written before the
/// further inputs are known, or behind.
struct Way<'a> {
    only: Option<&'a [String]>,
    change: fn(Bytes) -> Bytes,
    header_first: bool,
}

fn skimmed_as(
    inputs: &[(&Bytes, Vec<Range<u64>>)],
    new: &[NTupleColumns],
    Way { only, change, header_first }: &Way<'_>,
) -> Result<Bytes> {
    let compression = Compression::of_number(COMPRESSION).unwrap();
    let name = "out.root".into();
    let title = String::new();
    let options = FileOptions { name, title, compression, uuid: 7, datime: 9 };
    let mut out = FileWriter::new(options)?;
    let mut encoders = Encoders::default();
    let mut coding = Coding { compression, encoders: &mut encoders };
    let survivors: Vec<_> = inputs.iter().map(|(_, runs)| Survivors::new(runs.clone())).collect();
    let taken =
        |at: usize| KeptEntries { survivors: Some(&survivors[at]), new_columns: new.get(at) };
    let (mut copied, first) = CopiedNTuple::new(read(inputs[0].0), *only, taken(0))?;
    let mut parts = vec![first];
    if *header_first {
        copied.write_header(top(&mut out), coding.again())?;
    }
    for (at, (input, _)) in inputs.iter().enumerate().skip(1) {
        parts.push(copied.plan(&read(input), Missing::Filter, taken(at))?);
    }
    if !*header_first {
        copied.write_header(top(&mut out), coding.again())?;
    }
    let mut groups = Groups::new();
    for (at, ((input, _), part)) in inputs.iter().zip(&parts).enumerate() {
        copied.complete(part, Missing::Filter)?;
        copy((&mut copied, &mut out), (part, input), &mut groups, *change)?;
        if copied.must_end_open(parts.get(at + 1)) {
            join((&mut copied, &mut out), part, &mut groups, None)?;
            copied.end_open(top(&mut out), coding.again())?;
        }
    }
    let (anchor, _) = copied.finish(top(&mut out), coding)?;
    out.put(DirectoryId::TOP, "events", anchor);
    out.close();
    let mut bytes = Vec::new();
    while let Some(write) = out.poll_write()? {
        let start = write.offset as usize;
        let end = write.offset as usize + write.bytes.len();
        bytes.resize(bytes.len().max(end), 0);
        bytes[start..end].copy_from_slice(&write.bytes);
    }
    Ok(bytes.into())
}

fn as_they_are(page: Bytes) -> Bytes {
    page
}

/// Ascending runs of some of the entries, among them runs of a single one and long ones.
fn runs(seeded: &mut Seeded, entries: u64) -> Vec<Range<u64>> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < entries {
        let start = at + seeded.below(40);
        let longest = [1, 5, 120][seeded.below(3) as usize];
        let end = start + 1 + seeded.below(longest);
        at = end + 1;
        if start < entries {
            runs.push(start..end.min(entries));
        }
    }
    runs
}

/// Entries of arrays in runs, as text.
fn expected(array: &Array, runs: &[Range<u64>]) -> Vec<String> {
    let rows = runs.iter().cloned().flatten();
    rows.map(|row| shown(array, row as usize)).collect()
}

fn entries(array: &Array) -> Vec<String> {
    (0..array.len()).map(|row| shown(array, row)).collect()
}

fn options(seed: u64) -> RNTupleOptions {
    RNTupleOptions {
        compression: Compression::of_number([0, 505, 101, 404][seed as usize % 4]).unwrap(),
        cluster_bytes: [64 << 20, 3000, 500][seed as usize % 3],
        page_bytes: [1 << 20, 100, 8, 1000][seed as usize / 4 % 4],
        checksums: !seed.is_multiple_of(7),
        counter_name: seed.is_multiple_of(2).then(|| "n{name}".into()),
        ..RNTupleOptions::default()
    }
}

#[test]
fn entries_of_made_up_types() {
    for seed in 0..60 {
        let mut seeded = Seeded::new(seed + 1000);
        let columns = seeded.columns();
        let arrays = seeded.arrays(&columns, 300);
        let input = written(&columns, &options(seed), arrays.clone());
        let one = runs(&mut seeded, 300);
        let two = runs(&mut seeded, 300);
        let inputs = [(&input, one.clone()), (&input, two.clone())];
        let output = opened(skimmed(&inputs, None, as_they_are).unwrap());
        for (TableColumn { name, .. }, array) in columns.iter().zip(&arrays) {
            let found = entries(&output.field(name).unwrap());
            let wanted = [expected(array, &one), expected(array, &two)].concat();
            assert!(found == wanted, "seed {seed}, {name}: {found:?} {wanted:?}");
        }
    }
}

/// The entries of columns in runs, encoded new_columns an input that they are copied with.
fn beside(
    columns: &[TableColumn],
    arrays: &[Arc<Array>],
    (input, runs): (&Bytes, &[Range<u64>]),
) -> NTupleColumns {
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let compression = Compression::of_number(COMPRESSION).unwrap();
    let mut writer =
        NTupleColumnsWriter::new(NewColumns { tree: String::new(), names, compression });
    let survivors = Survivors::new(runs.to_vec());
    let mut ends = read(input).ends_of_clusters().collect::<Vec<u64>>().into_iter().peekable();
    let runs: Vec<_> = runs.iter().map(|run| run.start as usize..run.end as usize).collect();
    let kept: Vec<Arc<Array>> = arrays.iter().map(|array| array.gather(&runs).into()).collect();
    let mut encoders = Encoders::default();
    let mut count = 0;
    for part in divided(&kept, |seeded| 1 + seeded.below(90) as usize, 1) {
        count += part[0].len() as u64;
        while let Some(end) = ends.next_if(|end| survivors.rank(*end) <= count) {
            // The claim that a cluster is whole does not change its content.
            writer.end_cluster(survivors.rank(end), end % 2 == 0);
        }
        writer.extend(part, &mut encoders).unwrap();
    }
    writer.finish(&mut encoders).unwrap().unwrap()
}

#[test]
fn new_columns_of_made_up_types() {
    for seed in 0..60 {
        let mut seeded = Seeded::new(seed + 2000);
        let columns = seeded.columns();
        let arrays = seeded.arrays(&columns, 300);
        let input = written(&columns, &options(seed), arrays.clone());
        let new = |column: &TableColumn| TableColumn {
            name: format!("new_{}", column.name),
            ..column.clone()
        };
        let new: Vec<TableColumn> = columns.iter().map(new).collect();
        let all = vec![0..300];
        let one = runs(&mut seeded, 300);
        let two = runs(&mut seeded, 300);
        let inputs = [(&input, one), (&input, all), (&input, two)];
        let of = |(input, runs): &(&Bytes, Vec<_>)| beside(&new, &arrays, (input, runs));
        let new_columns: Vec<NTupleColumns> = inputs.iter().map(of).collect();
        let only = [columns[0].name.clone()];
        for only in [None, Some(&only[..])] {
            let may = only.is_none() || may_copy(&read(&input).ntuple.schema, only, true);
            let made = skimmed_with(&inputs, &new_columns, only.filter(|_| may), as_they_are);
            let output = opened(made.unwrap());
            let kept = &columns[..if only.is_some() && may { 1 } else { columns.len() }];
            let fields = kept.iter().zip(&arrays).chain(new.iter().zip(&arrays));
            for (TableColumn { name, .. }, array) in fields {
                let found = entries(&output.field(name).unwrap());
                let wanted = inputs.iter().map(|(_, runs)| expected(array, runs));
                let wanted: Vec<String> = wanted.flatten().collect();
                assert!(found == wanted, "seed {seed}, {name}: {found:?} {wanted:?}");
            }
        }
    }
}

#[test]
fn new_columns_are_new() {
    let mut seeded = Seeded::new(5);
    let columns = seeded.columns();
    let arrays = seeded.arrays(&columns, 300);
    let input = written(&columns, &options(1), arrays.clone());
    let inputs = [(&input, vec![0..300])];
    let made = beside(&columns, &arrays, (&input, &inputs[0].1));
    let error = skimmed_with(&inputs, &[made], None, as_they_are).unwrap_err().to_string();
    assert!(error.contains("is there already"), "{error}");
    let other = [(&input, vec![0..299])];
    let new: Vec<TableColumn> = vec![TableColumn { name: "new".into(), ..columns[0].clone() }];
    let made = beside(&new, &arrays[..1], (&input, &inputs[0].1));
    let error = skimmed_with(&other, &[made], None, as_they_are).unwrap_err().to_string();
    assert!(error.contains("without its new columns"), "{error}");
}

/// Reals of fewer bits are not rounded again.
#[test]
fn reals_with_fewer_bits_stay_the_bits_that_they_are() {
    let reals: Vec<f32> = (0..1000).map(|n| n as f32 / 331.0 - 1.5).collect();
    let array = Array::Numbers { numbers: Numbers::F32(reals), shape: vec![] };
    for storage in [
        RealStorage::Half,
        RealStorage::Truncated { bits: 10 },
        RealStorage::Truncated { bits: 31 },
        RealStorage::Quantised { bits: 1, min: -2.0, max: 3.0 },
        RealStorage::Quantised { bits: 11, min: -2.0, max: 3.0 },
        RealStorage::Quantised { bits: 32, min: -2.0, max: 3.0 },
    ] {
        let entry = EntryType::of(&array).unwrap();
        let columns = [TableColumn { name: "x".into(), title: String::new(), entry }];
        let reals = vec![("x".to_owned(), storage)];
        let options = RNTupleOptions { page_bytes: 999, reals, ..options(1) };
        let input = written(&columns, &options, vec![Arc::new(array.clone())]);
        let before = opened(input.clone()).field("x").unwrap();
        let kept = vec![3..4, 7..500, 501..502, 990..1000];
        let output = opened(skimmed(&[(&input, kept.clone())], None, as_they_are).unwrap());
        assert_eq!(entries(&output.field("x").unwrap()), expected(&before, &kept), "{storage:?}");
    }
}

/// An uncompressed input behind a compressed one, or before, was an error where the header had been
/// written when its columns were read, which depended on the link.
#[test]
fn further_inputs_may_have_other_encodings() {
    for seed in 0..12 {
        let mut seeded = Seeded::new(seed + 4000);
        let columns = seeded.columns();
        let arrays = seeded.arrays(&columns, 200);
        let options = |seed| RNTupleOptions { counter_name: None, ..options(seed) };
        let input = |seed| written(&columns, &options(seed), arrays.clone());
        // Those with level 0 are stored without splitting.
        let inputs = [input(seed), input(seed + 1), input(seed + 2), input(seed + 3)];
        let all = |at: usize, taken| if at.is_multiple_of(2) { vec![0..200] } else { taken };
        let runs = (0..4).map(|at| all(at, runs(&mut seeded, 200)));
        let inputs: Vec<_> = inputs.iter().zip(runs).collect();
        let output = opened(skimmed(&inputs, None, as_they_are).unwrap());
        for (TableColumn { name, .. }, array) in columns.iter().zip(&arrays) {
            let found = entries(&output.field(name).unwrap());
            let all: Vec<String> =
                inputs.iter().flat_map(|(_, runs)| expected(array, runs)).collect();
            assert_eq!(found, all, "seed {seed}, {name}");
        }
    }
}

#[test]
fn clusters_are_copied_joined_or_left_out() {
    let numbers = |count| Numbers::U64((0..count).collect());
    let array = Array::Numbers { numbers: numbers(1000), shape: vec![] };
    let entry = EntryType::of(&array).unwrap();
    let column =
        |name: &str| TableColumn { name: name.into(), title: String::new(), entry: entry.clone() };
    let options = RNTupleOptions { cluster_bytes: 1600, ..options(1) };
    let arrays = vec![Arc::new(array.clone()), Arc::new(array.clone())];
    let input = written(&[column("x"), column("y")], &options, arrays);
    assert_eq!(opened(input.clone()).clusters.len(), 10);
    let kept = vec![5..6, 120..130, 200..305, 399..500, 600..700, 999..1000];
    let survivors = Survivors::new(kept.clone());
    let counts = survivors.count(read(&input).ends_of_clusters());
    assert_eq!((counts.copied, counts.taken, counts.left_out), (3, 4, 3));
    let only = ["y".to_owned()];
    let output = opened(skimmed(&[(&input, kept.clone())], Some(&only), as_they_are).unwrap());
    assert_eq!(output.names.all().len(), 1);
    assert_eq!(entries(&output.field("y").unwrap()), expected(&array, &kept));
    let sizes: Vec<u64> =
        output.clusters.iter().map(|one| one.entries.end - one.entries.start).collect();
    assert_eq!(sizes, [11, 100, 6, 100, 100, 1]);
    // The pages of copied clusters are the same in input and output.
    let pages = |of: &Opened, cluster: usize, column: usize| -> Vec<Bytes> {
        let pages = &of.clusters[cluster].columns[column].pages;
        let range = |range: &Range<u64>| range.start as usize..range.end as usize;
        pages.iter().map(|page| of.bytes.slice(range(&page.range))).collect()
    };
    let before = opened(input);
    for (there, here) in [(2, 1), (4, 3), (6, 4)] {
        assert_eq!(pages(&before, there, 1), pages(&output, here, 0));
    }
}

#[test]
fn pages_that_are_cut_are_errors() {
    let mut seeded = Seeded::new(3);
    let columns = seeded.columns();
    let arrays = seeded.arrays(&columns, 300);
    let input = written(&columns, &options(8), arrays);
    let changes: [fn(Bytes) -> Bytes; 3] =
        [|page| page.slice(..page.len() / 2), |page| page.slice(1..), |_| Bytes::new()];
    for change in changes {
        assert!(skimmed(&[(&input, vec![1..300])], None, change).is_err());
    }
    assert!(skimmed(&[(&input, vec![1..300])], None, as_they_are).is_ok());
}
