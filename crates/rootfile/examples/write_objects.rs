//! Writes a file of one object of each kind. The oracle in `tests/oracle` compares them with the
//! objects that ROOT and uproot read.
#![allow(clippy::disallowed_methods, reason = "an example writes files")]

use std::sync::Arc;

use farroot_rootfile::write::objects::{
    Axis, Efficiency, Graph, GraphErrors, Histogram, ListKind, ObjString, ObjectList, ObjectMap,
    Parameter, ParameterValue, Profile,
};
use farroot_rootfile::write::{
    Compression, DirectoryId, Existing, FileOptions, FileWriter, WritableObject,
};
use farroot_rootfile::{Known, Numbers, Progress};

type Object = Arc<dyn WritableObject>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: write_objects FILE")?;
    let options = FileOptions {
        name: "objects.root".into(),
        title: "one of each".into(),
        compression: Compression::of_number(505)?,
        uuid: 1,
        datime: 1,
    };
    let mut file = FileWriter::new(options)?;
    let below = file.directory("below/further")?;
    for (name, object) in histograms()?.into_iter().chain(others()?) {
        file.put(DirectoryId::TOP, &name, object.clone());
        file.put(below, &name, object);
    }
    let mut bytes = Vec::new();
    write(file, &mut bytes)?;
    // And the objects that an update adds.
    let mut known = Known::new(Some(bytes.len() as u64));
    known.supply(0, bytes.clone().into());
    let Progress::Ready(existing) = Existing::read(&known)? else { return Err("cut".into()) };
    let mut file = FileWriter::reopen(existing, 2)?;
    let below = file.directory("below")?;
    file.put(below, "added", Arc::new(ObjString("added".into())));
    file.put(DirectoryId::TOP, "text", Arc::new(ObjString("newer".into())));
    write(file, &mut bytes)?;
    std::fs::write(path, bytes)?;
    Ok(())
}

fn write(mut file: FileWriter, bytes: &mut Vec<u8>) -> farroot_rootfile::Result<()> {
    file.close();
    while let Some(write) = file.poll_write()? {
        let start = write.offset as usize;
        let end = write.offset as usize + write.bytes.len();
        bytes.resize(bytes.len().max(end), 0);
        bytes[start..end].copy_from_slice(&write.bytes);
    }
    Ok(())
}

fn axes(count: usize) -> Vec<Axis> {
    let labels = vec!["one".into(), "two".into()];
    let all = [
        Axis { title: "x [cm]".into(), ..Axis::variable(vec![0.0, 1.0, 3.0]) },
        Axis::regular(3, -1.0, 1.0),
        Axis { labels, ..Axis::regular(2, 0.0, 2.0) },
    ];
    all[..count].to_vec()
}

/// Cell `n` has the content `n`.
fn histograms() -> farroot_rootfile::Result<Vec<(String, Object)>> {
    let mut all = Vec::new();
    for (dimensions, cells) in [(1, 4u8), (2, 20), (3, 80)] {
        let kinds = [
            Numbers::I8((0..cells).map(|n| n as i8).collect()),
            Numbers::I16((0..cells).map(i16::from).collect()),
            Numbers::I32((0..cells).map(i32::from).collect()),
            Numbers::F32((0..cells).map(f32::from).collect()),
            Numbers::F64((0..cells).map(f64::from).collect()),
        ];
        for (letter, numbers) in "CSIFD".chars().zip(kinds) {
            let name = format!("h{dimensions}{letter}");
            let histogram = Histogram {
                title: format!("of {cells} cells"),
                sum_w2: (0..cells).map(|n| f64::from(n) * 4.0).collect(),
                ..Histogram::new(&name, axes(dimensions), numbers)
            };
            all.push((name, histogram.into_object()?));
        }
        let sums = |factor: f64| (0..cells).map(|n| f64::from(n) * factor).collect::<Vec<f64>>();
        let name = format!("p{dimensions}");
        let profile = Profile { entries: sums(2.0), sum_w2: sums(4.0), ..Profile::default() };
        let profile = Histogram {
            sum_w2: sums(50.0),
            profile: Some(profile),
            ..Histogram::new(&name, axes(dimensions), Numbers::F64(sums(6.0)))
        };
        all.push((name, profile.into_object()?));
    }
    Ok(all)
}

fn others() -> farroot_rootfile::Result<Vec<(String, Object)>> {
    let graph = |name: &str, errors| Graph {
        errors,
        title: "three points".into(),
        ..Graph::new(name, vec![1.0, 2.0, 3.0], vec![4.0, -5.0, 6.0])
    };
    let three = |number: f64| vec![number; 3];
    let symmetric = GraphErrors::Symmetric { x: three(0.1), y: three(0.2) };
    let asymmetric = GraphErrors::Asymmetric {
        x_low: three(0.1),
        x_high: three(0.2),
        y_low: three(0.3),
        y_high: three(0.4),
    };
    let parameter = |name: &str, value| Arc::new(Parameter { name: name.into(), value }) as Object;
    let text = |text: &str| Arc::new(ObjString(text.into())) as Object;
    let numbers = [
        ("bool", ParameterValue::Bool(true)),
        ("int", ParameterValue::I32(-7)),
        ("long", ParameterValue::I64(1 << 40)),
        ("float", ParameterValue::F32(0.5)),
        ("double", ParameterValue::F64(0.25)),
    ];
    let counted = |cells: &[f64]| Histogram::new("n", axes(1), Numbers::F64(cells.to_vec()));
    let efficiency = Efficiency::new("eff", counted(&[0.0, 1.0, 2.0, 0.0]), counted(&[4.0; 4]));
    let list = |kind| {
        let items = numbers.iter().map(|(name, value)| parameter(name, *value));
        let items = items.chain(["a", "b", "c"].map(text)).collect();
        Arc::new(ObjectList { name: "list".into(), kind, items }) as Object
    };
    let map = ObjectMap { name: "map".into(), items: vec![(text("key"), text("value"))] };
    let mut all: Vec<(String, Object)> = vec![
        ("text".into(), text(&"long ".repeat(100))),
        ("graph".into(), graph("graph", GraphErrors::None).into_object()?),
        ("errors".into(), graph("errors", symmetric).into_object()?),
        ("asymmetric".into(), graph("asymmetric", asymmetric).into_object()?),
        ("empty".into(), Graph::new("empty", vec![], vec![]).into_object()?),
        ("eff".into(), efficiency.into_object()?),
        ("list".into(), list(ListKind::List)),
        ("array".into(), list(ListKind::Array)),
        ("map".into(), Arc::new(map)),
    ];
    all.extend(numbers.map(|(name, value)| (name.to_owned(), parameter(name, value))));
    Ok(all)
}
